#include "audit/explain.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "rl/divergence.h"
#include "rl/presets.h"

namespace minirl::audit {
namespace {

using rl::TokenInput;
using rl::TokenResult;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const auto end = std::min(text.find(at, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

double number(const std::string& text, const std::string& what) {
  double v = 0;
  const char* begin = text.data() + (!text.empty() && text[0] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), v);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(v)) {
    fail(Exit::usage, fmt::format("{} is not a number: '{}'", what, text), "write for example mu=0.3,pi=0.5,A=1");
  }
  return v;
}

double probability(const std::string& text, const std::string& what) {
  const double p = number(text, what);
  if (!(p > 0) || p > 1) {
    fail(Exit::usage, fmt::format("{} = {} is not a probability of a token that was sampled", what, text), "it lies above 0 and is at most 1");
  }
  return p;
}

TokenInput input_of(const TokenSpec& s) {
  TokenInput t = TokenInput::from_probabilities(s.pi, s.mu, s.advantage, s.old.value_or(s.mu));
  std::vector<double> mu;
  std::vector<double> pi;
  for (const auto& [m, p] : s.others) {
    mu.push_back(m);
    pi.push_back(p);
  }
  const rl::TopkDivergence d = rl::topk_divergence(std::span<const double>(mu), std::span<const double>(pi), false, s.mu, s.pi);
  t.rollout.topk_tv = d.tv;
  t.rollout.topk_kl = d.kl;
  t.recomputed.topk_tv = d.tv;
  t.recomputed.topk_kl = d.kl;
  return t;
}

std::string parameter_text(const rl::AlgorithmInfo& info, const ParamMap& params) {
  std::string out;
  for (const ParamSpec& p : info.params) { out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", p.name, to_toml(with_word(p.range, params.find(p.name)->second.value))); }
  return out;
}

bool complete(const rl::AlgorithmInfo& info) {
  return std::all_of(info.params.begin(), info.params.end(), [](const ParamSpec& p) { return p.fallback.has_value(); });
}

std::string signed_number(double x) { return fmt::format("{:+.6g}", x); }

std::string interval_words(const rl::Boundary& b, const TokenInput::AgainstAnchor& a) {
  const auto side = [](double p, const char* below, const char* above) -> std::string {
    if (std::isinf(p)) { return "no bound"; }
    return p < 0 || p > 1 ? fmt::format("{:.6g}, {}", p, p < 0 ? below : above) : fmt::format("{:.6g}", p);
  };
  std::string out = fmt::format("pi from {} to {}", side(b.lower, "below 0: cannot be reached", ""), side(b.upper, "", "above 1: cannot be reached"));
  if (std::isfinite(b.lower) && std::isfinite(b.upper)) {
    out += fmt::format("   (ratio {:.6g} to {:.6g})", std::max(0.0, b.lower / a.p), b.upper / a.p);
  } else if (std::isfinite(b.upper)) {
    out += fmt::format("   (ratio up to {:.6g})", b.upper / a.p);
  } else if (std::isfinite(b.lower)) {
    out += fmt::format("   (ratio from {:.6g})", b.lower / a.p);
  }
  return out;
}

std::string where_words(const rl::Boundary& b, double pi) {
  if (pi == b.lower || pi == b.upper) { return "the token lies exactly on the boundary"; }
  return pi > b.lower && pi < b.upper ? "the token lies inside" : "the token lies outside";
}

std::string decision_words(const TokenInput& t, const TokenResult& r) {
  if (t.advantage == 0) { return "nothing to learn: A = 0, so the gradient is 0 whatever the mask says"; }
  if (r.masked()) { return "masked: the gradient of this token is 0"; }
  if (r.weight < 0) { return "corrective: the gradient points against the advantage and pulls the token back"; }
  if (r.weight == 0 || r.dlogp == 0) { return "the weight is exactly 0"; }
  return "kept";
}

}  // namespace

TokenSpec parse_token(const std::string& text, const std::string& topk) {
  TokenSpec out;
  bool has_mu = false;
  bool has_pi = false;
  bool has_a = false;
  for (const std::string& part : split(text, ',')) {
    const auto equal = part.find('=');
    const std::string key = part.substr(0, equal);
    if (equal == std::string::npos || (key != "mu" && key != "pi" && key != "A" && key != "old")) {
      fail(Exit::usage, fmt::format("'{}' in --token {} is not understood", part, text),
           "write mu=P,pi=P,A=NUMBER and, where pi_old differs from mu, old=P");
    }
    const std::string value = part.substr(equal + 1);
    if ((key == "A" && has_a) || (key == "mu" && has_mu) || (key == "pi" && has_pi) || (key == "old" && out.old)) { fail(Exit::usage, fmt::format("{} is given twice in --token {}", key, text)); }
    if (key == "A") {
      out.advantage = number(value, key);
      has_a = true;
    } else {
      const double p = probability(value, key);
      if (key == "mu") { out.mu = p, has_mu = true; }
      if (key == "pi") { out.pi = p, has_pi = true; }
      if (key == "old") { out.old = p; }
    }
  }
  if (!has_mu || !has_pi || !has_a) {
    fail(Exit::usage, fmt::format("--token {} lacks {}", text, !has_mu ? "mu" : !has_pi ? "pi" : "A"), "write for example --token mu=0.3,pi=0.5,A=1");
  }
  double mu_mass = out.mu;
  double pi_mass = out.pi;
  if (!topk.empty()) {
    for (const std::string& part : split(topk, ',')) {
      const auto colon = part.find(':');
      if (colon == std::string::npos) { fail(Exit::usage, fmt::format("'{}' in --topk {} is not understood", part, topk), "write mu:pi,mu:pi,..."); }
      const double m = probability(part.substr(0, colon), "mu");
      const double p = probability(part.substr(colon + 1), "pi");
      out.others.emplace_back(m, p);
      mu_mass += m;
      pi_mass += p;
    }
  }
  if (mu_mass > 1 + 1e-9 || pi_mass > 1 + 1e-9) {
    fail(Exit::usage, fmt::format("the probabilities of one position add up to {:.6g} under mu and {:.6g} under pi", mu_mass, pi_mass), "each may be at most 1");
  }
  return out;
}

std::vector<std::string> comparable_algorithms() {
  std::vector<std::string> out;
  for (const std::string& name : rl::algorithm_names()) {
    if (complete(rl::algorithm_info(name))) { out.push_back(name); }
  }
  return out;
}

Explanation explain(const std::string& name, const ParamMap& params, const std::vector<TokenSpec>& tokens) {
  const rl::AlgorithmInfo info = rl::algorithm_info(name);
  if (tokens.empty()) { fail(Exit::usage, "there is no token to explain", "add --token mu=0.3,pi=0.5,A=1"); }
  ParamMap full = params;
  const auto algorithm = rl::make_algorithm(name, params);
  bind_params(name, info.params, full);
  Explanation e;
  e.algorithm = name;
  e.parameters = parameter_text(info, full);
  e.summary = info.summary;
  e.formula = info.formula;
  e.page = info.page;
  e.range = algorithm->weight_range();
  e.sequence_level = algorithm->traits().sequence_level;
  e.tokens = tokens;
  for (const TokenSpec& s : tokens) { e.inputs.push_back(input_of(s)); }
  e.results.resize(tokens.size());
  algorithm->evaluate_tokens(e.inputs, e.results);
  for (const TokenResult& r : e.results) {
    if (!std::isfinite(r.loss) || !std::isfinite(r.dlogp)) { fail(Exit::usage, "the loss or its derivative overflows for this token", "choose numbers of an ordinary size"); }
  }
  const bool recomputed = algorithm->traits().needs_recomputed && algorithm->traits().weight_anchor == rl::Anchor::recomputed;
  for (const TokenInput& t : e.inputs) {
    e.boundaries.push_back(algorithm->boundary(t.at(recomputed ? rl::Anchor::recomputed : rl::Anchor::rollout).p));
  }
  e.others.resize(tokens.size());
  for (const std::string& other : comparable_algorithms()) {
    if (other == name) { continue; }
    const auto loss = rl::make_algorithm(other, {});
    std::vector<TokenResult> results(tokens.size());
    loss->evaluate_tokens(e.inputs, results);
    for (std::size_t t = 0; t < tokens.size(); ++t) { e.others[t].push_back({other, results[t], rl::explain_reasons(results[t].reasons)}); }
  }
  return e;
}

std::string explanation_text(const Explanation& e) {
  std::string out = fmt::format("{}{}: {}\n  {}\n  page: docs/algorithms/{}\n  weights: {}\n", e.algorithm,
                                e.parameters.empty() ? "" : " (" + e.parameters + ")", e.summary, e.formula, e.page, e.range.words);
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    const TokenInput& t = e.inputs[i];
    const TokenResult& r = e.results[i];
    const TokenInput::AgainstAnchor& a = t.rollout;
    const double move = t.advantage * (a.ratio - 1);
    out += fmt::format("\ntoken {}: mu = {:.6g}, pi = {:.6g}, A = {:.6g}{}\n", i + 1, a.p, t.pi, t.advantage,
                       e.tokens[i].old ? fmt::format(", pi_old = {:.6g}", *e.tokens[i].old) : std::string());
    out += fmt::format("  ratio pi/mu       {:.6g}   (log ratio {})\n", a.ratio, signed_number(a.log_ratio));
    if (e.tokens[i].old) { out += fmt::format("  ratio pi/pi_old   {:.6g}   pi_old/mu {:.6g}\n", t.recomputed.ratio, t.recomputed.p / a.p); }
    out += fmt::format("  pi - mu           {}   Binary TV {:.6g}   Binary KL {:.6g} nats\n", signed_number(t.pi - a.p), rl::binary_tv(a.p, t.pi),
                       rl::binary_kl(a.p, a.log_p, t.log_pi));
    out += fmt::format("  Top-K             TV {:.6g}   KL {:.6g} nats{}\n", a.topk_tv, a.topk_kl,
                       e.tokens[i].others.empty() ? "   (only the sampled token is known: the same as Binary; see --topk)" : "");
    out += fmt::format("  direction         A (r - 1) = {}: {}\n", signed_number(move),
                       move > 0   ? "the update would move pi further away from mu"
                       : move < 0 ? "the update would move pi back towards mu"
                                  : "neither away nor back");
    if (e.boundaries[i]) {
      out += fmt::format("  trust region      {}; {}\n", interval_words(*e.boundaries[i], a), where_words(*e.boundaries[i], t.pi));
    } else {
      out += "  trust region      none that belongs to one token\n";
    }
    out += fmt::format("  decision          {}\n", decision_words(t, r));
    for (const std::string& why : rl::explain_reasons(r.reasons)) { out += fmt::format("                    - {}\n", why); }
    out += fmt::format("  loss              {:.9g}\n  g = dl/dlog pi    {:.9g}\n  weight w          {:.9g}   (g = -A r w; 1 = plain policy gradient)\n", r.loss, r.dlogp,
                       r.weight);
    if (e.sequence_level) { out += "  (a loss of whole sequences: the tokens given form one sequence)\n"; }
    out += fmt::format("\n  the same token under the other losses (their defaults and presets)\n  {:<24}{:>12}{:>12}{:>12}  {}\n", "loss", "w", "g", "loss value", "why");
    for (const Explanation::Row& row : e.others[i]) {
      std::string why;
      for (const std::string& w : row.why) { why += (why.empty() ? "" : "; ") + w; }
      out += fmt::format("  {:<24}{:>12.5g}{:>12.5g}{:>12.5g}  {}\n", row.name, row.result.weight, row.result.dlogp, row.result.loss, why);
    }
  }
  return out;
}

std::string explanation_json(const Explanation& e) {
  using Json = nlohmann::ordered_json;
  const auto result = [](const TokenResult& r) {
    Json reasons = Json::array();
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      if ((r.reasons >> bit & 1U) != 0) { reasons.push_back({{"name", rl::reason_name(1U << bit)}, {"words", rl::reason_words(1U << bit)}}); }
    }
    return Json{{"loss", r.loss}, {"dlogp", r.dlogp}, {"weight", r.weight}, {"ratio", r.ratio}, {"divergence", r.divergence}, {"masked", r.masked()}, {"reasons", reasons}};
  };
  const auto bound = [](double p) -> Json { return std::isfinite(p) ? Json(p) : Json(nullptr); };
  Json tokens = Json::array();
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    const TokenInput& t = e.inputs[i];
    Json others = Json::array();
    for (const auto& row : e.others[i]) {
      Json j = result(row.result);
      j["name"] = row.name;
      others.push_back(j);
    }
    Json one = {{"mu", t.rollout.p}, {"pi", t.pi}, {"advantage", t.advantage}, {"pi_old", t.recomputed.p}, {"ratio", t.rollout.ratio},
                {"binary_tv", rl::binary_tv(t.rollout.p, t.pi)}, {"binary_kl", rl::binary_kl(t.rollout.p, t.rollout.log_p, t.log_pi)},
                {"topk_tv", t.rollout.topk_tv}, {"topk_kl", t.rollout.topk_kl}, {"moves_away", t.advantage * (t.rollout.ratio - 1) > 0},
                {"decision", decision_words(t, e.results[i])}, {"result", result(e.results[i])}, {"other_losses", others}};
    if (e.boundaries[i]) { one["boundary"] = {{"lower", bound(e.boundaries[i]->lower)}, {"upper", bound(e.boundaries[i]->upper)}}; }
    tokens.push_back(one);
  }
  const Json doc = {{"algorithm", e.algorithm}, {"parameters", e.parameters}, {"formula", e.formula}, {"page", "docs/algorithms/" + e.page},
                    {"weight_lower", bound(e.range.lower)}, {"weight_upper", bound(e.range.upper)}, {"boundary_reachable", e.range.boundary_reachable}, {"tokens", tokens}};
  return doc.dump(2) + "\n";
}

std::string algorithm_list_text() {
  std::string out = "losses (minirl explain NAME --token mu=0.3,pi=0.5,A=1 [parameter=value ...])\n\n";
  const auto list = [&](bool want_presets) {
    for (const std::string& name : rl::algorithm_names()) {
      const rl::Preset* preset = rl::find_preset(name);
      if ((preset != nullptr) != want_presets) { continue; }
      const rl::AlgorithmInfo info = rl::algorithm_info(name);
      std::string params;
      for (const ParamSpec& p : info.params) {
        params += fmt::format("{}{}{}", params.empty() ? "" : ", ", p.name, p.fallback ? " = " + to_toml(with_word(p.range, *p.fallback)) : " (to be given)");
      }
      out += fmt::format("{:<24}{}\n{:<24}{}\n", name, preset != nullptr ? preset->summary : info.summary, "", preset != nullptr ? fmt::format("{}: {}", preset->loss, params) : params);
    }
  };
  list(false);
  out += "\npresets: a loss with the settings and surroundings of a paper\n\n";
  list(true);
  return out;
}

}  // namespace minirl::audit

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "audit/losslab.h"
#include "rl/html_page.h"
#include "rl/plot.h"
#include "rl/summary.h"

namespace minirl::audit {
namespace {

using Json = nlohmann::ordered_json;
using rl::html_escape;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

std::vector<std::string> reason_names(std::uint32_t reasons) {
  std::vector<std::string> out;
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    if ((reasons >> bit & 1U) != 0) { out.emplace_back(rl::reason_name(1U << bit)); }
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& w : words) {
    if (!out.empty()) { out += between; }
    out += w;
  }
  return out;
}

std::string csv_text(const std::string& text) {
  std::string out;
  out += '"';
  for (const char c : text) {
    if (c == '"') { out += '"'; }
    out += c;
  }
  out += '"';
  return out;
}

std::string percent(double x) { return fmt::format("{:.2f} %", 100 * x); }
std::string error_text(double x) { return std::isnan(x) ? "-" : fmt::format("{:.1e}", x); }

std::string cosine_table(const LabReport& r) {
  std::string out = "<div style=\"overflow-x:auto\"><table class=\"results\"><tr><th></th>";
  for (std::size_t i = 0; i < r.results.size(); ++i) { out += fmt::format("<th>{}</th>", i + 1); }
  out += "</tr>";
  for (std::size_t a = 0; a < r.results.size(); ++a) {
    out += fmt::format("<tr><th>{} {}</th>", a + 1, html_escape(r.results[a].loss.label));
    for (const double c : r.cosine[a]) {
      const int strength = std::isnan(c) ? 0 : static_cast<int>(std::lround(100 * std::fabs(c)));
      out += std::isnan(c) ? std::string("<td>-</td>")
                           : fmt::format("<td style=\"background:color-mix(in srgb,{} {}%,transparent)\">{:.3f}</td>", c < 0 ? "#d5543f" : "#3f8fd5", strength / 2, c);
    }
    out += "</tr>";
  }
  return out + "</table></div>";
}

// w against pi - mu, one dot a token; two colours for the sign of A.
std::string scatter(const LabReport& r, const LabResult& loss) {
  constexpr double kW = 420, kH = 240, kL = 46, kR = 12, kT = 12, kB = 30;
  double low = 0;
  double high = 1;
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    if (r.tokens[i].input.advantage != 0) {
      low = std::min(low, loss.tokens[i].weight);
      high = std::max(high, loss.tokens[i].weight);
    }
  }
  const bool cut = high > 6 || low < -6;
  low = std::max(low, -6.0) - 0.1;
  high = std::min(high, 6.0) + 0.1;
  const auto x = [&](double v) { return kL + (v + 1) / 2 * (kW - kL - kR); };
  const auto y = [&](double v) { return kH - kB - (std::clamp(v, low, high) - low) / (high - low) * (kH - kT - kB); };
  std::string out = fmt::format("<figure><figcaption><b>{}</b> w against pi - mu{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"weight of every token\" style=\"width:100%;height:auto\">",
                                html_escape(loss.loss.label), cut ? " (drawn up to |w| = 6)" : "", kW, kH);
  for (const double t : rl::nice_ticks(low, high, 5)) {
    out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" opacity=\"{}\"/><text x=\"{}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"end\" fill=\"currentColor\">{:g}</text>", kL,
                       kW - kR, y(t), y(t), t == 0 ? 0.6 : 0.15, kL - 5, y(t) + 4, t);
  }
  for (const double t : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"currentColor\" opacity=\"{}\"/><text x=\"{:.1f}\" y=\"{}\" font-size=\"11\" text-anchor=\"middle\" fill=\"currentColor\">{:g}</text>", x(t), x(t),
                       kT, kH - kB, t == 0 ? 0.6 : 0.15, x(t), kH - kB + 16, t);
  }
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const rl::TokenInput& t = r.tokens[i].input;
    if (t.advantage == 0) { continue; }
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\" fill=\"{}\" fill-opacity=\"0.55\"/>", x(t.pi - t.rollout.p), y(loss.tokens[i].weight), t.advantage > 0 ? "#3f8fd5" : "#d5543f");
  }
  return out + "</svg></figure>";
}

// The completions, each token coloured by its weight under every loss.
std::string heat_map(const LabReport& r, const data::Tokenizer& tokenizer, std::size_t sequences) {
  std::string out;
  for (std::size_t s = 0; s < std::min(sequences, r.sequences); ++s) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < r.tokens.size(); ++i) {
      if (r.tokens[i].sequence == s) { rows.push_back(i); }
    }
    if (rows.empty()) { continue; }
    out += fmt::format("<h3>completion {}, A = {:+.4g}</h3><div style=\"overflow-x:auto\"><table>", s + 1, r.tokens[rows[0]].input.advantage);
    for (const LabResult& l : r.results) {
      out += fmt::format("<tr><th style=\"white-space:nowrap;font-size:12px\">{}</th>", html_escape(l.loss.label));
      for (const std::size_t i : rows) {
        const rl::TokenInput& t = r.tokens[i].input;
        const rl::TokenResult& w = l.tokens[i];
        const double size = std::min(1.0, std::fabs(w.weight) / 2);
        const char* colour = w.masked() ? "#888888" : w.weight < 0 ? "#d5543f" : "#3f8fd5";
        out += fmt::format("<td style=\"padding:1px 2px;background:color-mix(in srgb,{} {}%,transparent)\" title=\"mu {:.4g}, pi {:.4g}, ratio {:.4g}, w {:.4g}, g {:.4g}; {}\"><code>{}</code></td>", colour,
                           w.masked() ? 60 : static_cast<int>(std::lround(100 * size)), t.rollout.p, t.pi, t.rollout.ratio, w.weight, w.dlogp, html_escape(joined(rl::explain_reasons(w.reasons), "; ")),
                           html_escape(rl::visible(tokenizer.decode(std::span(&r.tokens[i].id, 1)))));
      }
      out += "</tr>";
    }
    out += "</table></div>";
  }
  return out;
}

}  // namespace

std::string lab_text(const LabReport& r) {
  std::string out = fmt::format("{}\n{} sequences, {} tokens; mean |pi - mu| {:.4g}, pi/mu from {:.4g} to {:.4g}\n\n", r.origin, r.sequences, r.tokens.size(), r.prob_absdiff_mean, r.ratio_min, r.ratio_max);
  out += fmt::format("   {:<26}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>11}{:>10}{:>10}\n", "loss", "masked", "of A>0", "of A<0", "w mean", "w min", "w max", "loss", "|gradient|", "chain", "loss fd");
  for (std::size_t i = 0; i < r.results.size(); ++i) {
    const LabResult& l = r.results[i];
    out += fmt::format("{:>2} {:<26}{:>9}{:>9}{:>9}{:>9.3g}{:>9.3g}{:>9.3g}{:>12.4g}{:>11.4g}{:>10}{:>10}\n", i + 1, l.loss.label, percent(l.masked), percent(l.masked_positive), percent(l.masked_negative), l.weight_mean,
                       l.weight_min, l.weight_max, l.value, l.gradient_norm, error_text(l.chain_error), error_text(l.loss_error));
  }
  out += "\nchain, loss fd: relative error of the gradient, through the model, against central differences in f64\n(of sum c g log pi with g frozen; of the loss value itself where its derivative is g)\n\ncosine of the gradients\n    ";
  for (std::size_t i = 0; i < r.results.size(); ++i) { out += fmt::format("{:>7}", i + 1); }
  out += "\n";
  for (std::size_t a = 0; a < r.results.size(); ++a) {
    out += fmt::format("{:>4}", a + 1);
    for (const double c : r.cosine[a]) { out += std::isnan(c) ? "      -" : fmt::format("{:>7.3f}", c); }
    out += "\n";
  }
  return out;
}

std::string lab_json(const LabReport& r) {
  Json losses = Json::array();
  for (std::size_t i = 0; i < r.results.size(); ++i) {
    const LabResult& l = r.results[i];
    Json cosine = Json::object();
    for (std::size_t b = 0; b < r.results.size(); ++b) { cosine[r.results[b].loss.label] = number(r.cosine[i][b]); }
    losses.push_back({{"label", l.loss.label}, {"loss", l.loss.name}, {"formula", l.formula}, {"page", fmt::format("docs/algorithms/{}", l.page)}, {"aggregation", l.aggregation}, {"value", number(l.value)},
                      {"gradient_norm", number(l.gradient_norm)}, {"masked_fraction", l.masked}, {"masked_positive_fraction", l.masked_positive}, {"masked_negative_fraction", l.masked_negative},
                      {"corrective_fraction", l.corrective}, {"weight_mean", l.weight_mean}, {"weight_min", number(l.weight_min)}, {"weight_max", number(l.weight_max)},
                      {"chain_error", number(l.chain_error)}, {"loss_error", number(l.loss_error)}, {"cosine", cosine}});
  }
  const Json doc = {{"format", 1}, {"origin", r.origin}, {"sequences", r.sequences}, {"tokens", r.tokens.size()}, {"prob_absdiff_mean", r.prob_absdiff_mean}, {"ratio_min", number(r.ratio_min)},
                    {"ratio_max", number(r.ratio_max)}, {"losses", losses}};
  return doc.dump(2) + "\n";
}

std::string lab_csv(const LabReport& r, const data::Tokenizer& tokenizer) {
  std::string out = "sequence,position,id,text,advantage,mu,pi,pi_old,ratio";
  for (const LabResult& l : r.results) {
    for (const char* column : {"w", "g", "loss", "reasons"}) { out += fmt::format(",{}", csv_text(fmt::format("{} {}", l.loss.label, column))); }
  }
  out += "\n";
  for (std::size_t i = 0; i < r.tokens.size(); ++i) {
    const LabToken& t = r.tokens[i];
    out += fmt::format("{},{},{},{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}", t.sequence, t.position, t.id, csv_text(rl::visible(tokenizer.decode(std::span(&t.id, 1)))), t.input.advantage, t.input.rollout.p, t.input.pi,
                       t.input.recomputed.p, t.input.rollout.ratio);
    for (const LabResult& l : r.results) {
      const rl::TokenResult& x = l.tokens[i];
      out += fmt::format(",{:.17g},{:.17g},{:.17g},{}", x.weight, x.dlogp, x.loss, csv_text(joined(reason_names(x.reasons), "|")));
    }
    out += "\n";
  }
  return out;
}

std::string lab_html(const LabReport& r, const data::Tokenizer& tokenizer) {
  std::string body = fmt::format("<h1>losslab</h1><p class=\"dim\">{}</p><p>{} sequences, {} tokens; mean |pi - mu| {:.4g}, pi/mu from {:.4g} to {:.4g}</p>", html_escape(r.origin), r.sequences, r.tokens.size(),
                                 r.prob_absdiff_mean, r.ratio_min, r.ratio_max);
  body += "<h2>The losses on this batch</h2><div style=\"overflow-x:auto\"><table class=\"results\"><tr><th></th><th>loss</th><th>masked</th><th>of A&gt;0</th><th>of A&lt;0</th><th>w mean</th><th>w min</th><th>w max</th><th>value</th><th>|gradient|</th><th>chain</th><th>loss fd</th></tr>";
  for (std::size_t i = 0; i < r.results.size(); ++i) {
    const LabResult& l = r.results[i];
    body += fmt::format("<tr><td>{}</td><td title=\"{}\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.3g}</td><td>{:.3g}</td><td>{:.3g}</td><td>{:.4g}</td><td>{:.4g}</td><td>{}</td><td>{}</td></tr>", i + 1,
                        html_escape(l.formula), html_escape(l.loss.label), percent(l.masked), percent(l.masked_positive), percent(l.masked_negative), l.weight_mean, l.weight_min, l.weight_max, l.value, l.gradient_norm,
                        error_text(l.chain_error), error_text(l.loss_error));
  }
  body += "</table></div><p class=\"dim\">chain, loss fd: relative error of the gradient through the model against central differences in f64, of the sum of c g log pi with g frozen, and of the loss itself where its derivative is g. Values of losses in score-function form are not comparable with the others.</p>";
  body += "<h2>Cosine of the gradients through the model</h2>" + cosine_table(r);
  body += "<h2>Weights</h2><p class=\"dim\">One dot a token: blue A &gt; 0, red A &lt; 0.</p><div class=\"grid2\">";
  for (const LabResult& l : r.results) { body += scatter(r, l); }
  body += "</div><h2>Token by token</h2><p class=\"dim\">Blue: learnt, the stronger the larger w. Red: pulled back. Grey: masked. Hover for the numbers and the reasons.</p>" + heat_map(r, tokenizer, 4);
  return rl::html_page("losslab", body);
}

}  // namespace minirl::audit

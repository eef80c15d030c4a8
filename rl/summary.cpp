#include "rl/summary.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/files.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Interval read_interval(const Json& j) {
  Interval i;
  i.value = j.at("value").get<double>();
  i.lower = j.at("lower").get<double>();
  i.upper = j.at("upper").get<double>();
  i.confidence = j.at("confidence").get<double>();
  i.method = j.at("method").get<std::string>();
  return i;
}

std::string cell(const Interval& i) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", i.value, i.lower, i.upper);
}

std::string row(const std::string& name, const std::vector<std::string>& cells) {
  std::string out = fmt::format("  {:<22}", name);
  for (const auto& c : cells) {
    out += fmt::format("{:<26}", c);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

}  // namespace

std::string visible(const std::string& text, std::size_t limit) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (limit > 0 && out.size() >= limit) {
      return out + "...";
    }
    if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20 || u == 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out;
}

Evaluation parse_evaluation(const std::string& document, const std::string& name) {
  try {
    const Json doc = Json::parse(document);
    Evaluation e;
    e.step = doc.at("step").get<Index>();
    e.problems = doc.at("problems").get<Index>();
    e.samples = doc.at("samples").get<Index>();
    e.temperature = doc.at("temperature").get<double>();
    e.average = read_interval(doc.at("avg_at_k"));
    e.pass = read_interval(doc.at("pass_at_k"));
    e.majority = doc.contains("maj_at_k") ? read_interval(doc.at("maj_at_k")) : Interval{};
    e.length_mean = doc.at("length_mean_tokens").get<double>();
    e.truncated_frac = doc.at("truncated_frac").get<double>();
    e.answered_frac = doc.at("answered_frac").get<double>();
    for (const Json& r : doc.at("rows")) {
      ProblemRow p{r.at("prompt").get<std::string>(), r.at("answer").get<std::string>(), {}};
      for (const Json& c : r.at("completions")) {
        p.samples.push_back({c.at("text").get<std::string>(), c.at("extracted").get<std::string>(),
                             c.at("why").get<std::string>(), c.at("reward").get<double>(),
                             c.at("tokens").get<Index>(), c.at("stopped").get<bool>()});
      }
      e.rows.push_back(std::move(p));
    }
    return e;
  } catch (const Json::exception& error) {
    fail(Exit::usage, fmt::format("'{}' is not an evaluation of minirl: {}", name, error.what()));
  }
}

std::vector<Evaluation> read_evaluations(const fs::path& run) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / "eval", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("step-", 0) == 0 && entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Evaluation> out;
  for (const auto& f : files) {
    out.push_back(parse_evaluation(read_file(f), f.string()));
  }
  std::sort(out.begin(), out.end(),
            [](const Evaluation& a, const Evaluation& b) { return a.step < b.step; });
  return out;
}

bool same_problems(const Evaluation& a, const Evaluation& b) {
  return std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                    [](const ProblemRow& x, const ProblemRow& y) {
                      return x.prompt == y.prompt && x.answer == y.answer;
                    });
}

Interval improvement(const Evaluation& before, const Evaluation& after) {
  const auto means = [](const Evaluation& e) {
    std::vector<double> out;
    for (const auto& p : e.rows) {
      double sum = 0;
      for (const auto& s : p.samples) {
        sum += s.reward;
      }
      out.push_back(p.samples.empty() ? 0 : sum / static_cast<double>(p.samples.size()));
    }
    return out;
  };
  return paired_difference(means(before), means(after));
}

std::string summary_text(const std::vector<Evaluation>& evaluations, int examples) {
  if (evaluations.empty()) {
    return "";
  }
  const Evaluation& before = evaluations.front();
  const Evaluation& after = evaluations.back();
  const bool both = evaluations.size() > 1;
  std::vector<const Evaluation*> shown = {&before};
  if (both) {
    shown.push_back(&after);
  }
  const auto cells = [&](auto of) {
    std::vector<std::string> out;
    for (const auto* e : shown) {
      out.push_back(of(*e));
    }
    return out;
  };
  std::string out =
      row("", cells([&](const Evaluation& e) {
            return both ? fmt::format("{} (step {})", &e == &before ? "before" : "after", e.step)
                        : fmt::format("step {}", e.step);
          }));
  out += row(fmt::format("avg@{}", before.samples),
             cells([](const Evaluation& e) { return cell(e.average); }));
  out += row(fmt::format("pass@{}", before.samples),
             cells([](const Evaluation& e) { return cell(e.pass); }));
  out +=
      row("answered",
          cells([](const Evaluation& e) { return fmt::format("{:.1f}%", 100 * e.answered_frac); }));
  out += row("truncated", cells([](const Evaluation& e) {
               return fmt::format("{:.1f}%", 100 * e.truncated_frac);
             }));
  out += row("tokens, mean",
             cells([](const Evaluation& e) { return fmt::format("{:.1f}", e.length_mean); }));
  out += fmt::format(
      "  {} held-out problems, {} samples each, temperature {}; 95% intervals over problems\n",
      before.problems, before.samples, before.temperature);
  if (both && same_problems(before, after)) {
    const Interval gain = improvement(before, after);
    out += fmt::format("  avg@{} changed by {:+.3f} [{:+.3f}, {:+.3f}] on the same problems\n",
                       before.samples, gain.value, gain.lower, gain.upper);
  }
  if (examples > 0) {
    out += "\n  The first held-out problems, first sample of each\n";
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(examples) && i < before.rows.size(); ++i) {
    out += fmt::format("  {}   gold: {}\n", visible(before.rows[i].prompt), before.rows[i].answer);
    for (const auto* e : shown) {
      if (i >= e->rows.size() || e->rows[i].samples.empty()) {
        continue;
      }
      const SampleRow& s = e->rows[i].samples.front();
      out += fmt::format("    {:<7} {}  {}{}\n", both ? (e == &before ? "before" : "after") : "",
                         s.reward >= 1 ? "right" : "wrong", visible(s.text, 200),
                         s.stopped ? "" : " [cut off]");
    }
  }
  return out;
}

}  // namespace minirl::rl

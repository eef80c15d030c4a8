// Verdicts a second of the reward `math` on one thread: bench_verifier [FILE.jsonl]
// Kinds of answers, each with right and wrong pairs, extraction included; then the rows of a file ("gold", "completion"). The
// last line is the slowest verdict of the file: what one hostile answer can cost.
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "audit/machine_peak.h"
#include "core/files.h"
#include "rl/reward.h"

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;  // gold, completion

Pairs boxed(const std::vector<std::pair<const char*, const char*>>& answers) {
  Pairs out;
  for (const auto& [gold, answer] : answers) {
    out.emplace_back(gold, "We add both sides and simplify, so the answer is $\\boxed{" + std::string(answer) + "}$.");
  }
  return out;
}

double verdicts_a_second(const minirl::rl::RewardInfo& reward, const Pairs& pairs) {
  double paid = 0;
  const double seconds = minirl::audit::measure_seconds(0.5, [&] {
    for (const auto& pair : pairs) { paid += reward.score(pair.first, pair.second).score; }
  });
  return paid < 0 ? 0 : static_cast<double>(pairs.size()) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace minirl;
  try {
    const rl::RewardInfo& reward = rl::Rewards::find("reward", "math");
    const std::vector<std::pair<const char*, Pairs>> kinds = {
        {"integers", boxed({{"42", "42"}, {"42", "43"}, {"-7", "-7"}, {"1234", "1{,}234"}})},
        {"fractions", boxed({{"\\frac{3}{4}", "3/4"}, {"\\frac{3}{4}", "0.75"}, {"\\frac12", "\\frac{2}{3}"}})},
        {"intervals", boxed({{"[0,1)", "[0, 1)"}, {"(-\\infty,3]", "x \\le 3"}, {"[0,1)", "[0,1]"}})},
        {"roots", boxed({{"2\\sqrt{2}", "\\sqrt{8}"}, {"\\sqrt{2}+\\sqrt{3}", "\\sqrt{3}+\\sqrt{2}"}, {"\\sqrt{5}", "\\sqrt{6}"}})},
        {"polynomials", boxed({{"(x+1)^2", "x^2+2x+1"}, {"x^3-1", "(x-1)(x^2+x+1)"}, {"(x+y)^2", "x^2+y^2"}})},
        {"logarithms", boxed({{"\\ln 8", "3\\ln 2"}, {"\\sin 1", "\\cos 1"}, {"e^{2}", "e\\cdot e"}})},
    };
    for (const auto& kind : kinds) { std::printf("%-12s %9.0f verdicts/s\n", kind.first, verdicts_a_second(reward, kind.second)); }
    if (argc > 1) {
      Pairs rows;
      std::istringstream lines(read_file(argv[1]));
      for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        rows.emplace_back(row.at("gold"), row.at("completion"));
      }
      double slowest = 0;
      for (const auto& row : rows) {
        slowest = std::max(slowest, audit::measure_seconds(0, [&] { reward.score(row.first, row.second); }));
      }
      std::printf("%-12s %9.0f verdicts/s, %zu rows, slowest %.2f ms\n", "file", verdicts_a_second(reward, rows), rows.size(), slowest * 1e3);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

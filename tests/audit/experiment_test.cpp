#include "audit/experiment.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cli/embedded.h"
#include "rl/config.h"

namespace minirl::audit {
namespace {

constexpr const char* kGood = R"(title = "t"
question = "q"
setup = "s"
base = "qwen3.toml"
seeds = [1, 2, 3]
[[arm]]
name = "a"
label = "A"
set = ["algorithm.name=pg_is"]
[[arm]]
name = "b"
label = "B"
[[claim]]
text = "B is better"
source = "nobody"
metric = "final_reward"
better = "b"
worse = "a"
)";

std::string refusal(const std::string& from, const std::string& to) {
  std::string text = kGood;
  text.replace(text.find(from), from.size(), to);
  try {
    parse_experiment("x.toml", text);
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("audit/experiment: a file is read; whatever is not understood is refused with its line") {
  const Experiment e = parse_experiment("experiments/x.toml", kGood);
  CHECK(e.name == "x");
  CHECK(e.arms.size() == 2);
  CHECK(e.claims.size() == 1);
  CHECK(contains(refusal("title = \"t\"", "titel = \"t\""), "x.toml:1: unknown key 'titel'"));
  CHECK(contains(refusal("title = \"t\"\n", ""), "'title' is missing"));
  CHECK(contains(refusal("seeds = [1, 2, 3]", "seeds = []"), "seeds"));
  CHECK(contains(refusal("seeds = [1, 2, 3]", "seeds = [1, \"2\"]"), "x.toml:5"));
  CHECK(contains(refusal("name = \"b\"", "name = \"a\""), "two arms"));
  CHECK(contains(refusal("better = \"b\"", "better = \"c\""), "no arm 'c'"));
  CHECK(contains(refusal("metric = \"final_reward\"", "metric = \"fnal\""), "not a metric"));
  CHECK(contains(refusal("[[arm]]\nname = \"a\"", "[arm]\nname = \"a\""), "x.toml"));
  CHECK(contains(refusal("question = \"q\"", "question = "), "x.toml:2"));
}

TEST_CASE("audit/experiment: every bundled experiment is well formed and its settings are accepted") {
  int found = 0;
  for (const auto& file : cli::embedded_files()) {
    if (file.name.rfind("experiments/", 0) != 0) { continue; }
    CAPTURE(std::string(file.name));
    const Experiment e = parse_experiment(std::string(file.name), file.text);
    CHECK(e.seeds.size() >= 2);
    CHECK_FALSE(e.claims.empty());
    for (const auto& base : cli::embedded_files()) {
      if (base.name != e.base) { continue; }
      for (const Arm& arm : e.arms) {
        std::vector<ConfigSource> sources = {ConfigSource::text(std::string(base.name), base.text)};
        for (const auto* sets : {&e.sets, &arm.sets}) {
          for (const auto& s : *sets) { sources.push_back(ConfigSource::set(s)); }
        }
        CHECK_NOTHROW(rl::load_config(sources));
      }
    }
    ++found;
  }
  CHECK(found == 6);
}

TEST_CASE("audit/experiment: a claim is decided by an interval over seeds, not by a mean") {
  const Experiment e = parse_experiment("x.toml", kGood);
  const auto verdict = [&](std::vector<double> a, std::vector<double> b) {
    std::vector<ArmResult> arms(2);
    arms[0].arm = e.arms[0];
    arms[0].outcomes["final_reward"] = std::move(a);
    arms[1].arm = e.arms[1];
    arms[1].outcomes["final_reward"] = std::move(b);
    return judge(e, arms)[0].verdict;
  };
  using Verdict = ClaimResult::Verdict;
  CHECK(verdict({0.1, 0.2, 0.3}, {0.9, 0.95, 1.1}) == Verdict::agrees);
  CHECK(verdict({0.9, 0.95, 1.1}, {0.1, 0.2, 0.3}) == Verdict::disagrees);
  CHECK(verdict({0.1, 0.9, 0.3}, {0.9, 0.2, 0.5}) == Verdict::undecided);
  CHECK(verdict({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}) == Verdict::undecided);
  CHECK(verdict({0.1}, {0.9}) == Verdict::undecided);  // one seed proves nothing
}

}  // namespace minirl::audit

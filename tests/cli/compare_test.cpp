// minirl compare through the binary: equal runs, another seed, and a chain that departs at a known step and hash.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"
#include "core/hash.h"
#include "rl/ledger.h"

namespace minirl {
namespace {

namespace fs = std::filesystem;
using cli_test::Folder;
using cli_test::tiny_run;
using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The chain of `run` with other rewards at train step 3, as a program that computes something else would write it.
void depart(const fs::path& run) {
  const auto lines = rl::read_ledger(run / "ledger.jsonl");
  fs::remove(run / "ledger.jsonl");
  rl::Ledger ledger(run / "ledger.jsonl", lines[0].config, lines[0].build_info);
  const rl::LedgerStep& begin = lines[0].values;
  ledger.start({begin.phase, begin.step, begin.optimizer, begin.weights, lines[0].parameters});
  for (std::size_t i = 1; i < lines.size(); ++i) {
    rl::LedgerStep s = lines[i].values;
    if (s.phase == rl::Phase::train && s.step == 3) { s.rewards = s.weights = sha256_hex("other"); }
    ledger.add(s);
  }
}

}  // namespace

TEST_CASE("cli: compare says which settings differ, up to where runs are equal to the bit, and what differs first") {
  const Folder dir;
  const auto train = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(), {"--run-name", name});
    const auto r = dir.run(tiny_run(std::move(more)));
    REQUIRE_MESSAGE(r.code == 0, r.err);
  };
  train("a", {});
  train("b", {"--set", "runtime.threads=1", "--set", "train.tokens_per_micro=300"});
  train("c", {"--set", "run.seed=2"});
  fs::copy(dir.path / "runs/a", dir.path / "runs/d", fs::copy_options::recursive);
  depart(dir.path / "runs/d");

  const auto same = dir.run({"compare", "runs/a", "runs/b", "--identical"});
  CHECK_MESSAGE(same.code == 0, same.out << same.err);
  CHECK(has(same.out, "bit-identical in all 10 steps that both have, up to step 4"));
  CHECK(has(same.out, "runtime.threads"));
  CHECK_FALSE(has(same.out, "run.seed"));

  const auto seeds = dir.run({"compare", "runs/a", "runs/c"});
  CHECK(seeds.code == 0);
  CHECK(has(seeds.out, "run.seed"));
  CHECK(has(seeds.out, "different from the beginning, first difference: initial weights"));
  CHECK(dir.run({"compare", "runs/a", "runs/c", "--identical"}).code == 3);

  const auto departed = dir.run({"compare", "runs/a", "runs/b", "runs/d", "--json", "--out", "page.html"});
  REQUIRE_MESSAGE(departed.code == 0, departed.err);
  const std::string json = Json::parse(departed.out).dump();
  CHECK(has(json, "bit-identical up to step 2, first difference: rewards at step 3"));
  CHECK(has(dir.read("page.html"), "first difference: rewards at step 3"));

  // Half a line at the end is a run that goes on; a changed line is damage, and no proof of equality.
  const std::string ledger = dir.read("runs/b/ledger.jsonl");
  dir.write("runs/b/ledger.jsonl", ledger.substr(0, ledger.size() - 40));
  CHECK(has(dir.run({"compare", "runs/a", "runs/b"}).out, "in all 9 steps"));
  CHECK(dir.run({"compare", "runs/a", "runs/b", "--identical"}).code == 0);
  dir.write("runs/b/ledger.jsonl", ledger.substr(0, ledger.size() / 2) + "x" + ledger.substr(ledger.size() / 2));
  CHECK(dir.run({"compare", "runs/a", "runs/b", "--identical"}).code == 3);
  fs::remove(dir.path / "runs/b/ledger.jsonl");
  const auto without = dir.run({"compare", "runs/a", "runs/b"});
  CHECK(without.code == 0);
  CHECK(has(without.out, "is not there"));

  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{{"compare"}, {"compare", "runs/a"}, {"compare", "runs/a", "nowhere"}}) {
    CHECK(dir.run(bad).code == 2);
  }
}

}  // namespace minirl

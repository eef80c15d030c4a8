// verify ledger, replay and bundles through the binary, on a run and on what somebody made of it: each
// change is caught by the command that is there for it, with the reason.
#include <algorithm>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "cli/run_binary.h"
#include "core/hash.h"
#include "data/zstd_stream.h"
#include "model/pretrained.h"
#include "rl/checkpoint.h"
#include "rl/ledger.h"
#include "rl/ledger_hash.h"

namespace minirl {
namespace {

namespace fs = std::filesystem;
using cli_test::Folder;
using cli_test::Result;
using cli_test::tiny_run;
using Json = nlohmann::ordered_json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// One finished run for all tests; each works on a copy.
const Folder& original() {
  static const Folder folder;
  static const bool made = [] {
    const Result r = folder.run(tiny_run({"--set", "audit.trail=all"}));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return true;
  }();
  CHECK(made);
  return folder;
}

struct Copy : Folder {
  Copy() { fs::copy(original().path / "runs", path / "runs", fs::copy_options::recursive); }
  std::string file(const std::string& name) const { return "runs/qwen3/" + name; }
  void flip(const std::string& name, std::size_t byte) const {
    std::string text = read(file(name));
    text[byte] = static_cast<char>(text[byte] ^ 1);
    write(file(name), text);
  }
  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read(file(name));
    const auto at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    write(file(name), text.replace(at, from.size(), to));
  }
  std::vector<std::string> ledger() const {
    std::vector<std::string> out;
    const std::string text = read(file("ledger.jsonl"));
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = text.find('\n', begin);
      out.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }
  void set_ledger(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& l : lines) { text += l + "\n"; }
    write(file("ledger.jsonl"), text);
  }
  Result verify() const { return run({"verify", "ledger", "runs/qwen3"}); }
  Result replay(const std::vector<std::string>& more) const {
    std::vector<std::string> args = {"replay", "runs/qwen3", "--quiet"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  /// A whole new chain around a step that `change` made another, as one who knows the format would write it.
  template <class Change>
  void forge(Index step, const Change& change) const {
    const auto lines = rl::read_ledger(path / file("ledger.jsonl"));
    fs::remove(path / file("ledger.jsonl"));
    rl::Ledger ledger(path / file("ledger.jsonl"), lines[0].config, lines[0].build_info);
    const rl::LedgerStep& begin = lines[0].values;
    ledger.start({begin.phase, begin.step, begin.optimizer, begin.weights, lines[0].parameters});
    for (std::size_t i = 1; i < lines.size(); ++i) {
      rl::LedgerStep s = lines[i].values;
      if (s.phase == rl::Phase::train && s.step == step) { change(s); }
      ledger.add(s);
    }
  }
  /// Every file with its hash.
  std::string fingerprint() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path / "runs")) {
      if (entry.is_regular_file()) { all.push_back(entry.path().string() + " " + sha256_hex(read_file(entry.path()))); }
    }
    std::sort(all.begin(), all.end());
    std::string text;
    for (const std::string& line : all) { text += line + "\n"; }
    return text;
  }
};

void check_caught(const Result& r, const std::vector<std::string>& parts) {
  CHECK_MESSAGE(r.code == 3, r.out << r.err);
  for (const std::string& part : parts) { CHECK_MESSAGE(contains(r.err, part), part << "\n" << r.err); }
}

}  // namespace

TEST_CASE("cli: a run has a ledger that agrees with everything, and verify says what it looked at") {
  const Copy dir;
  const Result r = dir.verify();
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(contains(r.out, "11 lines, 10 steps"));  // genesis, 6 of pretraining, 4 of training
  CHECK(contains(r.out, "configuration of 11 lines, rollouts of 4 steps"));
  CHECK(contains(r.out, "3 checkpoints"));
  CHECK(contains(r.out, "everything that was checked agrees"));
  const Json json = Json::parse(dir.run({"verify", "ledger", "runs/qwen3", "--json"}).out);
  CHECK(json.at("rollouts") == 4);
  CHECK(json.at("not_checked").empty());
  CHECK(json.at("first_difference") == "");
  // What is not there is told, not passed over.
  fs::remove(dir.path / dir.file("rollouts/step-000003.jsonl"));
  fs::remove_all(dir.path / dir.file("checkpoints"));
  const Result less = dir.verify();
  CHECK(less.code == 0);
  CHECK(contains(less.out, "not checked  rollouts of 1 steps"));
  CHECK(contains(less.out, "not checked  weights and moments: there is no checkpoint"));
  fs::remove(dir.path / dir.file("ledger.jsonl"));
  CHECK(dir.verify().code == 2);
  CHECK(dir.run({"verify", "ledger", "nowhere"}).code == 2);
}

TEST_CASE("cli: verify ledger catches changed files, and names line, step, file and reason") {
  {
    const Copy dir;  // one bit of a token, of a log-probability
    const std::string text = dir.read(dir.file("rollouts/step-000002.jsonl"));
    dir.flip("rollouts/step-000002.jsonl", text.find("\"ids\":[") + 7);
    check_caught(dir.verify(), {"line 9 (step 2)", "rollouts/step-000002.jsonl"});
    dir.write(dir.file("rollouts/step-000002.jsonl"), text);
    CHECK(dir.verify().code == 0);
    dir.flip("rollouts/step-000002.jsonl", text.find("\"logp\": [") + 12);
    check_caught(dir.verify(), {"line 9 (step 2)", "tokens and log-probabilities in rollouts/step-000002.jsonl"});
  }
  {
    const Copy dir;
    const std::string text = dir.read(dir.file("rollouts/step-000003.jsonl"));
    const auto at = text.find("\"reward\":") + 9;
    dir.write(dir.file("rollouts/step-000003.jsonl"), text.substr(0, at) + "0.5" + text.substr(text.find(',', at)));
    check_caught(dir.verify(), {"line 10 (step 3)", "rewards in rollouts/step-000003.jsonl"});
  }
  {
    const Copy dir;
    const std::string text = dir.read(dir.file("rollouts/step-000001.jsonl"));
    const auto at = text.find("\"advantage\":") + 12;
    dir.write(dir.file("rollouts/step-000001.jsonl"), text.substr(0, at) + "0.015625" + text.substr(text.find(',', at)));
    check_caught(dir.verify(), {"line 8 (step 1)", "advantages in rollouts/step-000001.jsonl"});
  }
  {
    const Copy dir;
    dir.replace("rollouts/step-000004.jsonl", "\"answer\":\"", "\"answer\":\"1");
    check_caught(dir.verify(), {"line 11 (step 4)", "rollouts/step-000004.jsonl"});
  }
  {
    const Copy dir;
    dir.flip("checkpoints/step-000002/model.safetensors", fs::file_size(dir.path / dir.file("checkpoints/step-000002/model.safetensors")) - 1);
    check_caught(dir.verify(), {"line 9 (step 2)", "step-000002", "model.safetensors was changed or damaged"});
  }
  {
    const Copy dir;
    dir.replace("config.resolved.toml", "lr = 0.0003", "lr = 0.0004");
    check_caught(dir.verify(), {"line 1 ", "config.resolved.toml"});
    check_caught(dir.replay({"--step", "1"}), {"config.resolved.toml"});
  }
  {
    const Copy dir;
    dir.replace("env.json", "\"compiler\": \"", "\"compiler\": \"x");
    check_caught(dir.verify(), {"line 1 ", "env.json"});
  }
}

TEST_CASE("cli: verify ledger catches weights that were changed together with the hashes beside them") {
  const Copy dir;
  const fs::path folder = dir.path / dir.file("checkpoints/step-000004");
  std::string weights = read_file(folder / "model.safetensors");
  weights[weights.size() - 3] = static_cast<char>(weights[weights.size() - 3] ^ 1);
  write_file_atomic(folder / "model.safetensors", weights);
  Json progress = Json::parse(read_file(folder / "progress.json"));
  progress["files"]["model.safetensors"]["sha256"] = sha256_hex(weights);
  progress["weights_hash"] = load_pretrained(folder)->params().hash();
  write_file_atomic(folder / "progress.json", progress.dump(2) + "\n");
  rl::verify_checkpoint(folder);  // whole, as far as the checkpoint knows
  check_caught(dir.verify(), {"line 11 (step 4)", "the weights in checkpoints/step-000004"});
}

TEST_CASE("cli: verify ledger catches changed, dropped, swapped and cut-off lines") {
  const Copy dir;
  const auto good = dir.ledger();
  REQUIRE(good.size() == 11);
  const auto with = [&](const auto& change) {
    auto lines = good;
    change(lines);
    dir.set_ledger(lines);
    return dir.verify();
  };
  check_caught(with([](auto& l) { l[8][60] = l[8][60] == 'a' ? 'b' : 'a'; }), {"ledger.jsonl line 9: its text does not have the hash"});
  check_caught(with([](auto& l) { l.erase(l.begin() + 8); }), {"line 9: step 3 does not follow line 8 (step 1)", "removed"});
  check_caught(with([](auto& l) { std::swap(l[8], l[9]); }), {"line 9: step 3 does not follow"});
  check_caught(with([](auto& l) { l.pop_back(); }), {"last line", "metrics.jsonl has step 4"});
  check_caught(with([](auto& l) { l.erase(l.begin()); }), {"genesis"});
  dir.set_ledger(good);
  CHECK(dir.verify().code == 0);
}

TEST_CASE("cli: replay makes any step again and leaves the run alone") {
  const Copy dir;
  const std::string before = dir.fingerprint();
  for (const char* step : {"1", "3", "4"}) {
    const Result r = dir.replay({"--step", step, "--json"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    const Json json = Json::parse(r.out);
    CHECK(json.at("origin") == (std::string(step) == "1" ? "checkpoint step-000000" : "checkpoint step-000002"));
    CHECK(json.at("parts").size() >= 10);  // 4 + 4 updates + 2
    for (const Json& part : json.at("parts")) { CHECK(part.at("same") == true); }
  }
  const Result text = dir.replay({"--step", "2"});
  CHECK(contains(text.out, "gradients of update 4"));
  CHECK(contains(text.out, "agrees"));
  CHECK(dir.fingerprint() == before);
  // Without any checkpoint: from the beginning, pretraining included.
  fs::remove_all(dir.path / dir.file("checkpoints"));
  const Result all = dir.replay({"--step", "1", "--json"});
  REQUIRE_MESSAGE(all.code == 0, all.err);
  CHECK(Json::parse(all.out).at("origin") == "the beginning");
  CHECK(Json::parse(all.out).at("parts").size() == 6 * 4 + 10);
  CHECK(dir.replay({"--step", "5"}).code == 2);
  CHECK(dir.replay({}).code == 2);
  CHECK(dir.replay({"--step", "1", "--token", "x"}).code == 2);
}

TEST_CASE("cli: replay tells about one token what the trail of the run has about it") {
  const Copy dir;
  const Json token = Json::parse(dir.replay({"--step", "2", "--token", "5,1", "--json"}).out).at("token").at(0);
  bool found = false;
  const std::string trail = data::read_zstd_file(dir.path / dir.file("tokens/step-000002.jsonl.zst"));
  for (std::size_t begin = 0; begin < trail.size();) {
    const auto end = trail.find('\n', begin);
    const Json row = Json::parse(trail.substr(begin, end - begin));
    begin = end + 1;
    if (row.at("sequence") == 5 && row.at("part") == "completion" && row.at("t") == 1) {
      CHECK(row == token);
      found = true;
    }
  }
  CHECK(found);
  const Result text = dir.replay({"--step", "2", "--token", "5,1"});
  for (const char* key : {"log_mu", "log_pi", "ratio", "share"}) { CHECK(contains(text.out, key)); }
  CHECK(dir.replay({"--step", "2", "--token", "5,4000"}).code == 2);
  CHECK(dir.replay({"--step", "2", "--token", "4000,0"}).code == 2);
}

TEST_CASE("cli: replay catches a consistent lie and says where the step departs from it") {
  for (const auto& [part, name] : {std::pair("rewards", "rewards"), {"gradients", "gradients of update 2"}, {"optimizer", "optimizer"}}) {
    const Copy dir;
    fs::remove_all(dir.path / dir.file("rollouts"));
    dir.forge(4, [&](rl::LedgerStep& s) {
      const std::string lie = sha256_hex("lie");
      (part == std::string("rewards") ? s.rewards : part == std::string("gradients") ? s.gradients[1] : s.optimizer) = lie;
    });
    if (part != std::string("optimizer")) { CHECK(dir.verify().code == 0); }  // nothing in the folder contradicts it
    check_caught(dir.replay({"--step", "4"}), {"step 4: the first difference is in the " + std::string(name), "ledger.jsonl line 11"});
    CHECK(dir.replay({"--step", "3"}).code == 0);
  }
}

TEST_CASE("cli: a bundle checks its step without the run, and does not survive changes") {
  const Copy dir;
  const Result made = dir.replay({"--step", "3", "--bundle", "step.tar.zst"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const Result again = dir.replay({"--step", "3", "--bundle", "again.tar.zst"});
  CHECK(again.code == 0);
  CHECK(dir.read("step.tar.zst") == dir.read("again.tar.zst"));
  fs::remove_all(dir.path / "runs");
  const Result r = dir.run({"replay", "step.tar.zst", "--quiet", "--token", "0,0"});
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(contains(r.out, "step 3, made again from checkpoint step-000002"));
  CHECK(dir.run({"replay", "step.tar.zst", "--step", "2"}).code == 2);
  CHECK(dir.run({"replay", "nothing.tar.zst"}).code == 2);
  const std::string good = dir.read("step.tar.zst");
  for (std::size_t i = 0; i < 12; ++i) {
    std::string bad = good;
    bad[good.size() / 12 * i] = static_cast<char>(bad[good.size() / 12 * i] ^ 4);
    dir.write("bad.tar.zst", bad);
    const int code = dir.run({"replay", "bad.tar.zst", "--quiet"}).code;
    CAPTURE(i);
    CHECK((code == 2 || code == 3));
  }
  dir.write("cut.tar.zst", good.substr(0, good.size() / 2));
  CHECK(dir.run({"replay", "cut.tar.zst", "--quiet"}).code == 2);
}

TEST_CASE("cli: a bundle carries problems of files and the reference policy") {
  const Folder dir;
  std::string lines;
  for (int i = 0; i < 12; ++i) { lines += fmt::format("{{\"prompt\": \"What is {} + 1? Put it into \\\\boxed{{}}.\", \"answer\": \"{}\"}}\n", i, i + 1); }
  dir.write("train.jsonl", lines);
  dir.write("eval.jsonl", "{\"prompt\": \"What is 40 + 1? Put it into \\\\boxed{}.\", \"answer\": \"41\"}\n");
  const Result r = dir.run(tiny_run({"--set", "task.name=jsonl", "--set", "task.train=train.jsonl", "--set", "task.eval=eval.jsonl", "--set", "reward.name=math", "--set", "pretrain.steps=0", "--set",
                                     "pretrain.warmup_steps=0", "--set", "eval.prompts=0", "--set", "algorithm.kl_coef=0.1", "--set", "train.steps=2", "--set", "model.max_positions=256", "--set",
                                     "reward.truncated_reward=soft"}));
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(dir.run({"verify", "ledger", "runs/qwen3"}).code == 0);
  const Result made = dir.run({"replay", "runs/qwen3", "--step", "2", "--bundle", "b.tar.zst", "--quiet"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  fs::remove_all(dir.path / "runs");
  fs::remove(dir.path / "train.jsonl");
  fs::remove(dir.path / "eval.jsonl");
  const Result there = dir.run({"replay", "b.tar.zst", "--quiet"});
  CHECK_MESSAGE(there.code == 0, there.err);
  CHECK(contains(there.out, "weights"));
}

TEST_CASE("cli: a killed and resumed run has the ledger of one that was not, byte for byte") {
  const Folder dir;
  const Result r = dir.run({"verify", "resume", "--kill-at", "2"});
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(contains(r.out, "13 lines of the ledger are equal"));
  // The check can fail: a run of another seed is another run, and a run that ends too early cannot be killed.
  CHECK(dir.run({"verify", "resume", "--kill-at", "50"}).code == 2);
}

TEST_CASE("cli: a resumed run goes on only with the weights of its ledger") {
  const Copy dir;
  dir.forge(2, [](rl::LedgerStep& s) { s.weights = sha256_hex("other"); });
  fs::remove_all(dir.path / dir.file("checkpoints/step-000004"));
  const Result r = dir.run(tiny_run({"--set", "audit.trail=all", "--resume"}));
  CHECK_MESSAGE(r.code == 3, r.err);
  CHECK(contains(r.err, "ledger.jsonl line 9 (step 2)"));
}

}  // namespace minirl

// The ledger: what is hashed, that nothing about the machine enters, and that the chain shows every change.
#include "rl/ledger.h"

#include <doctest/doctest.h>

#include <cstring>

#include "core/hash.h"
#include "rl/ledger_hash.h"
#include "rl/run_log.h"
#include "rl/trainer_support.h"

namespace minirl::rl {
namespace {

using namespace test;
using minirl::test::TemporaryDirectory;

/// The bytes of docs/formats.md, put together by hand.
struct Bytes {
  std::string text;
  template <class T>
  Bytes& put(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    text.append(raw, sizeof(T));
    return *this;
  }
  Bytes& put_text(std::string_view s) {
    put<std::uint64_t>(s.size());
    text += s;
    return *this;
  }
};

std::vector<Group> two_groups() {
  std::vector<Group> groups(2);
  groups[0].prompt = {1, 2, 3};
  groups[0].example.answer = "42";
  groups[1].prompt = {7};
  groups[1].example.answer = "";
  for (int i = 0; i < 3; ++i) {
    Rollout r;
    r.ids = {10 + i, 11};
    r.logp = {-0.25F, -1.5F - static_cast<float>(i)};
    r.stopped = i != 1;
    r.reward = 0.5 * i;
    r.advantage = -0.1 + i;
    groups[i < 2 ? 0 : 1].rollouts.push_back(r);
  }
  return groups;
}

LedgerStep made_step(Phase phase, Index step) {
  LedgerStep s;
  s.phase = phase;
  s.step = step;
  const auto hash = [&](const char* part) { return sha256_hex(fmt::format("{}{}{}", part, static_cast<int>(phase), step)); };
  s.examples = hash("examples");
  if (phase == Phase::train) {
    s.rollouts = hash("rollouts");
    s.rewards = hash("rewards");
    s.advantages = hash("advantages");
  }
  s.gradients = {hash("g0"), hash("g1")};
  s.optimizer = hash("optimizer");
  s.weights = hash("weights");
  s.bf16_changed = {1, 0};
  return s;
}

LedgerStart start_at(Phase phase, Index step) {
  const LedgerStep s = made_step(phase, step);
  return {phase, step, s.optimizer, s.weights, {{"a", 4}, {"b", 2}}};
}

Progress progress_at(Phase phase, Index step) {
  Progress p;
  p.phase = phase;
  p.step = step;
  return p;
}

const std::string kConfig = sha256_hex("config");
const NamedValues kBuild = {{"version", "1"}, {"commit", "abc"}};

void write_all(Ledger& ledger, Index from, Index to) {
  for (Index s = from; s <= to; ++s) { ledger.add(made_step(Phase::train, s)); }
}

/// What reading and checking the chain says; empty: nothing.
std::string judge(const std::filesystem::path& path) {
  try {
    check_chain(read_ledger(path));
  } catch (const Error& e) {
    CHECK(e.code() == Exit::mismatch);
    return e.what();
  }
  return "";
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> out;
  const std::string content = read_file(path);
  for (std::size_t begin = 0; begin < content.size();) {
    const auto end = content.find('\n', begin);
    out.push_back(content.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

void write_lines(const std::filesystem::path& path, const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& l : lines) { all += l + "\n"; }
  write_file_atomic(path, all);
}

std::vector<LedgerStep> hashes_of(const std::vector<std::string>& sets, const std::string& isa = "") {
  const TemporaryDirectory folder;
  Witness witness;
  witness.hash = true;
  const LoadedConfig loaded = config(sets);
  const Isa before = active_isa();
  if (!isa.empty()) { set_isa(parse_isa(isa)); }
  Trainer trainer(loaded, folder.path() / "checkpoints", witness);
  trainer.run();
  set_isa(before);
  return witness.hashes;
}

void check_same(const std::vector<LedgerStep>& a, const std::vector<LedgerStep>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].examples == b[i].examples);
    CHECK(a[i].rollouts == b[i].rollouts);
    CHECK(a[i].rewards == b[i].rewards);
    CHECK(a[i].advantages == b[i].advantages);
    CHECK(a[i].gradients == b[i].gradients);
    CHECK(a[i].optimizer == b[i].optimizer);
    CHECK(a[i].weights == b[i].weights);
    CHECK(a[i].bf16_changed == b[i].bf16_changed);
  }
}

}  // namespace

TEST_CASE("rl/ledger: what is hashed are the documented bytes") {
  std::vector<Group> groups = two_groups();
  Bytes examples;
  examples.put<std::uint64_t>(3).put<std::int32_t>(1).put<std::int32_t>(2).put<std::int32_t>(3).put_text("42");
  examples.put<std::uint64_t>(1).put<std::int32_t>(7).put_text("");
  CHECK(hash_examples(groups) == sha256_hex(examples.text));

  Bytes rollouts, rewards, advantages;
  std::vector<TrainItem> items;
  for (const Group& g : groups) {
    for (const Rollout& r : g.rollouts) {
      rollouts.put<std::uint64_t>(r.ids.size());
      for (const Token id : r.ids) { rollouts.put<std::int32_t>(id); }
      for (const float x : r.logp) { rollouts.put<float>(x); }
      rollouts.put<std::uint8_t>(r.stopped ? 1 : 0);
      rewards.put<double>(r.reward);
      advantages.put<double>(r.advantage);
      items.push_back({&g, &r});
    }
  }
  CHECK(hash_rollouts(groups) == sha256_hex(rollouts.text));
  CHECK(hash_rewards(groups) == sha256_hex(rewards.text));
  CHECK(hash_advantages(items) == sha256_hex(advantages.text));
  items[2].token_advantages = {0.25, 0.5};
  advantages.put<double>(0.25).put<double>(0.5);
  CHECK(hash_advantages(items) == sha256_hex(advantages.text));

  const std::vector<Token> prompt = {4}, completion = {5, 6};
  const std::vector<ScoredSequence> worked = {{prompt, completion}};
  Bytes pairs;
  pairs.put<std::uint64_t>(1).put<std::int32_t>(4).put<std::uint64_t>(2).put<std::int32_t>(5).put<std::int32_t>(6);
  CHECK(hash_examples(worked) == sha256_hex(pairs.text));
  CHECK(hash_build(kBuild) == sha256_hex("version = 1\ncommit = abc\n"));
}

TEST_CASE("rl/ledger: tensors are hashed in pieces, and threads do not matter") {
  const Index rows = 3, columns = kHashPiece / 8;  // 1.5 pieces of fp32
  Tensor large = Tensor::empty({rows, columns}, DType::f32);
  for (Index i = 0; i < large.numel(); ++i) { large.data<float>()[i] = static_cast<float>(i) * 0.5F; }
  const Tensor small = Tensor::zeros({2}, DType::bf16);
  const std::vector<std::pair<std::string, Tensor>> list = {{"large", large}, {"s", small}};
  const std::string raw(reinterpret_cast<const char*>(large.raw()), static_cast<std::size_t>(large.bytes()));
  Bytes all;
  all.put_text("large").put_text("f32").put<std::uint64_t>(2).put<std::uint64_t>(3).put<std::uint64_t>(static_cast<std::uint64_t>(columns));
  all.text += sha256_hex(std::string_view(raw).substr(0, 1 << 20)) + sha256_hex(std::string_view(raw).substr(1 << 20));
  all.put_text("s").put_text("bf16").put<std::uint64_t>(1).put<std::uint64_t>(2);
  all.text += sha256_hex(std::string_view("\0\0\0\0", 4));
  for (const int threads : {1, 2, 3, 5}) { CHECK(hash_tensors(list, Exec{.threads = threads}) == sha256_hex(all.text)); }
  large.data<float>()[rows * columns - 1] += 0.5F;
  CHECK(hash_tensors(list, {}) != sha256_hex(all.text));
}

TEST_CASE("rl/ledger: no hash of a run depends on threads, micro-batches or the instruction set") {
  const std::vector<LedgerStep> reference = hashes_of({"runtime.threads=1"});
  REQUIRE(reference.size() == 3);
  CHECK(reference[0].gradients.size() == 2);
  CHECK(reference[0].weights != reference[1].weights);
  check_same(reference, hashes_of({"runtime.threads=3"}));
  check_same(reference, hashes_of({"train.tokens_per_micro=120", "rollout.max_batch=3"}));
  for (const char* isa : {"portable", "avx2", "avx512"}) {
    if (parse_isa(isa) <= best_isa()) { check_same(reference, hashes_of({}, isa)); }
  }
  // ... and every one of them depends on what it is of.
  const std::vector<LedgerStep> other = hashes_of({"run.seed=2"});
  CHECK(other[0].examples != reference[0].examples);
  CHECK(other[0].rollouts != reference[0].rollouts);
  CHECK(other[0].rewards != reference[0].rewards);
  CHECK(other[0].advantages != reference[0].advantages);
  CHECK(other[0].gradients[1] != reference[0].gradients[1]);
  CHECK(other[0].optimizer != reference[0].optimizer);
}

TEST_CASE("rl/ledger: the share of weights whose bf16 form changed grows with the learning rate") {
  const auto share = [](const std::string& lr) {
    const Outcome o = train({"train.lr=" + lr});
    return o.witness.metric(0, "update/bf16_changed_share");
  };
  CHECK(share("0") == 0);
  CHECK(share("1e-6") < 0.1);
  CHECK(share("1e-6") > 0);
  CHECK(share("1e-2") > 0.5);
  const std::vector<LedgerStep> lines = hashes_of({"train.lr=1e-2"});
  Index changed = 0;
  for (const Index n : lines[0].bf16_changed) { changed += n; }
  Witness w;
  const TemporaryDirectory folder;
  const LoadedConfig loaded = config({"train.lr=1e-2"});
  Trainer trainer(loaded, folder.path() / "c", w);
  CHECK(lines[0].bf16_changed.size() == trainer.model().params().all().size());
  CHECK(share("1e-2") == static_cast<double>(changed) / static_cast<double>(trainer.model().params().numel()));
}

TEST_CASE("rl/ledger: a chain reads back, goes on after a rewind with the same bytes, and forgets later steps") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "ledger.jsonl";
  {
    Ledger ledger(path, kConfig, kBuild);
    ledger.start(start_at(Phase::pretrain, 0));
    ledger.add(made_step(Phase::pretrain, 1));
    ledger.add(made_step(Phase::pretrain, 2));
    write_all(ledger, 1, 4);
  }
  CHECK(judge(path).empty());
  const auto lines = read_ledger(path);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0].start);
  CHECK(lines[0].build_info == kBuild);
  CHECK(lines[0].parameters == start_at(Phase::pretrain, 0).parameters);
  CHECK(find_step(lines, Phase::train, 3)->values.rewards == made_step(Phase::train, 3).rewards);
  CHECK(find_step(lines, Phase::train, 5) == nullptr);
  const std::string whole = read_file(path);
  {
    Ledger ledger(path, kConfig, kBuild);
    ledger.rewind(progress_at(Phase::train, 2));
    CHECK(read_ledger(path).size() == 5);
    ledger.start(start_at(Phase::train, 2));
    write_all(ledger, 3, 4);
  }
  CHECK(read_file(path) == whole);
  {  // the base model: moments are fresh there
    Ledger ledger(path, kConfig, kBuild);
    ledger.rewind(progress_at(Phase::train, 0));
    LedgerStart base = start_at(Phase::pretrain, 2);
    base.phase = Phase::train;
    base.step = 0;
    base.optimizer = sha256_hex("fresh");
    ledger.start(base);
    write_all(ledger, 1, 4);
  }
  CHECK(read_file(path) == whole);
  write_file_atomic(path, whole + "{\"kind\": \"st");  // killed while it wrote
  CHECK(judge(path).find("line 8: it has no end") != std::string::npos);
  {
    Ledger ledger(path, kConfig, kBuild);
    CHECK(read_file(path) == whole);
  }
}

TEST_CASE("rl/ledger: a process that goes on from another state is refused; missing lines stay visible") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "ledger.jsonl";
  {
    Ledger ledger(path, kConfig, kBuild);
    ledger.start(start_at(Phase::train, 0));
    write_all(ledger, 1, 3);
  }
  {
    Ledger ledger(path, kConfig, kBuild);
    LedgerStart other = start_at(Phase::train, 3);
    other.weights = sha256_hex("other");
    CHECK_THROWS_WITH_AS(ledger.start(other), doctest::Contains("weights that this process goes on with"), Error);
    other = start_at(Phase::train, 3);
    other.optimizer = sha256_hex("other");
    CHECK_THROWS_WITH_AS(ledger.start(other), doctest::Contains("moments"), Error);
    ledger.start(start_at(Phase::train, 6));  // the lines of 4 to 6 were lost
    write_all(ledger, 7, 7);
  }
  const auto gaps = check_chain(read_ledger(path));
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0].find("line 5: the chain begins anew at step 6 after step 3") != std::string::npos);
}

TEST_CASE("rl/ledger: every flipped bit of every line is found, and so is a dropped, moved or copied line") {
  const TemporaryDirectory folder;
  const auto path = folder.path() / "ledger.jsonl";
  {
    Ledger ledger(path, kConfig, kBuild);
    ledger.start(start_at(Phase::train, 0));
    write_all(ledger, 1, 4);
  }
  const auto good = lines_of(path);
  const auto changed = folder.path() / "changed.jsonl";
  for (std::size_t l = 0; l < good.size(); ++l) {
    for (std::size_t i = 0; i < good[l].size(); i += 7) {
      auto lines = good;
      lines[l][i] = static_cast<char>(lines[l][i] ^ (1 << (i % 5)));
      if (lines[l][i] == '\n') { continue; }
      write_lines(changed, lines);
      CAPTURE(i);
      CHECK(judge(changed).find(fmt::format("line {}: ", l + 1)) != std::string::npos);
    }
  }
  auto lines = good;
  lines.erase(lines.begin() + 2);
  write_lines(changed, lines);
  CHECK(judge(changed).find("line 3: step 3 does not follow line 2 (step 1)") != std::string::npos);
  lines = good;
  std::swap(lines[2], lines[3]);
  write_lines(changed, lines);
  CHECK(judge(changed).find("line 3: step 3 does not follow") != std::string::npos);
  lines = good;
  lines.insert(lines.begin() + 2, lines[2]);
  write_lines(changed, lines);
  CHECK(judge(changed).find("line 4: step 2 does not follow") != std::string::npos);
  lines = good;
  lines.erase(lines.begin());
  write_lines(changed, lines);
  CHECK(judge(changed).find("line 1: the ledger does not begin with its genesis line") != std::string::npos);
}

}  // namespace minirl::rl

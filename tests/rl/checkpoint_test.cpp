// A checkpoint is whole or it is not there, whatever happens to the process, the disk or the files.
#include "rl/checkpoint.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "core/files.h"
#include "model/pretrained.h"
#include "model/safetensors.h"
#include "model/temporary.h"
#include "rl/model_support.h"

using namespace minirl;
using namespace minirl::rl;
using namespace minirl::rl::test;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

ModelConfig smallest() {
  ModelConfig c = tiny_model();
  c.vocab_size = 7;
  c.hidden_size = 8;
  c.num_layers = 1;
  c.num_heads = 2;
  c.num_kv_heads = 1;
  c.head_dim = 4;
  c.ffn_size = 6;
  return c;
}

/// A model in the middle of its training.
struct Run {
  std::unique_ptr<Decoder> model;
  Optimizer optimizer;
  std::unique_ptr<data::Tokenizer> tokenizer = data::byte_tokenizer();

  explicit Run(std::uint64_t seed = 1) : model(make_decoder(smallest(), DType::f32, seed)), optimizer(model->params(), {.weight_decay = 0.1}) {}
  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      rng::Random random(rng::Key::of(static_cast<std::uint64_t>(optimizer.steps()), rng::Stream::test));
      for (Param& p : model->params().all()) {
        for (float& g : p.grad().span<float>()) { g = static_cast<float>(random.normal()); }
      }
      optimizer.step(0.01, {});
    }
  }
  fs::path save(const fs::path& checkpoints, Index step, Index keep = 0, Phase phase = Phase::train) {
    return save_checkpoint(checkpoints, {phase, step, "results", "", 0, ""}, *model, optimizer, *tokenizer, keep);
  }
  /// Weights, moments and counters.
  std::string hash() {
    Hasher h;
    h.add(model->params().hash()).add_value(optimizer.steps());
    for (const auto& [name, tensor] : optimizer.state()) { h.add(name).add(tensor); }
    return h.hex();
  }
};

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(directory)) { out.push_back(entry.path().filename()); }
  std::sort(out.begin(), out.end());
  return out;
}

std::string refusal(const fs::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void overwrite(const fs::path& path, const std::string& content) { write_file_atomic(path, content); }

/// Runs the body in a child process and returns its exit code, or minus the signal that ended it.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (const Error& e) { code = static_cast<int>(e.code()); } catch (...) {
    }
    ::_exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("rl/checkpoint: a resumed run has the bits of the run that went on") {
  const minirl::test::TemporaryDirectory directory;
  Run left_alone;
  left_alone.train(5);
  const fs::path path = left_alone.save(directory.path() / "checkpoints", 5);
  CHECK(path.filename() == "step-000005");
  const std::string saved = left_alone.hash();
  left_alone.train(4);

  Run resumed(77);  // other weights, other moments
  resumed.train(2);
  load_checkpoint(path, *resumed.model, resumed.optimizer);
  CHECK(resumed.hash() == saved);
  CHECK(resumed.optimizer.steps() == 5);
  resumed.train(4);
  CHECK(resumed.hash() == left_alone.hash());
}

TEST_CASE("rl/checkpoint: a checkpoint is a Hugging Face directory with optimizer and progress") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  run.train(3);
  const fs::path path = run.save(directory.path(), 3);
  CHECK(names_in(path) == std::vector<std::string>{"config.json", "generation_config.json", "model.safetensors", "optimizer.safetensors", "progress.json",
                                                   "tokenizer.json", "tokenizer_config.json"});
  CHECK(load_pretrained(path)->params().hash() == run.model->params().hash());
  const Progress progress = verify_checkpoint(path);
  CHECK(progress.phase == Phase::train);
  CHECK(progress.step == 3);
  CHECK(progress.results_hash == "results");
  CHECK(progress.weights_hash == run.model->params().hash());
  CHECK(SafetensorsFile(path / "optimizer.safetensors").entries().size() == 2 * run.model->params().all().size());
}

TEST_CASE("rl/checkpoint: names sort by progress, also beyond six digits") {
  CHECK(checkpoint_name({Phase::pretrain, 200, "", "", 0, ""}) == "pretrain-000200");
  CHECK(checkpoint_name({Phase::train, 40, "", "", 0, ""}) == "step-000040");
  CHECK(checkpoint_name({Phase::train, 1234567, "", "", 0, ""}) == "step-1234567");
  const minirl::test::TemporaryDirectory directory;
  Run run;
  for (const Index step : {1000000, 999999, 20}) { run.save(directory.path(), step); }
  CHECK(newest_checkpoint(directory.path()).directory.filename() == "step-1000000");
  run.save(directory.path(), 9000000, 0, Phase::pretrain);  // pretraining comes before training
  CHECK(newest_checkpoint(directory.path()).directory.filename() == "step-1000000");
}

TEST_CASE("rl/checkpoint: the newest ones are kept, and the base model") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  run.save(directory.path(), 100, 2, Phase::pretrain);
  for (const Index step : {0, 10, 20, 30}) { run.save(directory.path(), step, 2); }
  CHECK(names_in(directory.path()) == std::vector<std::string>{"step-000000", "step-000020", "step-000030"});
  run.save(directory.path(), 40, 1);
  CHECK(names_in(directory.path()) == std::vector<std::string>{"step-000000", "step-000040"});
  for (const Index step : {50, 60}) { run.save(directory.path(), step, 0); }  // 0 keeps all
  CHECK(names_in(directory.path()).size() == 4);
}

TEST_CASE("rl/checkpoint: saving a step again replaces it") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  run.train(1);
  run.save(directory.path(), 7);
  run.train(1);
  const fs::path path = run.save(directory.path(), 7);
  Run loaded(3);
  load_checkpoint(path, *loaded.model, loaded.optimizer);
  CHECK(loaded.hash() == run.hash());
  CHECK(names_in(directory.path()) == std::vector<std::string>{"step-000007"});
}

TEST_CASE("rl/checkpoint: every changed byte of every file is detected") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  run.train(2);
  const fs::path path = run.save(directory.path(), 2);
  std::size_t flips = 0;
  for (const std::string& name : names_in(path)) {
    if (name == "progress.json") { continue; }  // it holds the hashes of the others
    CAPTURE(name);
    const std::string good = read_file(path / name);
    const std::size_t stride = good.size() / 150 + 1;  // all bytes of small files, a sample and the last byte of large ones
    for (std::size_t at = 0; at < good.size(); at = at + stride < good.size() || at + 1 == good.size() ? at + stride : good.size() - 1) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (flips % 8)));
      overwrite(path / name, bad);
      const std::string message = refusal(path);
      CAPTURE(at);
      CHECK(contains(message, path.string()));
      CHECK(contains(message, name));
      ++flips;
    }
    overwrite(path / name, good);
  }
  CHECK(flips > 500);
  CHECK(refusal(path) == "");
}

TEST_CASE("rl/checkpoint: files that are cut, emptied, lengthened or gone are detected and named") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  run.train(1);
  const fs::path path = run.save(directory.path(), 2);
  for (const std::string& name : names_in(path)) {
    CAPTURE(name);
    const std::string good = read_file(path / name);
    for (const std::string& bad : {good.substr(0, good.size() / 2), std::string(), std::string(good.size(), '\0'), good.substr(0, good.size() / 2) + std::string(good.size() - good.size() / 2, '\0')}) {
      overwrite(path / name, bad);
      CHECK(contains(refusal(path), name));
    }
    if (name != "progress.json") {
      overwrite(path / name, good + "\n");
      CHECK(contains(refusal(path), name));
    }
    fs::remove(path / name);
    CHECK(contains(refusal(path), name + " is missing"));
    fs::create_directory(path / name);  // a folder of that name is no file
    CHECK(refusal(path) != "");
    fs::remove(path / name);
    overwrite(path / name, good);
  }
  CHECK(refusal(path) == "");
  CHECK(contains(refusal(directory.path() / "step-000099"), "not a directory"));
}

TEST_CASE("rl/checkpoint: a progress.json that another program wrote is refused with the reason") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  const fs::path path = run.save(directory.path(), 2);
  const Json good = Json::parse(read_file(path / "progress.json"));
  struct Fault {
    std::string field;
    Json value;
  };
  for (const Fault& fault : {Fault{"format", 1}, {"format", "1"}, {"phase", "test"}, {"phase", 1}, {"step", "two"}, {"weights_hash", 3}, {"results_hash", nullptr},
                                     {"files", 3}, {"files", {{"../../etc/passwd", {{"bytes", 1}, {"sha256", ""}}}}}, {"files", {{"none", {{"bytes", 1}, {"sha256", ""}}}}}}) {
    CAPTURE(fault.field);
    Json doc = good;
    doc[fault.field] = fault.value;
    overwrite(path / "progress.json", doc.dump(2));
    CHECK(contains(refusal(path), path.string()));
    doc.erase(fault.field);
    overwrite(path / "progress.json", doc.dump(2));
    CHECK(refusal(path) != "");
  }
  for (const char* text : {"", "null", "[]", "{}", "not JSON"}) {
    overwrite(path / "progress.json", text);
    CHECK(contains(refusal(path), "progress.json"));
  }
}

TEST_CASE("rl/checkpoint: the newest whole checkpoint is found and every skipped one explained") {
  const minirl::test::TemporaryDirectory directory;
  CHECK(newest_checkpoint(directory.path() / "none").directory.empty());
  CHECK(newest_checkpoint(directory.path()).directory.empty());
  Run run;
  for (const Index step : {10, 20, 30, 40}) {
    run.train(1);
    run.save(directory.path(), step);
  }
  fs::resize_file(directory.path() / "step-000040/model.safetensors", 100);
  fs::remove(directory.path() / "step-000030/progress.json");
  for (const char* name : {"step-99", "step-abcdef", "step-000050x", "final", ".tmp-step-000060"}) { fs::create_directory(directory.path() / name); }
  overwrite(directory.path() / "step-000070", "a file, not a folder");
  const Found found = newest_checkpoint(directory.path());
  CHECK(found.directory.filename() == "step-000020");
  CHECK(found.progress.step == 20);
  REQUIRE(found.skipped.size() == 2);  // newest first
  CHECK(contains(found.skipped[0], "step-000040"));
  CHECK(contains(found.skipped[0], "model.safetensors"));
  CHECK(contains(found.skipped[1], "step-000030"));
  CHECK(contains(found.skipped[1], "progress.json is missing"));
  for (const char* step : {"step-000010", "step-000020"}) { fs::remove_all(directory.path() / step); }
  const Found none = newest_checkpoint(directory.path());
  CHECK(none.directory.empty());
  CHECK(none.skipped.size() == 2);
}

TEST_CASE("rl/checkpoint: half-written directories of a killed process are ignored and cleaned up") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  const fs::path whole = run.save(directory.path(), 10);
  const auto names = names_in(whole);
  for (std::size_t written = 0; written <= names.size(); ++written) {  // killed after that many files, inside the last one
    const fs::path half = directory.path() / ".tmp-step-000020";
    fs::create_directory(half);
    for (std::size_t i = 0; i < written; ++i) {
      fs::copy_file(whole / names[i], half / names[i]);
      if (i + 1 == written) { fs::resize_file(half / names[i], fs::file_size(half / names[i]) / 2); }
    }
    const Found found = newest_checkpoint(directory.path());
    CHECK(found.directory == whole);
    CHECK(found.skipped.empty());
    run.save(directory.path(), written % 2 == 0 ? 20 : 15);  // the same step again, or another one
    CHECK_FALSE(fs::exists(half));
    fs::remove_all(directory.path() / "step-000020");
    fs::remove_all(directory.path() / "step-000015");
  }
}

TEST_CASE("rl/checkpoint: a process killed at any instant leaves only whole checkpoints") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  const auto first = run.save(directory.path(), 1);
  for (int kill = 0; kill < 8; ++kill) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (Index step = 2;; ++step) { run.save(directory.path(), step, 3); }
    }
    ::usleep(static_cast<useconds_t>(7000 + 4700 * kill));  // any instant will do
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const Found found = newest_checkpoint(directory.path());
    CHECK(found.skipped.empty());
    REQUIRE(!found.directory.empty());
    Run loaded(5);
    load_checkpoint(found.directory, *loaded.model, loaded.optimizer);
    CHECK(loaded.hash() == run.hash());
  }
}

TEST_CASE("rl/checkpoint: a full disk is an error of its own and leaves the older checkpoint as it was") {
  // A limit on the size of a file stops a write in the same place as a full disk does.
  const minirl::test::TemporaryDirectory directory;
  Run run;
  run.train(1);
  const fs::path older = run.save(directory.path(), 10, 1);
  const std::string saved = run.hash();
  std::set<std::uintmax_t> limits = {0};
  for (const auto& name : names_in(older)) {  // each file in turn is the one that does not fit; the largest never does
    limits.insert(fs::file_size(older / name) - 1);
    limits.insert(fs::file_size(older / name) / 2);
  }
  run.train(1);
  for (const std::uintmax_t limit : limits) {
    CAPTURE(limit);
    const int code = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit size{limit, limit};
      if (::setrlimit(RLIMIT_FSIZE, &size) != 0) { return 98; }
      try {
        run.save(directory.path(), 20, 1);
      } catch (const Error& e) {
        const std::string message = e.what();
        return contains(message, "cannot write") && contains(message, "ulimit -f") ? static_cast<int>(e.code()) : 97;
      }
      return 0;
    });
    CHECK(code == static_cast<int>(Exit::runtime));
    CHECK(names_in(directory.path()) == std::vector<std::string>{"step-000010"});  // nothing half-written either
    const Found found = newest_checkpoint(directory.path());
    CHECK(found.directory == older);
    CHECK(found.skipped.empty());
  }
  Run loaded(4);
  load_checkpoint(older, *loaded.model, loaded.optimizer);
  CHECK(loaded.hash() == saved);
  CHECK(run.save(directory.path(), 20, 1).filename() == "step-000020");  // with room again, it goes on
}

TEST_CASE("rl/checkpoint: a place where nothing can be written is named") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  overwrite(directory.path() / "file", "not a folder");
  try {
    run.save(directory.path() / "file", 1);
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.code() == Exit::runtime);
    CHECK(contains(e.what(), (directory.path() / "file").string()));
  }
  if (::geteuid() != 0) {
    fs::permissions(directory.path(), fs::perms::owner_read | fs::perms::owner_exec);
    CHECK_THROWS_WITH_AS(run.save(directory.path() / "new", 1), doctest::Contains("Permission denied"), Error);
    fs::permissions(directory.path(), fs::perms::owner_all);
  }
}

TEST_CASE("rl/checkpoint: a checkpoint of another model is refused by name") {
  const minirl::test::TemporaryDirectory directory;
  Run run;
  const fs::path path = run.save(directory.path(), 1);
  ModelConfig other = smallest();
  other.ffn_size = 10;
  const auto model = make_decoder(other, DType::f32, 1);
  Optimizer optimizer(model->params(), {});
  const std::string before = model->params().hash();
  CHECK_THROWS_WITH_AS(load_checkpoint(path, *model, optimizer), doctest::Contains("mlp.gate_proj.weight"), Error);
  CHECK(model->params().hash() == before);
  CHECK(optimizer.steps() == 0);
}

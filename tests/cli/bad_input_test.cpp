// Every mistake a user can make: a clear message that names the place, and the right exit code.
#include <csignal>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "cli/run_binary.h"
#include "core/error.h"

namespace minirl {
namespace {

using cli_test::Folder;
using cli_test::tiny_run;

struct Case {
  std::vector<std::string> arguments;
  Exit code;
  std::vector<const char*> parts;  // of stderr
};

std::string shown(const std::vector<std::string>& arguments) {
  std::string out = "minirl";
  for (const auto& a : arguments) {
    out += " " + a;
  }
  return out;
}

void check(const Folder& dir, const Case& c) {
  const auto r = dir.run(c.arguments);
  const std::string what = shown(c.arguments) + "\n" + r.err;
  CHECK_MESSAGE(r.code == static_cast<int>(c.code), what);
  for (const char* part : c.parts) {
    CHECK_MESSAGE(r.err.find(part) != std::string::npos, std::string(part)
                                                             << " is not in: " << what);
  }
  CHECK_MESSAGE(r.err.find("minirl: error: ") != std::string::npos, what);
}

std::vector<std::string> plan(std::vector<std::string> sets) {
  std::vector<std::string> out = {"plan", "qwen3.toml"};
  for (auto& s : sets) {
    out.emplace_back("--set");
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace

TEST_CASE("cli: a wrong command line is exit 2 and says what was probably meant") {
  const Folder dir;
  for (const Case& c : std::vector<Case>{
           {{"trian", "qwen3.toml"}, Exit::usage, {"trian", "did you mean 'train'?"}},
           {{"train"}, Exit::usage, {"CONFIG is required"}},
           {{"train", "qwen3.toml", "--overwite"},
            Exit::usage,
            {"--overwite", "did you mean '--overwrite'?"}},
           {{"train", "qwen3.toml", "extra"}, Exit::usage, {"extra"}},
           {{"train", "qwen3.toml", "--set"}, Exit::usage, {"--set"}},
           {{"train", "qwen3.toml", "--resume", "--overwrite"}, Exit::usage, {"contradict"}},
           {{"train", "qwen"},
            Exit::usage,
            {"no bundled config 'qwen'", "did you mean qwen3.toml?", "bundled configs: countdown.toml, "}},
           {{"plan", "."}, Exit::usage, {"'.' is not a file", "qwen3.toml"}},
           {{"eval", "runs/none"}, Exit::usage, {"no folder 'runs/none'"}},
           {{"sample", "."}, Exit::usage, {"neither a run nor a folder with a model"}},
           {{"sample", ".", "-n", "0"}, Exit::usage, {"--count"}},
           {{"report", "."}, Exit::usage, {"'.' is not a run of minirl"}},
       }) {
    check(dir, c);
  }
  const auto bare = dir.run({});
  CHECK(bare.code == 2);
  CHECK(bare.out.find("minirl train qwen3.toml") != std::string::npos);
  CHECK(dir.run({"--help"}).code == 0);
  CHECK(dir.run({"train", "--help"}).code == 0);
  CHECK(dir.run({"version"}).code == 0);
  CHECK(dir.run({"version", "--json"}).out.find("\"compiler\"") != std::string::npos);
}

TEST_CASE("cli: a wrong configuration is exit 2 and names file, line and key") {
  const Folder dir;
  dir.write("unknown.toml", "[train]\nsteps = 3\nlrr = 1e-3\n");
  dir.write("table.toml", "[trian]\nsteps = 3\n");
  dir.write("type.toml", "[rollout]\ngroup_size = \"eight\"\n");
  dir.write("broken.toml", "[train]\nsteps = \n");
  dir.write("twice.toml", "[train]\nsteps = 1\nsteps = 2\n");
  dir.write("nodelta.toml", "[algorithm]\nname = \"drpo\"\n");
  dir.write("binary.toml", std::string("\xff\xfe\0x", 4));
  dir.write("empty.toml", "");
  dir.write("topk.toml", "[rollout]\ntop_k = 50\n");
  for (const Case& c : std::vector<Case>{
           {{"plan", "unknown.toml"},
            Exit::usage,
            {"unknown.toml:3: unknown key 'train.lrr'", "did you mean 'train.lr'?"}},
           {{"plan", "table.toml"},
            Exit::usage,
            {"table.toml:1: unknown table [trian]", "did you mean [train]?"}},
           {{"plan", "type.toml"},
            Exit::usage,
            {"type.toml:2: 'rollout.group_size' must be a whole number from 1 to 4096, not the "
             "text \"eight\""}},
           {{"plan", "broken.toml"}, Exit::usage, {"broken.toml:2: not valid TOML"}},
           {{"plan", "twice.toml"}, Exit::usage, {"twice.toml:3: not valid TOML", "steps"}},
           {{"plan", "nodelta.toml"}, Exit::usage, {"'algorithm.delta' is missing", "0.2"}},
           {{"plan", "empty.toml"}, Exit::usage, {"'algorithm.delta' is missing"}},
           {{"plan", "binary.toml"}, Exit::usage, {"binary.toml:1: not valid TOML"}},
           {{"plan", "topk.toml"},
            Exit::usage,
            {"topk.toml:2: unknown key 'rollout.top_k'", "whole distribution"}},
           {plan({"rollout.group_size=0"}),
            Exit::usage,
            {"--set rollout.group_size=0", "from 1 to 4096"}},
           {plan({"rollout.temperature=0"}), Exit::usage, {"above 0"}},
           {plan({"rollout.prompts_per_step=32", "rollout.group_size=8",
                  "train.updates_per_rollout=3"}),
            Exit::usage,
            {"256 completions per step", "divisor"}},
           {plan({"model.num_kv_heads=3"}),
            Exit::usage,
            {"not a multiple of model.num_kv_heads = 3"}},
           {plan({"model.head_dim=33"}), Exit::usage, {"model.head_dim = 33 is odd"}},
           {plan({"rollout.max_new_tokens=8"}),
            Exit::usage,
            {"too small", "the longest right answer"}},
           {plan({"model.max_positions=20"}),
            Exit::usage,
            {"model.max_positions = 20 is too small"}},
           {plan({"train.tokens_per_micro=20"}), Exit::usage, {"smaller than one sequence"}},
           {plan({"eval.prompts=1000000"}), Exit::usage, {"holds out only"}},
           {plan({"task.name=arithmetics"}),
            Exit::usage,
            {"unknown task 'arithmetics'", "did you mean 'arithmetic'?"}},
           {plan({"task.operations=/"}), Exit::usage, {"operations"}},
           {plan({"task.fraction_wrong=0.9"}), Exit::usage, {"is above 1"}},
           {plan({"reward.name=countdown"}),
            Exit::usage,
            {"cannot read the answers of the task arithmetic"}},
           {plan({"algorithm.name=drpoo"}),
            Exit::usage,
            {"unknown algorithm 'drpoo'", "did you mean"}},
           {plan({"algorithm.delta=-1"}),
            Exit::usage,
            {"'algorithm.delta' must be a number above 0, not -1"}},
           {plan({"algorithm.delta=nan"}), Exit::usage, {"not nan"}},
           {plan({"algorithm.loss_agg_mode=token_mean"}),
            Exit::usage,
            {"did you mean \"token-mean\"?"}},
           {plan({"train.max_grad_norm=0"}), Exit::usage, {"above 0 or \"off\""}},
           {plan({"train.max_grad_norm=inf"}), Exit::usage, {"above 0 or \"off\""}},
           {plan({"nonsense"}), Exit::usage, {"--set nonsense: there is no '='"}},
           {plan({"run.name=a/b"}), Exit::usage, {"cannot be a folder name"}},
           {plan({"train.lr_schedule=cosin"}), Exit::usage, {"did you mean \"cosine\"?"}},
           {plan({"runtime.simd=sse2"}), Exit::usage, {"\"avx512\""}},
       }) {
    check(dir, c);
  }
  CHECK_FALSE(dir.has("runs"));
}

TEST_CASE(
    "cli: places that cannot be written or are taken are exit 2, before anything is computed") {
  const Folder dir;
  dir.write("file", "x");
  std::filesystem::create_directories(dir.path / "runs" / "mine");
  dir.write("runs/mine/notes.txt", "not a run");
  const auto with = [](std::vector<std::string> more) { return tiny_run(std::move(more)); };
  for (const Case& c : std::vector<Case>{
           {with({"--set", "run.dir=/proc/nowhere"}), Exit::usage, {"/proc/nowhere"}},
           {with({"--set", "run.dir=file"}),
            Exit::usage,
            {"cannot create the folder 'file/qwen3'"}},
           {with({"--run-name", "mine"}),
            Exit::usage,
            {"'runs/mine' exists already", "not a run of minirl"}},
           {with({"--run-name", "mine", "--overwrite"}),
            Exit::usage,
            {"not a run of minirl, so --overwrite leaves it alone"}},
           {with({"--resume"}), Exit::usage, {"there is no run 'runs/qwen3' to resume"}},
           {with({"--set", "model.checkpoint=nowhere"}), Exit::usage, {"nowhere"}},
       }) {
    check(dir, c);
  }
  CHECK(dir.read("runs/mine/notes.txt") == "not a run");
  CHECK_FALSE(dir.has("runs/qwen3"));  // the mistake in model.checkpoint does not occupy the name
}

TEST_CASE(
    "cli: an existing run is refused, overwritten or resumed as asked, and guarded against two "
    "writers") {
  const Folder dir;
  REQUIRE(dir.run(tiny_run()).code == 0);
  check(dir,
        {tiny_run(),
         Exit::usage,
         {"'runs/qwen3' exists already", "--resume goes on with it, --overwrite replaces it"}});
  check(dir, {tiny_run({"--resume"}), Exit::usage, {"nothing is left to train"}});
  check(dir,
        {tiny_run({"--resume", "--set", "train.lr=0.5"}),
         Exit::usage,
         {"differs from that of the run", "train.lr: ", " before, 0.5 now (--set train.lr=0.5)"}});
  const int lock = open((dir.path / "runs/qwen3/.lock").c_str(), O_RDWR);
  REQUIRE(lock >= 0);
  REQUIRE(flock(lock, LOCK_EX | LOCK_NB) == 0);
  check(dir,
        {tiny_run({"--overwrite"}), Exit::usage, {"another minirl is working in 'runs/qwen3'"}});
  close(lock);
  dir.write("runs/qwen3/notes.txt", "mine");
  CHECK(dir.run(tiny_run({"--overwrite"})).code == 0);
  CHECK(dir.read("runs/qwen3/notes.txt") == "mine");  // only what minirl wrote is replaced
}

TEST_CASE("cli: a run whose data file was changed is not resumed") {
  const Folder dir;
  std::string rows;
  for (int i = 0; i < 8; ++i) {
    rows += fmt::format("{{\"prompt\": \"{} + 1 = ?\", \"answer\": \"{}\"}}\n", i, i + 1);
  }
  dir.write("train.jsonl", rows);
  dir.write("eval.jsonl", rows);
  const std::vector<std::string> files = {
      "--set", "task.name=jsonl",           "--set", "task.train=train.jsonl",
      "--set", "task.eval=eval.jsonl",      "--set", "pretrain.steps=0",
      "--set", "pretrain.warmup_steps=0",   "--set", "checkpoint.pretrain_every=0",
      "--set", "prompt.instruction=none",   "--set", "rollout.max_new_tokens=8",
      "--set", "train.lr_schedule=constant", "--set", "reward.truncated_reward=zero"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), files.begin(), files.end());
    return tiny_run(std::move(more));
  };
  const auto first = dir.run(with({"--set", "train.steps=2"}));
  REQUIRE_MESSAGE(first.code == 0, first.err);
  dir.write("train.jsonl", rows + "{\"prompt\": \"9 + 1 = ?\", \"answer\": \"10\"}\n");
  check(dir, {with({"--resume"}), Exit::usage, {"the problems of 'jsonl' are not those that the run began with", "put the data files"}});
  dir.write("train.jsonl", rows);
  const auto same = dir.run(with({"--resume"}));
  CHECK_MESSAGE(same.code == 0, same.err);
}

TEST_CASE("cli: a full disk during a run is exit 1, and the run can be resumed") {
  const Folder dir;
  const auto small_disk = [] {
    const rlimit limit{60000, 60000};  // bytes a file: metrics fit, model.safetensors does not
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const auto full = dir.run(tiny_run(), small_disk);
  CHECK(full.code == static_cast<int>(Exit::runtime));
  CHECK_MESSAGE(full.err.find("untouched") != std::string::npos, full.err);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path / "runs")) {
    CHECK_MESSAGE(entry.path().filename().string().find("tmp") == std::string::npos,
                  entry.path().string());
  }
  const auto resumed = dir.run(tiny_run({"--resume"}));
  CHECK_MESSAGE(resumed.code == 0, resumed.err);
}

TEST_CASE("cli: a disk that is really full is exit 1 and says so") {
  const Folder dir;
  std::filesystem::create_directories(dir.path / "runs");
  constexpr int kNoNamespace = 97;
  const auto r = dir.run(tiny_run(), [] {
    // A file system of 192 KiB that only this process sees.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", "runs", "tmpfs", 0, "size=192k") != 0) {
      _exit(kNoNamespace);
    }
  });
  if (r.code == kNoNamespace) {
    MESSAGE("[SKIP] this user may not mount a small file system");
    return;
  }
  CHECK_MESSAGE(r.code == static_cast<int>(Exit::runtime), r.err);
  CHECK_MESSAGE(r.err.find("No space left on device") != std::string::npos, r.err);
  CHECK_MESSAGE(r.err.find("free some space") != std::string::npos, r.err);
}

TEST_CASE("cli: numbers that are not finite stop the run with exit 4") {
  const Folder dir;
  // Decoupled decay of 10 at learning rate 1 multiplies every weight by -9 an update.
  const auto r =
      dir.run(tiny_run({"--set", "pretrain.steps=100", "--set", "pretrain.lr=1", "--set",
                        "pretrain.lr_final_fraction=1", "--set", "pretrain.weight_decay=10"}));
  CHECK_MESSAGE(r.code == static_cast<int>(Exit::invariant), r.err);
  CHECK_MESSAGE(r.err.find("finite") != std::string::npos, r.err);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("cli: too little memory is exit 5, with advice") {
  const Folder dir;
  const auto little_memory = [] {
    const rlimit limit{rlim_t{1} << 29, rlim_t{1} << 29};
    setrlimit(RLIMIT_AS, &limit);
  };
  const auto r =
      dir.run(tiny_run({"--set", "model.hidden_size=4096", "--set", "model.ffn_size=16384"}),
              little_memory);
  CHECK_MESSAGE(r.code == static_cast<int>(Exit::out_of_memory), r.err);
  CHECK_MESSAGE(r.err.find("hint: lower") != std::string::npos, r.err);
}
#endif

}  // namespace minirl

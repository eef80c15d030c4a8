// --device and doctor: the CPU with a sentence why, an error with the same sentence, and a whole run on the emulated device.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "cli/run_binary.h"

using namespace minirl;
using namespace minirl::cli_test;

namespace {

Result run_with_plugin(const Folder& folder, const std::string& plugin,
                       const std::vector<std::string>& arguments) {
  return folder.run(arguments, [&] { setenv("MINIRL_CUDA_PLUGIN", plugin.c_str(), 1); });
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A run whose updates are not zero: completions of different lengths earn different rewards.
std::vector<std::string> small_run(const std::vector<std::string>& more) {
  std::vector<std::string> args = {"train", "qwen3.toml"};
  for (const char* s :
       {"model.hidden_size=16", "model.num_layers=1", "model.num_heads=2", "model.num_kv_heads=1",
        "model.head_dim=8", "model.ffn_size=24", "model.initializer_range=0.5", "pretrain.steps=2",
        "pretrain.batch_sequences=2", "pretrain.warmup_steps=1", "rollout.prompts_per_step=2",
        "rollout.group_size=4", "rollout.max_new_tokens=60", "reward.truncated_reward=soft",
        "reward.soft_buffer_tokens=59", "train.steps=2", "eval.prompts=2", "eval.samples=1",
        "audit.trail=all"}) {
    args.insert(args.end(), {"--set", s});
  }
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace

TEST_CASE("cli/device: without a plugin auto computes on the CPU and says why, cuda is an error") {
  const Folder folder;
  const std::string why = "there is no CUDA plugin at /nowhere/libminirl_cuda.so";
  const Result automatic = run_with_plugin(folder, "/nowhere/libminirl_cuda.so", small_run({}));
  CHECK(automatic.code == 0);
  CHECK(says(automatic.err, "minirl: device cpu: " + why + "\n"));
  const Result wanted = run_with_plugin(folder, "/nowhere/libminirl_cuda.so",
                                        small_run({"--device", "cuda", "--run-name", "other"}));
  CHECK(wanted.code == 2);
  CHECK(says(wanted.err, why));
  CHECK(says(wanted.err, "minirl doctor"));
  CHECK_FALSE(folder.has("runs/other"));
  const Result cpu = run_with_plugin(folder, "/nowhere/libminirl_cuda.so",
                                     {"sample", "runs/qwen3", "--device", "cpu", "-n", "1"});
  CHECK(cpu.code == 0);
  CHECK_FALSE(says(cpu.err, "device"));
  CHECK(folder.run({"train", "qwen3.toml", "--device", "gpu"}).code == 2);
}

TEST_CASE("cli/device: a file that is no plugin, and a plugin of another build, are reasons") {
  const Folder folder;
  folder.write("text.so", "not a library");
  const std::string path = (folder.path / "text.so").string();
  const Result r = run_with_plugin(folder, path, small_run({"--device", "cuda"}));
  CHECK(r.code == 2);
  CHECK(says(r.err, "the CUDA plugin cannot be loaded: "));
  // A library without the functions of a plugin.
  Dl_info c_library{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "setenv"), &c_library) != 0);
  const Result other = run_with_plugin(folder, c_library.dli_fname, small_run({"--device", "cuda"}));
  CHECK(other.code == 2);
  CHECK(says(other.err, "is not the plugin of this build"));
}

TEST_CASE("cli/device: doctor tells what it sees, for people and for programs") {
  const Folder folder;
  const Result text = run_with_plugin(folder, "/nowhere/libminirl_cuda.so", {"doctor"});
  CHECK(text.code == 0);
  for (const char* part : {"kernels use", "threads", "memory available", "CUDA plugin",
                           "--device auto        cpu", "there is no CUDA plugin at /nowhere"}) {
    CHECK_MESSAGE(says(text.out, part), part);
  }
  const Result json = run_with_plugin(folder, "/nowhere/libminirl_cuda.so", {"doctor", "--json"});
  CHECK(json.code == 0);
  const auto document = nlohmann::json::parse(json.out);
  CHECK(document.back().at("what") == "--device auto");
  CHECK(document.back().at("value") == "cpu");
}

#if defined(MINIRL_EMULATED_PLUGIN)  // not in sanitizer builds: the emulator brings its own

TEST_CASE("cli/device: a whole run on the emulated device has the bits of the CPU, and each resumes the other") {
  const Folder folder;
  const std::string plugin = MINIRL_EMULATED_PLUGIN;
  const Result cpu = run_with_plugin(folder, plugin, small_run({"--device", "cpu", "--run-name", "cpu"}));
  const Result device = run_with_plugin(folder, plugin, small_run({"--device", "cuda", "--run-name", "device"}));
  REQUIRE(cpu.code == 0);
  REQUIRE(device.code == 0);
  CHECK(says(device.err, "minirl: device cuda: emulated device"));
  CHECK(says(device.err, "minirl: device memory: weights "));
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string name = std::string("/checkpoints/step-000002/") + file;
    CHECK(folder.read("runs/cpu" + name) == folder.read("runs/device" + name));
  }
  // Every step was made of the same: examples, tokens, log-probabilities, rewards, gradients, weights.
  CHECK(folder.read("runs/cpu/ledger.jsonl") == folder.read("runs/device/ledger.jsonl"));
  CHECK(says(folder.read("runs/cpu/ledger.jsonl"), "\"phase\":\"train\",\"step\":2"));
}

TEST_CASE("cli/device: a run goes on on another device with the same bits") {
  const Folder folder;
  const auto run = [&](const std::string& name, const std::string& device,
                       const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"--device", device, "--run-name", name, "--set", "checkpoint.every=1"};
    all.insert(all.end(), more.begin(), more.end());
    return run_with_plugin(folder, MINIRL_EMULATED_PLUGIN, small_run(all)).code;
  };
  REQUIRE(run("whole", "cpu") == 0);
  for (const auto& [first, second] : {std::pair{"cpu", "cuda"}, {"cuda", "cpu"}}) {
    const std::string name = first;
    REQUIRE(run(name, first) == 0);
    const auto last = folder.path / "runs" / name / "checkpoints" / "step-000002";
    REQUIRE(std::filesystem::remove_all(last) > 0);
    CHECK(run(name, second, {"--resume"}) == 0);
    CHECK(read_file(last / "model.safetensors") == folder.read("runs/whole/checkpoints/step-000002/model.safetensors"));
    CHECK(folder.read("runs/" + name + "/ledger.jsonl") == folder.read("runs/whole/ledger.jsonl"));
  }
}

#endif

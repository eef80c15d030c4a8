// init, inspect, convert and training from a directory, as a user would; the recipes' plans.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "cli/embedded.h"
#include "cli/run_binary.h"
#include "core/error.h"
#include "data/task.h"

namespace minirl {
namespace {

using cli_test::Folder;
using Json = nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// One step of training from a checkpoint in the folder "model", small enough for a second.
std::vector<std::string> one_step(std::vector<std::string> more = {}) {
  std::vector<std::string> args = {"train", "qwen3.toml"};
  for (const char* s :
       {"model.checkpoint=model", "pretrain.steps=0", "pretrain.warmup_steps=0",
        "rollout.prompts_per_step=2", "rollout.group_size=2", "train.steps=2",
        "train.updates_per_rollout=1", "eval.prompts=2", "eval.samples=1", "runtime.threads=2"}) {
    args.emplace_back("--set");
    args.emplace_back(s);
  }
  for (auto& m : more) {
    args.emplace_back("--set");
    args.push_back(std::move(m));
  }
  return args;
}

std::string last_weights(const Folder& dir, const std::string& run) {
  return Json::parse(dir.read("runs/" + run + "/checkpoints/step-000002/progress.json"))
      .at("weights_hash");
}

void make_model(const Folder& dir, const std::string& dtype = "f32") {
  const auto r = dir.run({"init", "--preset", "qwen3-tiny", "--out", "model", "--dtype", dtype});
  REQUIRE_MESSAGE(r.code == 0, r.err);
}

}  // namespace

TEST_CASE("cli: init writes a whole directory that inspect counts and convert carries over") {
  const Folder dir;
  make_model(dir);
  for (const char* file : {"config.json", "generation_config.json", "model.safetensors",
                           "tokenizer.json", "tokenizer_config.json"}) {
    CHECK_MESSAGE(dir.has(std::string("model/") + file), file);
  }
  const auto inspected = dir.run({"inspect", "model", "--json"});
  REQUIRE_MESSAGE(inspected.code == 0, inspected.err);
  const Json doc = Json::parse(inspected.out);
  CHECK(doc.at("config").at("family") == "qwen3");
  CHECK(doc.at("config").at("eos_token_ids") == Json::array({256}));
  CHECK(doc.at("tensors") == 24);
  CHECK(doc.at("not_finite") == 0);
  Index parameters = 0;
  for (const Json& t : doc.at("list")) {
    parameters += t.at("parameters").get<Index>();
    if (t.at("name") == "model.norm.weight") {
      CHECK(t.at("mean") == 1.0);
      CHECK(t.at("deviation") == 0.0);
    }
    if (t.at("name") == "model.embed_tokens.weight") {
      CHECK(t.at("shape") == Json::array({320, 64}));
      CHECK(t.at("deviation").get<double>() == doctest::Approx(0.02).epsilon(0.05));
      CHECK(std::abs(t.at("mean").get<double>()) < 0.001);
    }
  }
  CHECK(doc.at("parameters") == parameters);
  CHECK(doc.at("parameters_without_tables") == parameters - 320 * 64);
  CHECK(contains(dir.run({"inspect", "model"}).out, "model.layers.1.mlp.down_proj.weight"));

  const auto converted = dir.run(
      {"convert", "model", "small", "--dtype", "bf16", "--max-shard-size", "100KB"});
  REQUIRE_MESSAGE(converted.code == 0, converted.err);
  CHECK(dir.has("small/model.safetensors.index.json"));
  CHECK(dir.read("small/tokenizer.json") == dir.read("model/tokenizer.json"));
  CHECK(Json::parse(dir.run({"inspect", "small", "--json", "--shapes-only"}).out)
            .at("list")[0]
            .at("dtype") == "BF16");
  REQUIRE(dir.run({"convert", "small", "back", "--dtype", "f32"}).code == 0);
  REQUIRE(dir.run({"convert", "back", "again", "--dtype", "bf16"}).code == 0);
  REQUIRE(dir.run({"convert", "small", "one"}).code == 0);
  CHECK(dir.read("again/model.safetensors") == dir.read("one/model.safetensors"));

  const auto twice = dir.run({"init", "--preset", "qwen3-tiny", "--out", "model"});
  CHECK(twice.code == 2);
  CHECK(contains(twice.err, "'model' exists already"));
  CHECK(dir.run({"init", "--preset", "qwen3-huge", "--out", "x"}).code == 2);
  CHECK(dir.run({"init", "--preset", "qwen3-tiny", "--out", "x", "--vocab-size", "100"}).code == 2);
  CHECK(dir.run({"convert", "model", "x", "--max-shard-size", "lots"}).code == 2);
  CHECK_FALSE(dir.has("x"));
}

TEST_CASE("cli: seeds of init decide, the same one gives the same bytes") {
  const Folder dir;
  for (const auto& [out, seed] : {std::pair{"a", "7"}, {"b", "7"}, {"c", "8"}}) {
    REQUIRE(dir.run({"init", "--preset", "qwen3-tiny", "--out", out, "--seed", seed, "--dtype",
                     "bf16"})
                .code == 0);
  }
  CHECK(dir.read("a/model.safetensors") == dir.read("b/model.safetensors"));
  CHECK(dir.read("a/model.safetensors") != dir.read("c/model.safetensors"));
}

TEST_CASE("cli: inspect shows a broken checkpoint and says why it cannot be loaded") {
  const Folder dir;
  make_model(dir);
  Json config = Json::parse(dir.read("model/config.json"));
  config["num_hidden_layers"] = 3;
  dir.write("model/config.json", config.dump());
  const auto r = dir.run({"inspect", "model"});
  CHECK(r.code == 2);
  CHECK(contains(r.out, "minirl cannot load it"));
  CHECK(contains(r.out, "model.layers.2.self_attn.q_proj.weight"));
}

TEST_CASE("cli: training starts from a directory; memory settings change no bit, storage does") {
  const Folder dir;
  make_model(dir);
  const auto run = [&](const std::string& name, std::vector<std::string> sets) {
    sets.push_back("run.name=" + name);
    const auto r = dir.run(one_step(sets));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return last_weights(dir, name);
  };
  const std::string plain = run("plain", {});
  CHECK(run("less", {"train.recompute_layers=true", "runtime.packed_weights=each-use",
                     "train.tokens_per_micro=80"}) == plain);
  const std::string narrow = run("narrow", {"train.weights_dtype=bf16", "train.optimizer_dtype=bf16"});
  CHECK(narrow != plain);
  CHECK(run("again", {"train.weights_dtype=bf16", "train.optimizer_dtype=bf16",
                      "runtime.threads=1"}) == narrow);
  // Stopped after one step and resumed: the same bits, with 16-bit weights and moments on disk.
  const std::vector<std::string> constant = {"train.weights_dtype=bf16", "train.optimizer_dtype=bf16",
                                             "train.lr_schedule=constant", "checkpoint.every=1"};
  const std::string whole = run("whole", constant);
  auto half = constant;
  half.push_back("run.name=half");
  half.push_back("train.steps=1");
  REQUIRE(dir.run(one_step(half)).code == 0);
  half.back() = "train.steps=2";
  auto args = one_step(half);
  args.push_back("--resume");
  const auto resumed = dir.run(args);
  REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
  CHECK(last_weights(dir, "half") == whole);
  // What was trained is a directory like any other.
  const Json doc = Json::parse(
      dir.run({"inspect", "runs/half/checkpoints/step-000002", "--json"}).out);
  CHECK(doc.at("config").at("family") == "qwen3");
  CHECK(doc.at("config").at("vocab_size") == 320);  // padded rows are kept
}

TEST_CASE("cli: a key of [model] that contradicts the checkpoint is a warning with both values") {
  const Folder dir;
  make_model(dir);
  const auto r = dir.run(one_step({"model.rope_theta=1000.0"}));
  CHECK(r.code == 0);
  CHECK_MESSAGE(contains(r.err, "model.rope_theta = 1000.0, but checkpoint model has 1000000.0"), r.err);
  const auto plan = dir.run({"plan", "qwen3", "--json", "--set", "model.checkpoint=model"});
  CHECK(Json::parse(plan.out).at("model").at("vocab_size") == 320);
}

TEST_CASE("cli: a LoRA adapter is refused by name") {
  const Folder dir;
  std::filesystem::create_directory(dir.path / "model");
  dir.write("model/adapter_config.json", R"({"r": 8, "lora_alpha": 32})");
  const auto r = dir.run(one_step());
  CHECK(r.code == 2);
  CHECK_MESSAGE(contains(r.err, "LoRA adapter"), r.err);
  CHECK(contains(dir.run({"inspect", "model"}).err, "lora_alpha 32"));
  CHECK(contains(dir.run({"convert", "model", "x"}).err, "LoRA adapter"));
}

TEST_CASE("cli: a run that will not fit is refused before it starts, with advice") {
  const Folder dir;
  const auto small = [] {
    const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
    setrlimit(RLIMIT_AS, &limit);
  };
  const std::vector<std::string> large = {
      "train", "qwen3.toml", "--set", "model.hidden_size=4096", "--set", "model.ffn_size=16384",
      "--set", "model.num_layers=8"};
  const auto r = dir.run(large, small);
  CHECK(r.code == static_cast<int>(Exit::out_of_memory));
  CHECK_MESSAGE(contains(r.err, "it was not started"), r.err);
  CHECK(contains(r.err, "train.optimizer_dtype"));
  CHECK_FALSE(dir.has("runs"));
}

TEST_CASE("cli: the recipes say what their sources say") {
  struct Recipe {
    const char* name;
    Index parameters;
    const char* algorithm;
    Index updates, horizon;
    bool boundary;
  };
  const Recipe recipes[] = {
      {"qwen3-0.6b-gsm8k", 596049920, "drpo", 4, 1024, true},
      {"qwen3-4b-base-drpo-dapo", 4022468096, "drpo", 4, 8192, false},
      {"qwen3-4b-base-drpo-dapo-delta-0.2", 4022468096, "drpo", 4, 8192, true},
      {"r1-distill-qwen-1.5b-dppo-sanity", 1777088000, "dppo", 4, 6976, true},
      {"qwen3-1.7b-relaxed-clip", 1720574976, "relaxed_clip", 4, 8192, true},
  };
  if (!data::Tasks::contains("jsonl")) {
    MESSAGE("skipped: this build has no task that reads files");
    return;
  }
  const Folder dir;
  for (const Recipe& recipe : recipes) {
    CAPTURE(recipe.name);
    const auto r = dir.run({"plan", recipe.name, "--json"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    const Json plan = Json::parse(r.out);
    CHECK(plan.at("model").at("parameters") == recipe.parameters);
    CHECK(plan.at("algorithm").at("name").get<std::string>().rfind(recipe.algorithm, 0) == 0);
    CHECK(plan.at("step").at("updates") == recipe.updates);
    CHECK(plan.at("algorithm").at("boundary_reachable") == recipe.boundary);
    CHECK(contains(plan.at("learning_rate").get<std::string>(), "1e-06, constant"));
    CHECK(contains(plan.at("algorithm").at("aggregation").get<std::string>(),
                   std::to_string(recipe.horizon)));
    if (recipe.horizon != 1024) {
      CHECK(plan.at("step").at("prompts") == 64);
      CHECK(plan.at("step").at("completions") == 512);
    }
    CHECK(plan.at("memory_bytes").at("total").get<Index>() > recipe.parameters * 16);
  }
}

}  // namespace minirl

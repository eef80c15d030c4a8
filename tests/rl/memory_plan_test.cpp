// The plan of memory against what the arena counts, and what is said when it does not fit.
#include "rl/memory_plan.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "core/arena.h"
#include "model/family.h"
#include "model/model_presets.h"
#include "rl/micro_batch.h"
#include "rl/optimizer.h"
#include "rl/plan.h"

namespace minirl::rl {
namespace {

LoadedConfig load(const std::vector<std::string>& sets) {
  std::vector<ConfigSource> sources = {
      ConfigSource::text("t.toml", "[algorithm]\nname = \"drpo\"\ndelta = 0.2\n")};
  for (const auto& s : sets) {
    sources.push_back(ConfigSource::set(s));
  }
  return load_config(sources);
}

MemoryPlan plan_of(const std::vector<std::string>& sets) { return make_plan(load(sets)).memory; }

double ratio(Index a, Index b) { return static_cast<double>(a) / static_cast<double>(b); }

/// Large enough that rounding of sizes does not matter, small enough to run.
ModelConfig medium(const std::string& family) {
  ModelConfig c;
  c.family = family;
  c.vocab_size = 2048;  // every matrix below a huge page, to which large ones are rounded up
  c.hidden_size = 192;
  c.num_layers = 6;
  c.num_heads = 6;
  c.num_kv_heads = 3;
  c.head_dim = 64;
  c.ffn_size = 512;
  c.max_positions = 4096;
  return c;
}

}  // namespace

TEST_CASE("rl/memory_plan: activations are what the tape keeps, with and without recomputation") {
  for (const std::string family : {"qwen3", "qwen2"}) {
    for (const bool recompute : {false, true}) {
      CAPTURE(family);
      CAPTURE(recompute);
      MemoryShape shape{medium(family), 40, 2};
      Config config;
      config.rollout.prompts_per_step = 4;
      config.rollout.group_size = 2;
      config.rollout.max_new_tokens = 40;
      config.train.updates_per_rollout = 1;
      config.pretrain.steps = 0;
      config.train.recompute_layers = recompute;
      const Index planned = plan_memory(config, shape).activations;

      Arena arena;  // outlives the model, whose packed weights lie in it
      const Exec exec{.threads = 2, .arena = &arena};
      const auto model = make_decoder(shape.model, DType::f32, 1);
      model->set_recompute_layers(recompute);
      const std::vector<Token> prompt(40, 5), completion(40, 7);
      const std::vector<ScoredSequence> sequences(8, {prompt, completion});
      accumulate_gradients(*model, exec, sequences, {1.0, 1 << 20, true, 0},
                           [](std::size_t, const SequenceScores&, const SequenceSeeds& seeds) {
                             std::fill(seeds.dlogp.begin(), seeds.dlogp.end(), 1.0F);
                           });
      // The arena also holds the packed weights and the logits of the 8 x 40 scored rows, which fit one
      // chunk; its size classes round up.
      const Index packed = plan_memory(config, shape).packed;
      const auto peak = static_cast<Index>(arena.stats().peak_bytes) - packed - 8 * 40 * shape.model.vocab_size * 4;
      CAPTURE(planned);
      CAPTURE(peak);
      CHECK(ratio(planned, peak) > 0.8);
      CHECK(ratio(planned, peak) < 1.2);
    }
  }
}

TEST_CASE("rl/memory_plan: weights, gradients and moments are those of a model and its optimizer") {
  for (const char* name : {"qwen3", "qwen2", "llama"}) {
    for (const bool tied : {true, false}) {
      Config config;
      MemoryShape shape{medium(name), 10, 1};
      shape.model.tie_word_embeddings = tied;
      for (const char* dtype : {"f32", "bf16"}) {
        config.train.weights_dtype = config.train.optimizer_dtype = dtype;
        const bool narrow = std::string(dtype) == "bf16";
        const auto model = make_decoder(shape.model, DType::f32, 1);
        model->params().store_matrices_as(narrow ? DType::bf16 : DType::f32);
        AdamWOptions options;
        options.state = narrow ? DType::bf16 : DType::f32;
        Optimizer optimizer(model->params(), options);
        Index weights = 0, moments = 0, packed = 0;
        for (Param& p : model->params().all()) {
          weights += p.value.bytes();
          if (p.value.shape().rank == 2 && (tied || p.name != "model.embed_tokens.weight")) {
            packed += p.packed_forward({}).bytes();
          }
        }
        for (const auto& [key, tensor] : optimizer.state()) {
          moments += tensor.bytes();
        }
        const MemoryPlan plan = plan_memory(config, shape);
        CHECK(ratio(plan.weights, weights) == doctest::Approx(1).epsilon(0.06));
        CHECK(ratio(plan.moments, moments) == doctest::Approx(1).epsilon(0.06));
        CHECK(ratio(plan.packed, packed) == doctest::Approx(1).epsilon(0.06));
        CHECK((plan.widened > 0) == narrow);
        const Index table = shape.model.vocab_size * shape.model.hidden_size;
        CHECK(ratio(plan.gradients, 4 * (model->params().numel() + (tied ? table : 0))) ==
              doctest::Approx(1).epsilon(0.06));
      }
    }
  }
}

TEST_CASE("rl/memory_plan: full fine-tuning of 0.6b in fp32 with short sequences fits 14 GiB") {
  const std::vector<std::string> base = {
      "model.preset=qwen3-0.6b", "pretrain.steps=0", "pretrain.warmup_steps=0",
      "rollout.prompts_per_step=2", "rollout.group_size=2", "train.updates_per_rollout=1",
      "eval.prompts=1", "eval.samples=1"};
  const MemoryPlan p = plan_of(base);
  CHECK(p.total() < Index{14} << 30);
  CHECK(p.total() > Index{11} << 30);
  const auto with = [&](const std::string& set) {
    std::vector<std::string> sets = base;
    sets.push_back(set);
    return plan_of(sets).total();
  };
  CHECK(with("train.optimizer_dtype=bf16") < p.total() - (Index{2} << 30));
  CHECK(with("train.weights_dtype=bf16") < p.total());
  CHECK(with("runtime.packed_weights=each-use") < p.total() - (Index{1} << 30));
}

TEST_CASE("rl/memory_plan: what does not fit is refused with figures and what to lower") {
  const LoadedConfig loaded = load({"model.preset=qwen3-4b", "pretrain.steps=0", "pretrain.warmup_steps=0"});
  const Plan plan = make_plan(loaded);
  CHECK(plan.memory.total() > Index{60} << 30);
  try {
    require_memory(loaded.config, plan.memory_shape, Index{24} << 30);
    FAIL("accepted");
  } catch (const Error& e) {
    CHECK(e.code() == Exit::out_of_memory);
    const std::string message = e.what();
    CAPTURE(message);
    for (const char* part : {"24.00 GiB are available", "it was not started", "hint: lower the peak with",
                             "train.optimizer_dtype = \"bf16\"", "runtime.memory_check"}) {
      CHECK_MESSAGE(message.find(part) != std::string::npos, part);
    }
  }
  require_memory(loaded.config, plan.memory_shape, Index{1} << 40);
  require_memory(loaded.config, plan.memory_shape, 0);  // unknown
  CHECK(available_memory() > Index{64} << 20);
  CHECK(plan_text(plan).find("less memory") != std::string::npos);
}

TEST_CASE("rl/model_shape: a preset gives what nobody wrote, written keys win") {
  const LoadedConfig c = load({"model.preset=qwen3-0.6b", "model.num_layers=2", "pretrain.steps=0", "pretrain.warmup_steps=0"});
  CHECK(c.config.model.shape.hidden_size == 1024);
  CHECK(c.config.model.shape.num_layers == 2);
  CHECK(c.config.model.shape.vocab_size == 151936);
  CHECK(c.origin("model.hidden_size") == "preset qwen3-0.6b");
  CHECK(c.origin("model.num_layers") == "--set model.num_layers=2");
  const auto again = load_config({ConfigSource::text("resolved.toml", c.resolved_toml())});
  CHECK(again.hash() == c.hash());
  CHECK_THROWS_WITH_AS(load({"model.preset=qwen3-0.6"}), doctest::Contains("qwen3-0.6b"), Error);
}

}  // namespace minirl::rl

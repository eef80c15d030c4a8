#include "rl/memory_plan.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <unistd.h>

#include "autograd/ops.h"
#include "kernels/attention.h"
#include "kernels/matmul_block.h"
#include "model/family.h"
#include "model/sampler.h"

namespace minirl::rl {
namespace {

constexpr Index kFloat = 4;
constexpr Index kHugePage = Index{2} << 20;
// Code, libraries, tables, tokenizer and books of a run: measured.
constexpr Index kProgram = Index{14} << 20;
constexpr Index kLogitsChunk = Index{8} << 20;  // of ops::token_logp

Index ceil_to(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

/// What an allocation takes: core/arena.h gives large blocks whole huge pages.
Index resident(Index bytes) { return bytes >= kHugePage ? ceil_to(bytes, kHugePage) : ceil_to(bytes, 64); }

bool has_norms(const std::vector<WeightSpec>& specs) {
  return std::any_of(specs.begin(), specs.end(),
                     [](const WeightSpec& s) { return s.name.ends_with("q_norm.weight"); });
}

/// Floats per token that the tape keeps of one layer: what each op saves for its backward
/// (autograd/ops/), counted once where two ops share a tensor.
Index kept_per_layer(const ModelConfig& m, bool norms) {
  const Index streams = 4 * m.hidden_size;                // x, norm(x), the middle, norm(middle)
  const Index queries = (norms ? 3 : 2) * m.q_size();     // projected, normed and rotated, attended
  const Index keys = (norms ? 3 : 2) * m.kv_size();       // the same, and values
  const Index tiles = 2 * m.kv_size();                    // keys and values in tiles
  const Index feed = 3 * m.ffn_size;                      // gate, up, their product
  return streams + queries + keys + tiles + feed + 2 + 2 * m.num_heads + m.num_kv_heads;
}

/// Floats per token that live at once in a pass that is not recorded.
Index passing(const ModelConfig& m) {
  return 3 * m.hidden_size + std::max(3 * m.ffn_size, 3 * m.q_size() + 3 * m.kv_size());
}

}  // namespace

Index MemoryPlan::total() const {
  const Index turns = std::max(sampling(), activations);
  return weights + gradients + moments + packed + widened + copies + view + turns + program;
}

MemoryPlan plan_memory(const Config& c, const MemoryShape& shape) {
  const ModelConfig& m = shape.model;
  const std::vector<WeightSpec> specs = model_weights(m);
  const bool narrow_weights = c.train.weights_dtype == "bf16";
  const bool narrow_moments = c.train.optimizer_dtype == "bf16";
  const bool keep_packed = c.runtime.packed_weights == "keep";
  MemoryPlan out;
  Index largest = 0;
  for (const WeightSpec& spec : specs) {
    const Index n = spec.shape.numel();
    const bool matrix = spec.shape.rank == 2;
    const bool table = spec.name == "model.embed_tokens.weight";
    out.weights += resident(n * (matrix && narrow_weights ? 2 : kFloat));
    out.gradients += resident(n * kFloat) * (table && m.tie_word_embeddings ? 2 : 1);
    out.moments += 2 * resident(n * (narrow_moments ? 2 : kFloat));
    if (matrix && (!table || m.tie_word_embeddings)) {
      const Index packed =
          resident(ceil_to(spec.shape[0], kernels::kPanel) * spec.shape[1] * kFloat);
      largest = std::max(largest, packed);
      out.packed += keep_packed ? packed : 0;
    }
  }
  out.widened = (narrow_weights ? largest : 0) + (keep_packed ? 0 : largest);

  // The reference policy of a KL penalty is a second model; averaged, stale and rounded rollout weights
  // are copies of the live ones, of which one is packed.
  Index models = c.algorithm.kl_coef > 0 ? 1 : 0;
  Index states = c.mismatch.staleness;
  states += c.rollout.ema_decay > 0 ? 1 : 0;
  models += states > 0 || c.mismatch.weights != "exact" ? 1 : 0;
  Index plain = 0;
  for (const WeightSpec& spec : specs) {
    plain += resident(spec.shape.numel() * kFloat);
  }
  out.copies = models * (plain + (keep_packed ? out.packed : 0)) + states * plain;
  for (const WeightSpec& spec : specs) {
    out.view += spec.shape.numel() * 2;
  }

  const Index tile = kernels::kKeyTile;
  const Index longest = shape.prompt_tokens + c.rollout.max_new_tokens;
  const auto tiles = [&](Index tokens) { return ceil_to(tokens, tile) / tile; };
  const Index evaluated = c.eval.prompts * c.eval.samples;
  const Index slots = std::min(c.rollout.max_batch, std::max(c.completions_per_step(), evaluated));
  const Index prompts =
      std::min(std::max(c.rollout.prompts_per_step, c.eval.prompts), slots) + 1;
  out.kv_cache = (slots * tiles(longest) + prompts * tiles(shape.prompt_tokens)) * tile *
                 m.num_layers * 2 * m.kv_size() * kFloat;
  const Index group = std::max<Index>(1, std::min(c.rollout.group_size, c.eval.samples));
  const Index starting = std::min(prompts, (slots + group - 1) / group);
  out.prefill = std::max(slots, starting * shape.prompt_tokens) * passing(m) * kFloat;

  const Index completions =
      std::max(c.completions_per_step() / std::max<Index>(1, c.train.updates_per_rollout),
               c.pretrain.steps > 0 ? c.pretrain.batch_sequences : 0);
  const Index tokens = std::min(c.train.tokens_per_micro, completions * longest);
  const Index layer = kept_per_layer(m, has_norms(specs));
  const Index top = 4 * m.hidden_size;  // rows that are scored, normed, and their gradients
  // Backward frees what it has used as it goes: gradients take the place of activations.
  const Index kept = c.train.recompute_layers
                         ? m.num_layers * m.hidden_size + std::max(layer + m.hidden_size, top)
                         : m.num_layers * layer + m.hidden_size + top;
  out.activations = tokens * kept * kFloat;

  // Rows of logits that exist at once, as ops::token_logp cuts them.
  const Index row = m.vocab_size * kFloat;
  const Index chunk = std::min(std::max(tokens, slots), std::max(ops::kLeastLogitRows, kLogitsChunk / row)) * row;
  // The panels of x or W that a backward product packs.
  const Index widest = std::max({m.hidden_size, m.ffn_size, m.q_size()});
  const Index slab = (widest + kernels::kPanel) * kernels::kSlabDepth * kFloat;
  out.program = kProgram + chunk + slab + shape.threads * kernels::kScratchFloats * kFloat;
  return out;
}

std::vector<std::string> memory_advice(const Config& config, const MemoryShape& shape) {
  const Index now = plan_memory(config, shape).total();
  std::vector<std::pair<Index, std::string>> found;
  const auto consider = [&](const std::string& setting, const std::function<void(Config&)>& change) {
    Config other = config;
    change(other);
    const Index then = plan_memory(other, shape).total();
    if (then <= now - now / 20) {
      found.emplace_back(then, fmt::format("{}: {}", setting, binary_bytes(then)));
    }
  };
  const Index longest = shape.prompt_tokens + config.rollout.max_new_tokens;
  const Index tokens = std::max(longest, config.train.tokens_per_micro / 4);
  const Index batch = std::max<Index>(1, config.rollout.max_batch / 4);
  consider("train.recompute_layers = true", [](Config& c) { c.train.recompute_layers = true; });
  consider(fmt::format("train.tokens_per_micro = {}", tokens),
           [&](Config& c) { c.train.tokens_per_micro = tokens; });
  consider(fmt::format("rollout.max_batch = {}", batch),
           [&](Config& c) { c.rollout.max_batch = batch; });
  consider("train.optimizer_dtype = \"bf16\"",
           [](Config& c) { c.train.optimizer_dtype = "bf16"; });
  consider("train.weights_dtype = \"bf16\"", [](Config& c) { c.train.weights_dtype = "bf16"; });
  consider("runtime.packed_weights = \"each-use\"",
           [](Config& c) { c.runtime.packed_weights = "each-use"; });
  consider("all of these", [&](Config& c) {
    c.train.recompute_layers = true;
    c.train.tokens_per_micro = tokens;
    c.rollout.max_batch = batch;
    c.train.optimizer_dtype = c.train.weights_dtype = "bf16";
    c.runtime.packed_weights = "each-use";
  });
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [bytes, text] : found) {
    out.push_back(std::move(text));
  }
  return out;
}

Index available_memory() {
  Index available = 0;
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lld kB", &kib) == 1) {
      available = kib * 1024;
    }
  }
  // A control group that limits this machine's part of a larger one ("max": it does not).
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  long long limit = 0, used = 0;
  if (limit_file >> limit && used_file >> used && limit > 0) {
    const Index left = std::max(0LL, limit - used);
    available = available == 0 ? left : std::min<Index>(available, left);
  }
  // `ulimit -v`: addresses, of which the process has some already.
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    long long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const Index left =
        std::max<Index>(0, static_cast<Index>(addresses.rlim_cur) - pages * ::sysconf(_SC_PAGESIZE));
    available = available == 0 ? left : std::min(available, left);
  }
  return available;
}

void require_memory(const Config& config, const MemoryShape& shape, Index available) {
  const Index needed = plan_memory(config, shape).total();
  if (available <= 0 || needed <= available) {
    return;
  }
  std::string hint;
  for (const std::string& advice : memory_advice(config, shape)) {
    hint += (hint.empty() ? "lower the peak with " : "; ") + advice;
  }
  fail(Exit::out_of_memory,
       fmt::format("this run needs about {}, {} are available: it was not started",
                   binary_bytes(needed), binary_bytes(available)),
       hint + (hint.empty() ? "choose a smaller model" : "") +
           ". `minirl plan` shows where it goes; runtime.memory_check = \"warn\" starts all the same");
}

std::string binary_bytes(Index bytes) {
  const auto n = static_cast<double>(bytes);
  return bytes >= Index{1} << 30 ? fmt::format("{:.2f} GiB", n / 1073741824.0)
                                 : fmt::format("{:.1f} MiB", n / 1048576.0);
}

}  // namespace minirl::rl

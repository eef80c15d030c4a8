#include "model/sampler.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "core/parallel.h"

namespace minirl {
namespace {

// Weights that every core keeps near: threads then take whole sequences each, because meeting after every op of a
// small model costs more than it saves. Larger weights are read once for all sequences, op by op.
constexpr Index kNearWeights = Index{16} << 20;  // bytes
constexpr Index kLeastSequences = 4;             // of a thread

// A completion that is being decoded. Its next input token is the last prompt token at first (the prefix
// without it is shared), then the token drawn last.
struct Running {
  std::size_t request, sample;
  KvCache::Sequence kv;
  Token next;
};

class Generation {
 public:
  static Index cache_bytes(const Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options) {
    return tiles_needed(requests, options) * kernels::kKeyTile * model.config().num_layers * 2 * model.config().kv_size() * size_of(model.dtype());
  }
  Generation(Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options, const Exec& exec)
      : model_(model), requests_(requests), options_(options), exec_(exec), tape_(false, exec),
        cache_(model.config(), tiles_needed(requests, options), model.dtype(), exec) {
    for (const SampleRequest& r : requests) { results_.emplace_back(r.keys.size()); }
  }

  // Fills free slots in request order. Prompts that start now are prefilled together.
  void admit() {
    struct Started {
      std::size_t request;
      KvCache::Sequence prefix;
    };
    std::vector<Started> started;
    std::vector<Running> fresh;
    while (static_cast<Index>(running_.size() + fresh.size()) < options_.max_batch && request_ < requests_.size()) {
      const SampleRequest& r = requests_[request_];
      if (sample_ == r.keys.size()) {
        finish_prompt();
        continue;
      }
      if (sample_ == 0) { started.push_back({request_, {}}); }
      fresh.push_back({request_, sample_++, {}, r.prompt.back()});
    }
    prefill(started);
    // Prefixes that wait for more free slots live on in prefix_; forks share their full tiles.
    std::size_t next = 0;
    for (Running& f : fresh) {
      while (next < started.size() && started[next].request <= f.request) {
        retire_prefix();
        prefix_ = std::move(started[next].prefix);
        prefix_alive_ = true;
        ++next;
      }
      f.kv = cache_.fork(prefix_);
      running_.push_back(std::move(f));
    }
    if (request_ < requests_.size() && sample_ == requests_[request_].keys.size()) { finish_prompt(); }
    if (sample_ == 0) { retire_prefix(); }
  }

  // One decode step of everything that runs.
  void step() {
    const auto count = running_.size();
    auto plan = std::make_shared<ops::RunPlan>();
    Ragged batch{Tensor::empty({static_cast<Index>(count)}, DType::i32, exec_), Tensor::empty({static_cast<Index>(count)}, DType::i32, exec_), nullptr, {}};
    Tensor rows = Tensor::empty({static_cast<Index>(count)}, DType::i32, exec_);
    keys_.clear();
    draws_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Running& r = running_[i];
      const Index position = r.kv.length;
      cache_.extend(r.kv, position + 1);
      plan->runs.push_back({static_cast<Index>(i), 1, position, r.kv.tiles.data()});
      batch.ids.data<std::int32_t>()[i] = r.next;
      batch.positions.data<std::int32_t>()[i] = static_cast<std::int32_t>(position);
      rows.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
      keys_.push_back(requests_[r.request].keys[r.sample]);
      draws_.push_back(static_cast<std::uint32_t>(results_[r.request][r.sample].ids.size()));
    }
    batch.plan = std::move(plan);
    const Pass pass{tape_, &cache_};
    const Var h = model_.head_input(pass, model_.hidden(pass, batch), rows);
    const ops::SampledTokens drawn =
        ops::sample_tokens(exec_, h.value, model_.head(), keys_, draws_, {options_.temperature, options_.vocabulary, options_.greedy, false,
                                                                                  options_.topk, options_.logit_noise, options_.record_temperature, options_.top_k, options_.top_p});
    take(drawn);
    ++stats_.decode_steps;
    stats_.new_tokens += static_cast<Index>(count);
  }

  bool idle() const { return running_.empty() && request_ >= requests_.size(); }
  bool empty() const { return running_.empty(); }
  const SampleStats& stats() const { return stats_; }
  std::vector<std::vector<Completion>> results() { return std::move(results_); }

 private:
  // Every slot at its longest, and the prefixes of the prompts that can be alive at once.
  static Index tiles_needed(std::span<const SampleRequest> requests, const SamplerOptions& options) {
    Index longest = 1;
    for (const SampleRequest& r : requests) {
      MINIRL_CHECK(!r.prompt.empty(), "a prompt needs at least one token");
      longest = std::max(longest, static_cast<Index>(r.prompt.size()));
    }
    const auto tiles = [](Index tokens) { return (tokens + kernels::kKeyTile - 1) / kernels::kKeyTile; };
    Index completions = 0;
    for (const SampleRequest& r : requests) { completions += static_cast<Index>(r.keys.size()); }
    const Index slots = std::min(options.max_batch, std::max<Index>(1, completions));
    const Index prompts = std::min<Index>(static_cast<Index>(requests.size()), slots) + 1;
    return slots * tiles(longest + options.max_new_tokens) + prompts * tiles(longest);
  }

  void finish_prompt() {
    ++request_;
    sample_ = 0;
  }

  void retire_prefix() {
    if (prefix_alive_) { cache_.release(prefix_); }
    prefix_alive_ = false;
  }

  // Stores keys and values of all prompt tokens but the last. No logits are computed for a prompt.
  template <class Started>
  void prefill(std::vector<Started>& started) {
    auto plan = std::make_shared<ops::RunPlan>();
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> positions;
    for (Started& s : started) {
      const auto& prompt = requests_[s.request].prompt;
      const auto length = static_cast<Index>(prompt.size()) - 1;
      stats_.prompt_tokens += length + 1;
      if (length == 0) { continue; }
      cache_.extend(s.prefix, length);
      plan->runs.push_back({static_cast<Index>(ids.size()), length, 0, s.prefix.tiles.data()});
      for (Index i = 0; i < length; ++i) {
        ids.push_back(prompt[static_cast<std::size_t>(i)]);
        positions.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (ids.empty()) { return; }
    const auto n = static_cast<Index>(ids.size());
    const Ragged batch{Tensor::from<std::int32_t>({n}, ids, exec_), Tensor::from<std::int32_t>({n}, positions, exec_), std::move(plan), {}};
    model_.hidden(Pass{tape_, &cache_}, batch);
  }

  void take(const ops::SampledTokens& drawn) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& r = running_[i];
      Completion& c = results_[r.request][r.sample];
      const Token token = drawn.token.data<std::int32_t>()[i];
      c.ids.push_back(token);
      const auto as_float = [](const Tensor& t, std::size_t at) { return t.dtype() == DType::f32 ? t.data<float>()[at] : static_cast<float>(t.data<double>()[at]); };
      c.logp.push_back(as_float(drawn.logp, i));
      const auto K = static_cast<std::size_t>(options_.topk);
      for (std::size_t k = i * K; k < (i + 1) * K; ++k) {
        c.topk_ids.push_back(drawn.topk_ids.data<std::int32_t>()[k]);
        c.topk_logp.push_back(as_float(drawn.topk_logp, k));
      }
      c.stopped = std::find(options_.stop_ids.begin(), options_.stop_ids.end(), token) != options_.stop_ids.end();
      if (c.stopped || static_cast<Index>(c.ids.size()) >= options_.max_new_tokens) {
        cache_.release(r.kv);  // its slot is free at once
        continue;
      }
      r.next = token;
      if (kept != i) { running_[kept] = std::move(r); }
      ++kept;
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(kept), running_.end());
  }

  Decoder& model_;
  std::span<const SampleRequest> requests_;
  const SamplerOptions& options_;
  Exec exec_;
  Tape tape_;
  KvCache cache_;
  std::vector<std::vector<Completion>> results_;
  std::vector<Running> running_;
  std::vector<rng::Key> keys_;
  std::vector<std::uint32_t> draws_;
  std::size_t request_ = 0, sample_ = 0;  // next completion to admit
  KvCache::Sequence prefix_;              // of request_, while some of its samples wait
  bool prefix_alive_ = false;
  SampleStats stats_;
};

using Completions = std::vector<std::vector<Completion>>;

Completions generate(Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options, const Exec& exec, SampleStats& stats,
                     const std::function<bool()>& interrupted) {
  Generation generation(model, requests, options, exec);
  while (!generation.idle()) {
    if (interrupted && interrupted()) { throw Error(Exit::interrupted, "sampling was interrupted"); }
    generation.admit();
    if (!generation.empty()) { generation.step(); }
  }
  stats = generation.stats();
  return generation.results();
}

/// In how many parts the completions are made side by side.
Index parts_of(const Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options, const Exec& exec) {
  Index completions = 0;
  for (const SampleRequest& r : requests) { completions += static_cast<Index>(r.keys.size()); }
  const bool near = exec.device.kind == DeviceKind::cpu && model.params().numel() * size_of(model.dtype()) <= kNearWeights;
  return near && std::min(completions, options.max_batch) >= kLeastSequences * exec.threads ? exec.threads : 1;
}

/// A completion is a function of its prompt and key alone: any division of the work gives the same.
Completions generate_in_parts(Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options, const Exec& exec, Index parts,
                              SampleStats& stats, const std::function<bool()>& interrupted) {
  struct Part {
    std::vector<SampleRequest> requests;
    std::vector<std::pair<std::size_t, std::size_t>> origin;  // request, first of its keys
    Completions results;
    SampleStats stats;
    std::exception_ptr failure;
  };
  std::vector<Part> all(static_cast<std::size_t>(parts));
  Completions results;
  Index longest = 0;
  const bool whole = static_cast<Index>(requests.size()) >= 2 * parts;  // prompts; else a prompt's samples are divided
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const SampleRequest& r = requests[i];
    longest = std::max(longest, static_cast<Index>(r.prompt.size()));
    results.emplace_back(r.keys.size());
    for (std::size_t p = 0; p < all.size(); ++p) {
      const bool mine = i % all.size() == p;
      const std::size_t begin = whole ? 0 : r.keys.size() * p / all.size();
      const std::size_t end = whole ? (mine ? r.keys.size() : 0) : r.keys.size() * (p + 1) / all.size();
      if (begin == end) { continue; }
      all[p].requests.push_back({r.prompt, {r.keys.begin() + static_cast<std::ptrdiff_t>(begin), r.keys.begin() + static_cast<std::ptrdiff_t>(end)}});
      all[p].origin.emplace_back(i, begin);
    }
  }
  model.prepare(exec, longest + options.max_new_tokens);
  SamplerOptions own = options;
  own.max_batch = std::max<Index>(1, options.max_batch / parts);
  Exec alone = exec;
  alone.threads = 1;
  std::mutex asking;
  const std::function<bool()> ask = [&] {
    std::lock_guard<std::mutex> lock(asking);
    return interrupted && interrupted();
  };
  parallel_items(exec.threads, parts, [&](Index item, Index) {
    Part& part = all[static_cast<std::size_t>(item)];
    try {
      part.results = generate(model, part.requests, own, alone, part.stats, ask);
    } catch (...) {
      part.failure = std::current_exception();
    }
  });
  for (Part& part : all) {
    if (part.failure) { std::rethrow_exception(part.failure); }
    for (std::size_t i = 0; i < part.results.size(); ++i) {
      const auto& [request, first] = part.origin[i];
      std::move(part.results[i].begin(), part.results[i].end(), results[request].begin() + static_cast<std::ptrdiff_t>(first));
    }
    stats.prompt_tokens += part.stats.prompt_tokens;
    stats.new_tokens += part.stats.new_tokens;
    stats.decode_steps += part.stats.decode_steps;
  }
  return results;
}

}  // namespace

std::vector<std::vector<Completion>> sample(Decoder& model, std::span<const SampleRequest> requests, const SamplerOptions& options,
                                            const Exec& exec, SampleStats* stats, const std::function<bool()>& interrupted) {
  MINIRL_CHECK(options.max_batch >= 1 && options.max_new_tokens >= 1 && options.temperature > 0, "batch {}, new tokens {}, temperature {}",
               options.max_batch, options.max_new_tokens, options.temperature);
  Arena& arena = exec.arena != nullptr ? *exec.arena : Arena::global();
  struct Trim {
    Arena* arena;
    ~Trim() {
      if (arena != nullptr) { arena->trim(); }
    }
  };
  const bool large = Generation::cache_bytes(model, requests, options) >= kLargeCache;
  if (large) { arena.trim(); }
  const Trim after{large ? &arena : nullptr};
  const Index parts = parts_of(model, requests, options, exec);
  SampleStats made;
  Completions results = parts > 1 ? generate_in_parts(model, requests, options, exec, parts, made, interrupted)
                                  : generate(model, requests, options, exec, made, interrupted);
  if (stats != nullptr) { *stats = made; }
  return results;
}

}  // namespace minirl

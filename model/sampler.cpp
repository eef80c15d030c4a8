#include "model/sampler.h"

#include <algorithm>

namespace minirl {
namespace {

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
  Generation generation(model, requests, options, exec);
  while (!generation.idle()) {
    if (interrupted && interrupted()) { throw Error(Exit::interrupted, "sampling was interrupted"); }
    generation.admit();
    if (!generation.empty()) { generation.step(); }
  }
  if (stats != nullptr) { *stats = generation.stats(); }
  return generation.results();
}

}  // namespace minirl

#include "audit/parity.h"

#include <algorithm>
#include <numeric>

#include "audit/forward_trace.h"
#include "core/stopwatch.h"
#include "core/ulp.h"
#include "rl/micro_batch.h"

namespace minirl::audit {
namespace {

constexpr std::uint64_t kParityTag = 0x706172697479;

// How log-probabilities are computed again. None of it may matter.
struct Way {
  enum class Kind : unsigned char {
    score,   // training forward on a tape that does not record
    train,   // a whole training pass: recorded, with entropies and a backward pass
    prefix,  // every token from its whole prefix, without a cache
    sample,  // the sampler again
  };
  std::string axis, name;
  Kind kind = Kind::score;
  std::vector<std::size_t> order = {};  // of the sequences; empty: as sampled
  std::size_t batch = 0;                // sequences in one call; 0: all
  Index tokens_per_micro = 0;           // 0: options
  Index chunk_rows = 0;
  bool recompute_layers = false;
  Index max_batch = 0;        // sample: sequences decoded at once; 0: options
  bool shared_prompt = true;  // sample: one request a group, or one a completion
  int threads = 0;            // 0: as the reference
  std::optional<Isa> isa = {};
  double share = 1;  // of the round's sequences
};

// What sampling recorded, one entry a completion.
struct Recorded {
  std::vector<std::vector<Token>> prompts;  // one a group
  std::vector<SampleRequest> requests;
  std::vector<std::size_t> group;  // of each completion
  std::vector<Completion> completions;
  std::vector<rl::ScoredSequence> view;
};

struct Scored {
  std::vector<Token> ids;  // empty: those of the recording
  std::vector<float> logp;
};

struct IsaScope {
  Isa before = active_isa();
  explicit IsaScope(std::optional<Isa> isa) {
    if (isa) {
      set_isa(*isa);
    }
  }
  ~IsaScope() { set_isa(before); }
  IsaScope(const IsaScope&) = delete;
  IsaScope& operator=(const IsaScope&) = delete;
};

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  rng::Random random(rng::Key::of(seed, rng::Stream::sample).derive(kParityTag));
  for (std::size_t i = n; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
  }
  return order;
}

std::vector<std::size_t> strided(std::size_t n, std::size_t stride) {
  std::vector<std::size_t> order;
  for (std::size_t first = 0; first < stride; ++first) {
    for (std::size_t i = first; i < n; i += stride) {
      order.push_back(i);
    }
  }
  return order;
}

std::vector<Way> ways(const Recorded& r, const ParityOptions& options) {
  using Kind = Way::Kind;
  const std::size_t n = r.view.size();
  Index longest = 1;
  for (const auto& s : r.view) {
    longest = std::max(longest, static_cast<Index>(s.prompt.size() + s.completion.size()));
  }
  std::vector<Way> out;
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}, std::size_t{17}, n}) {
    out.push_back({.axis = "batch size",
                   .name = batch >= n ? "all" : fmt::format("{}", batch),
                   .batch = batch});
  }
  std::vector<std::size_t> reversed = strided(n, 1);
  std::reverse(reversed.begin(), reversed.end());
  const auto stride = static_cast<std::size_t>(options.group_size);
  out.push_back({.axis = "packing order", .name = "reversed", .order = reversed});
  out.push_back({.axis = "packing order", .name = "sample by sample", .order = strided(n, stride)});
  for (const std::uint64_t s : {1, 2}) {
    out.push_back({.axis = "packing order",
                   .name = fmt::format("shuffle {}", s),
                   .order = shuffled(n, options.seed * 2 + s)});
  }
  for (const Index budget : {longest, longest + 31, 3 * longest + 7, Index{16384} + longest}) {
    out.push_back({.axis = "micro-batch tokens",
                   .name = fmt::format("{}", budget),
                   .tokens_per_micro = budget});
  }
  for (const Index rows : {1, 7, 64}) {
    out.push_back(
        {.axis = "logit chunk rows", .name = fmt::format("{}", rows), .chunk_rows = rows});
  }
  out.push_back({.axis = "training pass", .name = "recorded", .kind = Kind::train, .share = 0.5});
  out.push_back({.axis = "training pass",
                 .name = "layers recomputed",
                 .kind = Kind::train,
                 .recompute_layers = true,
                 .share = 0.5});
  for (const Index slots : {3, 17, 1024}) {
    out.push_back({.axis = "sampled at once",
                   .name = fmt::format("{}", slots),
                   .kind = Kind::sample,
                   .max_batch = slots,
                   .share = slots == 3 ? 0.25 : 1.0});
  }
  out.push_back({.axis = "prompt of a group",
                 .name = "not shared",
                 .kind = Kind::sample,
                 .shared_prompt = false});
  out.push_back({.axis = "KV cache",
                 .name = "none, whole prefix again",
                 .kind = Kind::prefix,
                 .share = 0.0625});
  for (const int threads : {1, 2, 3, 5}) {
    out.push_back({.axis = "threads", .name = fmt::format("{}", threads), .threads = threads});
    out.push_back({.axis = "threads",
                   .name = fmt::format("{} (sampling)", threads),
                   .kind = Kind::sample,
                   .threads = threads,
                   .share = 0.5});
  }
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > best_isa()) {
      continue;
    }
    // Without vector instructions a fused multiply-add is a function call.
    const double share = isa == Isa::portable ? 0.0625 : 1;
    out.push_back(
        {.axis = "instruction set", .name = std::string(name(isa)), .isa = isa, .share = share});
    out.push_back({.axis = "instruction set",
                   .name = fmt::format("{} (sampling)", name(isa)),
                   .kind = Kind::sample,
                   .isa = isa,
                   .share = share / 4});
  }
  return out;
}

class Round {
 public:
  Round(Decoder& sampler, Decoder& trainer, const ParityOptions& options, const Exec& exec,
        Index number, std::vector<std::vector<Token>> prompts)
      : sampler_(sampler), trainer_(trainer), options_(options), exec_(exec), number_(number) {
    const auto key = rng::Key::of(options.seed, rng::Stream::sample).derive(kParityTag);
    recorded_.prompts = std::move(prompts);
    for (std::size_t g = 0; g < recorded_.prompts.size(); ++g) {
      SampleRequest& request = recorded_.requests.emplace_back();
      request.prompt = recorded_.prompts[g];
      for (Index s = 0; s < options.group_size; ++s) {
        request.keys.push_back(key.derive(static_cast<std::uint64_t>(number), g)
                                   .derive(static_cast<std::uint64_t>(s)));
      }
    }
    auto groups = sample(sampler_, recorded_.requests, options_.sampling, exec_);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (Completion& c : groups[g]) {
        recorded_.group.push_back(g);
        recorded_.completions.push_back(std::move(c));
      }
    }
    for (std::size_t i = 0; i < recorded_.completions.size(); ++i) {
      recorded_.view.push_back(
          {recorded_.prompts[recorded_.group[i]], recorded_.completions[i].ids});
    }
  }

  const Recorded& recorded() const { return recorded_; }

  void compare(const Way& way, ParityAxis& axis) {
    const std::vector<Scored> scored = compute(way);
    for (std::size_t s = 0; s < scored.size(); ++s) {
      const Completion& c = recorded_.completions[s];
      for (std::size_t t = 0; t < c.ids.size(); ++t) {
        const bool missing = t >= scored[s].logp.size();
        const bool other = !scored[s].ids.empty() && (missing || scored[s].ids[t] != c.ids[t]);
        const std::uint32_t ulp = missing ? std::numeric_limits<std::uint32_t>::max()
                                          : ulp_distance(c.logp[t], scored[s].logp[t]);
        ++axis.compared;
        if (ulp == 0 && !other) {
          continue;
        }
        ++axis.differing;
        axis.ulp_max = std::max(axis.ulp_max, ulp);
        if (!axis.first) {
          axis.first = ParityDifference{.variant = way.name,
                                        .sequence = s,
                                        .round = number_,
                                        .position = static_cast<Index>(t),
                                        .id = c.ids[t],
                                        .recorded = c.logp[t],
                                        .computed = missing ? 0 : scored[s].logp[t],
                                        .ulp = ulp,
                                        .other_token = other};
          locate(way, *axis.first);
        }
        if (other) {
          break;  // what follows another token cannot be compared
        }
      }
    }
  }

 private:
  std::size_t count(const Way& way) const {
    const auto n = static_cast<double>(recorded_.view.size()) * way.share;
    return std::max<std::size_t>(1, static_cast<std::size_t>(n));
  }

  Exec exec_of(const Way& way) const {
    Exec exec = exec_;
    exec.threads = way.threads > 0 ? way.threads : exec.threads;
    return exec;
  }

  rl::MicroBatchOptions micro(const Way& way) const {
    rl::MicroBatchOptions m;
    m.temperature = options_.sampling.temperature;
    m.vocabulary = options_.sampling.vocabulary;
    m.tokens_per_micro =
        way.tokens_per_micro > 0 ? way.tokens_per_micro : options_.tokens_per_micro;
    m.chunk_rows = way.chunk_rows;
    return m;
  }

  // Of the first `count` sequences, in their order.
  std::vector<Scored> compute(const Way& way) {
    const IsaScope scope(way.isa);
    switch (way.kind) {
      case Way::Kind::sample:
        return sample_again(way);
      case Way::Kind::prefix:
        return from_prefixes(way);
      case Way::Kind::train:
        return train(way);
      default:
        return score(way);
    }
  }

  std::vector<Scored> score(const Way& way) {
    const std::size_t n = count(way);
    std::vector<std::size_t> order = way.order.empty() ? strided(n, 1) : way.order;
    std::vector<rl::ScoredSequence> view;
    for (const std::size_t i : order) {
      view.push_back(recorded_.view[i]);
    }
    std::vector<Scored> out(n);
    const std::size_t batch = way.batch > 0 ? way.batch : n;
    for (std::size_t begin = 0; begin < n; begin += batch) {
      const std::size_t end = std::min(n, begin + batch);
      auto scores = rl::score_sequences(trainer_, exec_of(way),
                                        std::span(view).subspan(begin, end - begin), micro(way));
      for (std::size_t i = begin; i < end; ++i) {
        out[order[i]].logp = std::move(scores[i - begin].logp);
      }
    }
    return out;
  }

  std::vector<Scored> train(const Way& way) {
    const bool before = trainer_.recomputes_layers();
    trainer_.set_recompute_layers(way.recompute_layers);
    rl::MicroBatchOptions m = micro(way);
    m.entropy = true;
    std::vector<Scored> out(count(way));
    rl::accumulate_gradients(
        trainer_, exec_of(way), std::span(recorded_.view).first(out.size()), m,
        [&](std::size_t s, const rl::SequenceScores& scores, const rl::SequenceSeeds&) {
          out[s].logp.assign(scores.logp.begin(), scores.logp.end());
        });
    trainer_.params().zero_grads();
    trainer_.set_recompute_layers(before);
    return out;
  }

  std::vector<Scored> from_prefixes(const Way& way) {
    std::vector<Scored> out(count(way));
    for (std::size_t s = 0; s < out.size(); ++s) {
      const auto whole = joined(s);
      const std::size_t prompt = recorded_.view[s].prompt.size();
      std::vector<rl::ScoredSequence> view;
      for (std::size_t t = prompt; t < whole.size(); ++t) {
        view.push_back({std::span(whole).first(t), std::span(whole).subspan(t, 1)});
      }
      for (const auto& one : rl::score_sequences(trainer_, exec_of(way), view, micro(way))) {
        out[s].logp.push_back(one.logp.front());
      }
    }
    return out;
  }

  std::vector<Scored> sample_again(const Way& way) {
    const auto groups = static_cast<std::size_t>(options_.group_size);
    const std::size_t prompts = (count(way) + groups - 1) / groups;
    std::vector<SampleRequest> requests;
    for (const SampleRequest& r : std::span(recorded_.requests).first(prompts)) {
      if (way.shared_prompt) {
        requests.push_back(r);
        continue;
      }
      for (const rng::Key& key : r.keys) {
        requests.push_back({r.prompt, {key}});
      }
    }
    SamplerOptions sampling = options_.sampling;
    sampling.max_batch = way.max_batch > 0 ? way.max_batch : sampling.max_batch;
    std::vector<Scored> out;
    for (auto& group : sample(sampler_, requests, sampling, exec_of(way))) {
      for (Completion& c : group) {
        out.push_back({std::move(c.ids), std::move(c.logp)});
      }
    }
    return out;
  }

  std::vector<Token> joined(std::size_t s) const {
    const rl::ScoredSequence& v = recorded_.view[s];
    std::vector<Token> out(v.prompt.begin(), v.prompt.end());
    out.insert(out.end(), v.completion.begin(), v.completion.end());
    return out;
  }

  // The reference is how the token was sampled: with a cache, by the sampler's weights.
  void trace_reference(const ParityDifference& d, ForwardTrace& trace) {
    trace_decoding(sampler_, exec_, cut(d), micro({}), trace);
  }

  void trace_way(const Way& way, const ParityDifference& d, ForwardTrace& trace) {
    const IsaScope scope(way.isa);
    const rl::MicroBatchOptions m = micro(way);
    if (way.kind == Way::Kind::sample) {
      trace_decoding(sampler_, exec_of(way), cut(d), m, trace);
      return;
    }
    if (way.kind == Way::Kind::prefix) {
      const rl::ScoredSequence alone = cut(d);
      trace_packed(trainer_, exec_of(way), std::span(&alone, 1), 0, m, trace);
      return;
    }
    const std::size_t n = count(way);
    const std::vector<std::size_t> order = way.order.empty() ? strided(n, 1) : way.order;
    const auto at =
        static_cast<std::size_t>(std::find(order.begin(), order.end(), d.sequence) - order.begin());
    const std::size_t batch = way.batch > 0 ? way.batch : n;
    const std::size_t first = at / batch * batch;
    std::vector<rl::ScoredSequence> view;
    for (std::size_t i = first; i < std::min(n, first + batch); ++i) {
      view.push_back(recorded_.view[order[i]]);
    }
    for (const auto& [begin, end] : rl::cut_micro_batches(view, m.tokens_per_micro)) {
      if (first + begin <= at && at < first + end) {
        trace_packed(trainer_, exec_of(way), std::span(view).subspan(begin, end - begin),
                     at - first - begin, m, trace);
      }
    }
  }

  // The sequence up to the token that differed.
  rl::ScoredSequence cut(const ParityDifference& d) const {
    rl::ScoredSequence s = recorded_.view[d.sequence];
    s.completion = s.completion.first(static_cast<std::size_t>(d.position) + 1);
    return s;
  }

  void locate(const Way& way, ParityDifference& d) {
    ForwardTrace a;
    ForwardTrace b;
    trace_reference(d, a);
    trace_way(way, d, b);
    const auto where = first_difference(a, b);
    if (!where) {
      d.words =
          "run again with every op watched, both ways agree: the fault is in what sampling "
          "recorded or in something that the second run does not repeat (a race, memory)";
      return;
    }
    ForwardTrace whole_a(where);
    ForwardTrace whole_b(where);
    trace_reference(d, whole_a);
    trace_way(way, d, whole_b);
    d.op = a.ops()[where->op].label;
    d.row = where->position;
    const std::size_t width = std::min(whole_a.row().size(), whole_b.row().size());
    for (std::size_t i = 0; i < width; ++i) {
      if (ulp_distance(whole_a.row()[i], whole_b.row()[i]) != 0) {
        d.element = static_cast<Index>(i);
        d.op_recorded = whole_a.row()[i];
        d.op_computed = whole_b.row()[i];
        break;
      }
    }
    d.words = fmt::format(
        "op {} of the forward pass, {}: row {} of the sequence, element {}: {:.9g} in sampling, "
        "{:.9g} here; every op before it agrees",
        where->op, d.op, d.row, d.element, d.op_recorded, d.op_computed);
  }

  Decoder& sampler_;
  Decoder& trainer_;
  const ParityOptions& options_;
  const Exec& exec_;
  Index number_;
  Recorded recorded_;
};

ParityAxis& axis_of(ParityReport& report, const std::string& name) {
  for (ParityAxis& a : report.axes) {
    if (a.name == name) {
      return a;
    }
  }
  report.axes.push_back({.name = name, .variants = {}});
  return report.axes.back();
}

}  // namespace

Index ParityReport::compared() const {
  Index n = 0;
  for (const ParityAxis& a : axes) {
    n += a.compared;
  }
  return n;
}

Index ParityReport::differing() const {
  Index n = 0;
  for (const ParityAxis& a : axes) {
    n += a.differing;
  }
  return n;
}

ParityReport check_parity(Decoder& sampler, Decoder& trainer, const ParityPrompts& prompts,
                          const ParityOptions& options, const Exec& exec,
                          const std::function<void(const ParityReport&)>& note,
                          const std::function<bool()>& interrupted) {
  const Stopwatch watch;
  ParityReport report;
  while (report.compared() < options.tokens && report.differing() == 0) {
    Round round(sampler, trainer, options, exec, report.rounds,
                prompts(report.rounds, options.prompts));
    for (const Completion& c : round.recorded().completions) {
      report.sampled += static_cast<Index>(c.ids.size());
    }
    report.sequences += static_cast<Index>(round.recorded().completions.size());
    for (const Way& way : ways(round.recorded(), options)) {
      if (interrupted && interrupted()) {
        throw Error(Exit::interrupted, "the parity check was interrupted");
      }
      ParityAxis& axis = axis_of(report, way.axis);
      if (report.rounds == 0) {
        axis.variants += (axis.variants.empty() ? "" : ", ") + way.name;
      }
      round.compare(way, axis);
    }
    ++report.rounds;
    report.seconds = watch.seconds();
    if (note) {
      note(report);
    }
  }
  return report;
}

}  // namespace minirl::audit

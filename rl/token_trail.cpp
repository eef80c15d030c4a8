#include "rl/token_trail.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/fmath.h"
#include "core/rng.h"
#include "rl/tripwires.h"

namespace minirl::rl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kTrailTag = 0x747261696cULL;  // apart from other uses of the stream

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A token that is out of the loss as a whole, or whose advantage is 0, has a cause outside of the
// loss.
std::string why(std::uint32_t bit, const TrainItem& item, const std::string& algorithm) {
  if (bit == MaskReason::loss_mask) {
    return item.rollout->stopped ? "left out by the loss mask"
                                 : "truncated: the completion has no end token, and "
                                   "algorithm.mask_truncated leaves it out";
  }
  if (bit == MaskReason::zero_advantage && item.group->report.zero_variance) {
    return "zero-variance group: all its rewards are equal, so A = 0 and the gradient is 0";
  }
  if (bit == MaskReason::zero_advantage && item.group->report.single) {
    return "a group of one has nothing to compare with, so A = 0 and the gradient is 0";
  }
  if (bit == MaskReason::zero_advantage) {
    return std::string(reason_words(bit));
  }
  return algorithm + ": " + std::string(reason_words(bit));
}

Json head(const TrailPlace& p, const TrainItem& item, const char* part, std::size_t t, Token id,
          const data::Tokenizer& tokenizer) {
  return {{"step", p.step},
          {"update", p.update},
          {"sequence", p.sequence},
          {"group", p.group},
          {"sample", p.sample},
          {"example", item.group->example.id},
          {"part", part},
          {"t", t},
          {"id", id},
          {"text", tokenizer.decode(std::span(&id, 1))}};
}

}  // namespace

std::string trail_lines(const TrailPlace& place, const TrainItem& item,
                        const SequenceOutcome& outcome, const std::string& algorithm,
                        const data::Tokenizer& tokenizer) {
  std::string out;
  for (std::size_t t = 0; t < item.group->prompt.size(); ++t) {
    Json line = head(place, item, "prompt", t, item.group->prompt[t], tokenizer);
    line["masks"] = Json::array({"prompt"});
    line["why"] = Json::array({"prompt: given, not sampled, so it has no probability in the loss"});
    out += dump(line);
  }
  for (std::size_t t = 0; t < outcome.tokens.size(); ++t) {
    const TokenInput& token = outcome.tokens[t];
    const TokenResult& result = outcome.results[t];
    const TokenInput::AgainstAnchor& mu = token.rollout;
    Json line = head(place, item, "completion", t, item.rollout->ids[t], tokenizer);
    line["log_mu"] = mu.log_p;
    line["log_pi"] = token.log_pi;
    line["mu"] = mu.p;
    line["pi"] = token.pi;
    line["ratio"] = mu.ratio;
    line["tv"] = token.pi > mu.p ? token.pi - mu.p : mu.p - token.pi;
    line["kl"] = mu.ratio - 1 - mu.log_ratio;
    if (token.has_recomputed) {
      line["log_old"] = token.recomputed.log_p;
    }
    if (token.has_reference) {
      line["log_ref"] = token.log_reference;
    }
    if (!outcome.entropy.empty()) {
      line["entropy"] = static_cast<double>(outcome.entropy[t]);
    }
    line["A"] = token.advantage;
    line["divergence"] = result.divergence;
    line["w"] = result.weight;
    line["g"] = result.dlogp;
    line["loss"] = result.loss;
    line["c"] = outcome.token_weight;
    line["share"] = outcome.token_weight * result.loss;
    Json masks = Json::array();
    Json words = Json::array();
    for (std::uint32_t bit = 1; bit != 0; bit <<= 1) {
      if ((result.reasons & bit) != 0) {
        masks.push_back(reason_name(bit));
        words.push_back(why(bit, item, algorithm));
      }
    }
    line["masks"] = std::move(masks);
    line["why"] = std::move(words);
    out += dump(line);
  }
  return out;
}

std::set<Index> trail_sample(std::uint64_t seed, Index step, Index count, Index wanted) {
  const rng::Key key =
      rng::Key::of(seed, rng::Stream::shuffle).derive(kTrailTag, static_cast<std::uint64_t>(step));
  std::vector<std::pair<std::uint32_t, Index>> order;
  for (Index i = 0; i < count; ++i) {
    order.emplace_back(key.words(static_cast<std::uint32_t>(i)).w[0], i);
  }
  std::sort(order.begin(), order.end());
  std::set<Index> out;
  for (Index i = 0; i < std::min(count, wanted); ++i) {
    out.insert(order[static_cast<std::size_t>(i)].second);
  }
  return out;
}

TokenTrail::TokenTrail(const Config& config, std::filesystem::path folder)
    : mode_(config.audit.trail),
      algorithm_(config.algorithm.name),
      folder_(std::move(folder)),
      every_(config.audit.trail_every),
      per_step_(config.completions_per_step()),
      per_update_(per_step_ / config.train.updates_per_rollout),
      group_size_(config.rollout.group_size),
      updates_(config.train.updates_per_rollout),
      sampled_(config.audit.trail_sequences),
      seed_(static_cast<std::uint64_t>(config.run.seed)) {}

TokenTrail::~TokenTrail() = default;

bool TokenTrail::wanted(Index step) const {
  return mode_ != "none" && (step - 1) % every_ == 0;
}

void TokenTrail::begin(Index step) {
  MINIRL_CHECK(tokenizer_ != nullptr, "a trail without a tokenizer");
  make_directory(folder_);
  file_.reset();
  file_ = std::make_unique<data::ZstdWriter>(folder_ / fmt::format("step-{:06}.jsonl.zst", step));
  step_ = step;
  chosen_ = mode_ == "sample" ? trail_sample(seed_, step, per_step_, sampled_) : std::set<Index>{};
  sums_.assign(static_cast<std::size_t>(updates_), 0.0);
}

void TokenTrail::sequence(Index step, Index update, const TrainItem& item,
                          const SequenceOutcome& outcome) {
  if (!wanted(step)) {
    return;
  }
  if (step != step_ || file_ == nullptr || (update == 0 && outcome.index == 0)) {
    begin(step);  // also where a former attempt at the step was cut short
  }
  for (const TokenResult& r : outcome.results) {
    sums_[static_cast<std::size_t>(update)] += outcome.token_weight * r.loss;
  }
  const Index sequence = update * per_update_ + static_cast<Index>(outcome.index);
  if (mode_ == "sample" && chosen_.count(sequence) == 0) {
    return;
  }
  const TrailPlace place{step, update, sequence, sequence / group_size_, sequence % group_size_};
  file_->write(trail_lines(place, item, outcome, algorithm_, *tokenizer_));
}

void TokenTrail::finish(Index step, double loss) {
  if (file_ == nullptr || step != step_) {
    return;
  }
  double total = 0;
  for (const double sum : sums_) {
    total += sum / static_cast<double>(updates_);
  }
  tripwire::trail_loss(step, total, loss);
  file_->commit();
  file_.reset();
}

}  // namespace minirl::rl

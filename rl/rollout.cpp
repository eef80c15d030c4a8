#include "rl/rollout.h"

#include <algorithm>
#include <set>

#include "core/parallel.h"

namespace minirl::rl {

std::vector<Group> generate_groups(Decoder& model, const data::Tokenizer& tokenizer, std::span<const data::Example> examples,
                                   const GenerateOptions& options, const Exec& exec, SampleStats* stats,
                                   const std::function<bool()>& interrupted) {
  std::vector<Group> groups;
  std::vector<SampleRequest> requests;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Group group{examples[i], options.format != nullptr ? options.format->encode(examples[i]) : tokenizer.encode(examples[i].prompt, data::Specials::parse), {}, {}};
    if (group.prompt.empty()) { fail(Exit::data, fmt::format("the prompt of example {} is empty", examples[i].id)); }
    SampleRequest request{group.prompt, {}};
    for (Index j = 0; j < options.group_size; ++j) {
      request.keys.push_back(options.key.derive(static_cast<std::uint64_t>(options.first_prompt) + i, static_cast<std::uint64_t>(j)));
    }
    requests.push_back(std::move(request));
    groups.push_back(std::move(group));
  }
  auto completions = sample(model, requests, options.sampling, exec, stats, interrupted);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (Completion& c : completions[i]) {
      Rollout r;
      r.text = tokenizer.decode(c.ids, true);
      r.ids = std::move(c.ids);
      r.logp = std::move(c.logp);
      r.topk_ids = std::move(c.topk_ids);
      r.topk_logp = std::move(c.topk_logp);
      r.stopped = c.stopped;
      groups[i].rollouts.push_back(std::move(r));
    }
  }
  return groups;
}

double soft_length_penalty(Index tokens, Index limit, Index buffer) {
  if (buffer <= 0) { return 0; }
  return std::min(-static_cast<double>(tokens - (limit - buffer)) / static_cast<double>(buffer), 0.0);
}

void score_groups(std::span<Group> groups, const RewardOptions& options, int threads) {
  std::vector<std::pair<const Group*, Rollout*>> items;
  for (Group& g : groups) {
    for (Rollout& r : g.rollouts) { items.emplace_back(&g, &r); }
  }
  std::vector<std::string> failures(items.size());
  std::vector<double> extras(items.size(), 0);
  if (options.command) {  // in the order of groups and samples, one program
    std::vector<RewardCommand::Row> rows;
    for (const auto& [group, rollout] : items) { rows.push_back({group->example.answer, rollout->text}); }
    auto results = options.command->score(rows);
    MINIRL_CHECK(results.size() == items.size(), "{} scores for {} completions", results.size(), items.size());
    for (std::size_t i = 0; i < items.size(); ++i) { items[i].second->verdict = std::move(results[i]); }
  }
  parallel_items(threads, static_cast<Index>(items.size()), [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto& [group, rollout] = items[static_cast<std::size_t>(i)];
      try {
        if (!options.command) { rollout->verdict = options.reward->score(group->example.answer, rollout->text); }
        extras[static_cast<std::size_t>(i)] = extra_score(options.extra, rollout->text);
      } catch (const Error& e) {
        failures[static_cast<std::size_t>(i)] = e.what();
      } catch (const std::exception& e) {  // a judge that stumbles over one answer must not end a run: 0, and counted
        rollout->verdict = {};
        rollout->verdict.why = fmt::format("undecided: the reward failed: {}", e.what());
      }
    }
  });
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!failures[i].empty()) { fail(Exit::data, fmt::format("reward '{}' failed on example {}: {}", options.reward->name, items[i].first->example.id, failures[i])); }
    Rollout& r = *items[i].second;
    r.reward = options.weight * r.verdict.score;
    if (!r.stopped && options.truncated == TruncatedReward::zero) { r.reward = 0; }
    if (options.truncated == TruncatedReward::soft) { r.reward += options.soft_penalty * soft_length_penalty(static_cast<Index>(r.ids.size()), options.max_new_tokens, options.soft_buffer); }
    r.reward += extras[i];
  }
}

void set_advantages(std::span<Group> groups, const AdvantageOptions& options) {
  std::vector<GroupOutcome> outcomes;
  for (const Group& g : groups) {
    GroupOutcome& outcome = outcomes.emplace_back();
    for (const Rollout& r : g.rollouts) {
      outcome.rewards.push_back(r.reward - r.kl_penalty);
      outcome.lengths.push_back(static_cast<Index>(r.ids.size()));
    }
  }
  std::vector<AdvantageReport> reports;
  const auto advantages = batch_advantages(outcomes, options, &reports);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].report = reports[g];
    for (std::size_t i = 0; i < advantages[g].size(); ++i) { groups[g].rollouts[i].advantage = advantages[g][i]; }
  }
}

namespace {

double reward_std(const std::vector<Rollout>& rollouts) {
  const auto n = static_cast<double>(rollouts.size());
  double mean = 0;
  for (const Rollout& r : rollouts) { mean += r.reward / n; }
  double squares = 0;
  for (const Rollout& r : rollouts) { squares += (r.reward - mean) * (r.reward - mean); }
  return n > 1 ? fmath::sqrt(squares / (n - 1)) : 0;
}

}  // namespace

RolloutSummary summarize(std::span<const Group> groups) {
  RolloutSummary s;
  double n = 0, squares = 0;
  for (const Group& g : groups) {
    std::set<std::vector<Token>> seen;
    s.group_std_mean += reward_std(g.rollouts) / static_cast<double>(groups.size());
    for (const Rollout& r : g.rollouts) {
      const double length = static_cast<double>(r.ids.size());
      n += 1;
      s.reward_mean += r.reward;
      squares += r.reward * r.reward;
      s.length_mean += length;
      s.length_max = std::max(s.length_max, length);
      s.kl_penalty_mean += r.kl_penalty;
      s.truncated_frac += r.stopped ? 0 : 1;
      s.answered_frac += r.verdict.answered ? 1 : 0;
      s.undecided_frac += r.verdict.why.starts_with("undecided") ? 1 : 0;
      s.duplicate_frac += seen.insert(r.ids).second ? 0 : 1;
    }
    s.zero_variance_frac += g.report.zero_variance ? 1 : 0;
  }
  if (n == 0) { return s; }
  s.reward_mean /= n;
  s.reward_std = n > 1 ? fmath::sqrt(std::max(0.0, (squares - n * s.reward_mean * s.reward_mean) / (n - 1))) : 0;
  s.length_mean /= n;
  s.kl_penalty_mean /= n;
  s.truncated_frac /= n;
  s.answered_frac /= n;
  s.undecided_frac /= n;
  s.duplicate_frac /= n;
  s.zero_variance_frac /= static_cast<double>(groups.size());
  return s;
}

}  // namespace minirl::rl

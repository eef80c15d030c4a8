#include "rl/problems.h"

#include <filesystem>
#include <map>

#include "rl/reward.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;

// Decides about the problems of files; what it leaves out is counted by reason.
class Gate {
 public:
  Gate(const Config& config, const data::Tokenizer& tokenizer, const data::PromptFormat& format,
       Index limit)
      : config_(config),
        tokenizer_(tokenizer),
        format_(format),
        reward_(Rewards::find("reward", config.reward.name)),
        limit_(limit),
        skip_bad_(text_param(config.task.params, "bad_rows") == "skip") {}

  bool unusable(const data::Example& e) {
    if (const std::string fault = reward_.check_gold(e.answer); !fault.empty()) {
      if (!skip_bad_) {
        require_gold(reward_, e.answer, e.where);
      }
      ++counts_[fmt::format("the reward {} cannot read the gold answer", reward_.name)];
      return true;
    }
    const auto tokens = static_cast<Index>(format_.encode(e).size());
    longest_ = std::max(longest_, tokens <= limit_ ? tokens : 0);
    if (tokens > limit_) {
      if (config_.prompt.too_long == "error") {
        fail(Exit::data,
             fmt::format("{}: the prompt has {} tokens, more than {}", e.where, tokens, limit_),
             "leave such problems out: --set prompt.too_long=drop; or raise prompt.max_tokens or "
             "model.max_positions, or lower rollout.max_new_tokens");
      }
      ++counts_[fmt::format("the prompt is longer than {} tokens", limit_)];
      return true;
    }
    unasked_ += data::asks_for(format_.render(e).text, reward_.instruction) ? 0 : 1;
    return false;
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    for (const auto& [reason, count] : counts_) {
      out.push_back(fmt::format("left out {} problems: {}", count, reason));
    }
    out.push_back(fmt::format("prompts: template {}{}, up to {} tokens; end tokens: {}",
                              format_.template_name(),
                              format_.template_name() != "qwen3" ? ""
                              : format_.options().thinking       ? ", thinking"
                                                                 : ", without thinking",
                              longest_, tokenizer_.end_token_words()));
    if (unasked_ > 0) {
      out.push_back(fmt::format(
          "warning: {} prompts do not ask for what the reward {} reads ({}): answers in "
          "another form score 0",
          unasked_, reward_.name, reward_.instruction));
    }
    return out;
  }
  Index longest() const { return longest_; }

 private:
  const Config& config_;
  const data::Tokenizer& tokenizer_;
  const data::PromptFormat& format_;
  const RewardInfo& reward_;
  Index limit_;
  bool skip_bad_;
  std::map<std::string, Index> counts_;
  Index longest_ = 0, unasked_ = 0;
};

Index prompt_limit(const Config& c, Index max_positions) {
  const Index room = max_positions - c.rollout.max_new_tokens;
  if (room < 1) {
    fail(Exit::usage,
         fmt::format("rollout.max_new_tokens = {} leaves no room for a prompt: the model has {} "
                     "positions",
                     c.rollout.max_new_tokens, max_positions),
         "lower it, or raise model.max_positions");
  }
  if (c.prompt.max_tokens > room) {
    fail(Exit::usage,
         fmt::format("prompt.max_tokens = {} and rollout.max_new_tokens = {} are more than the {} "
                     "positions of the model",
                     c.prompt.max_tokens, c.rollout.max_new_tokens, max_positions),
         "lower one of them");
  }
  return c.prompt.max_tokens > 0 ? c.prompt.max_tokens : room;
}

}  // namespace

std::unique_ptr<data::Tokenizer> open_tokenizer(const Config& config) {
  const ModelTable& m = config.model;
  if (m.tokenizer == "bytes") {
    return data::byte_tokenizer();
  }
  if (!m.tokenizer.empty()) {
    return data::load_tokenizer(m.tokenizer, m.checkpoint);
  }
  std::error_code error;
  const fs::path checkpoint(m.checkpoint);
  if (!m.checkpoint.empty() && fs::exists(checkpoint / "tokenizer.json", error)) {
    return data::load_tokenizer(checkpoint);
  }
  if (!m.checkpoint.empty() && fs::exists(checkpoint / "config.json", error)) {
    fail(Exit::usage, fmt::format("model.checkpoint '{}' has no tokenizer.json", m.checkpoint),
         "name the folder that has one: --set model.tokenizer=FOLDER, or bytes for the built-in "
         "one");
  }
  return data::byte_tokenizer();
}

std::string instruction_of(const Config& config) {
  const std::string& wanted = config.prompt.instruction;
  if (wanted == "none") {
    return "";
  }
  return wanted == "auto" ? Rewards::find("reward", config.reward.name).instruction : wanted;
}

Problems open_problems(const Config& config, const data::Tokenizer& tokenizer,
                       Index max_positions, std::unique_ptr<data::Task> task) {
  Problems out;
  const bool given = task != nullptr;
  out.task = given ? std::move(task) : data::make_task(config.task.name, config.task.params);
  out.format = std::make_unique<data::PromptFormat>(
      tokenizer, data::PromptOptions{config.prompt.chat_template, config.prompt.thinking,
                                     config.prompt.system, instruction_of(config)});
  if (given) {
    return out;
  }
  if (!out.task->from_files()) {
    const Index positions = out.task->prompt_bytes_max() + config.rollout.max_new_tokens;
    if (positions > max_positions) {
      fail(Exit::usage,
           fmt::format("prompts and {} new tokens need {} positions, the model has {}",
                       config.rollout.max_new_tokens, positions, max_positions),
           "lower the number of new tokens");
    }
    out.held_out = out.task->eval_examples(config.eval.prompts);
    const RewardInfo& reward = Rewards::find("reward", config.reward.name);
    for (const data::Example& e : out.held_out) {
      require_gold(reward, e.answer, fmt::format("held-out example {}", e.id));
    }
    return out;
  }
  Gate gate(config, tokenizer, *out.format, prompt_limit(config, max_positions));
  out.task->drop([&gate](const data::Example& e) { return gate.unusable(e); });
  out.held_out = out.task->eval_examples(config.eval.prompts);
  out.notes = out.task->notes();
  for (auto& note : gate.notes()) {
    out.notes.push_back(std::move(note));
  }
  const Index longest = gate.longest() + config.rollout.max_new_tokens;
  if (longest > config.train.tokens_per_micro) {
    fail(
        Exit::usage,
        fmt::format("train.tokens_per_micro = {} is smaller than one sequence ({} tokens of prompt "
                    "and {} new ones)",
                    config.train.tokens_per_micro, gate.longest(), config.rollout.max_new_tokens),
        fmt::format("--set train.tokens_per_micro={}, or a smaller prompt.max_tokens", longest));
  }
  return out;
}

}  // namespace minirl::rl

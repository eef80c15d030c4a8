#include "audit/verify_ledger.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "audit/rollout_file.h"
#include "core/files.h"
#include "model/pretrained.h"
#include "rl/ledger.h"
#include "rl/ledger_hash.h"
#include "rl/loss_config.h"
#include "rl/run_dir.h"
#include "rl/trainer.h"

namespace minirl::audit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string short_hash(const std::string& hash) {
  return hash.substr(0, 16);
}

[[noreturn]] void differ(const rl::LedgerLine& line, const std::string& what) {
  fail(Exit::mismatch, fmt::format("ledger.jsonl line {} ({}): {}", line.number,
                                   rl::step_words(line.values.phase, line.values.step), what));
}

void compare(const rl::LedgerLine& line, const std::string& file, const char* part,
             const std::string& found, const std::string& recorded) {
  if (found != recorded) {
    differ(line,
           fmt::format("the {} in {} have the hash {}..., the line says {}...: one of the two "
                       "was changed",
                       part, file, short_hash(found), short_hash(recorded)));
  }
}

/// Do tokens have advantages of their own, which rollout files do not hold?
bool token_advantages(const rl::Config& config) {
  return config.algorithm.kl_in == "reward" && config.algorithm.kl_coef > 0 &&
         rl::advantage_options(config).estimator == rl::AdvantageEstimator::reinforce_pp;
}

class Verifier {
 public:
  explicit Verifier(fs::path run) : run_(std::move(run)) {}

  LedgerCheck check() {
    try {
      all();
    } catch (const Error& e) {
      if (e.code() != Exit::mismatch) {
        throw;
      }
      out_.first_difference = e.what();
    }
    return std::move(out_);
  }

 private:
  void all() {
    lines_ = rl::read_ledger(run_ / "ledger.jsonl");
    out_.lines = lines_.size();
    out_.not_checked = rl::check_chain(lines_);
    loaded_ = rl::load_config({ConfigSource::file((run_ / "config.resolved.toml").string())});
    exec_ = rl::make_exec(loaded_.config.runtime);
    known_builds();
    find_checkpoints();
    for (const rl::LedgerLine& line : lines_) {
      check_config(line);
      check_build(line);
      if (!line.start) {
        ++out_.steps;
      }
      if (!line.start && line.values.phase == rl::Phase::train) {
        check_rollouts(line);
      }
      check_checkpoints(line);
    }
    check_end();
    if (missing_rollouts_ > 0) {
      out_.not_checked.push_back(
          fmt::format("rollouts of {} steps: their files are not there", missing_rollouts_));
    }
    for (const auto& [name, used] : checkpoints_) {
      if (!used) {
        out_.not_checked.push_back(fmt::format("checkpoints/{}: no line is about its step", name));
      }
    }
    if (checkpoints_.empty()) {
      out_.not_checked.push_back("weights and moments: there is no checkpoint");
    }
  }

  void known_builds() {
    const Json env = Json::parse(read_file(run_ / "env.json"), nullptr, false);
    if (env.is_object() && env.contains("starts") && env["starts"].is_array()) {
      for (const Json& start : env["starts"]) {
        NamedValues build;
        const Json named = start.value("build", Json::object());
        for (const auto& [key, value] : named.items()) {
          build.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
        }
        builds_.insert(rl::hash_build(build));
      }
    }
  }

  void find_checkpoints() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(run_ / "checkpoints", ignored)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && name.front() != '.') {
        checkpoints_.emplace(name, false);
      }
    }
  }

  void check_config(const rl::LedgerLine& line) {
    if (line.config != loaded_.results_hash()) {
      differ(line,
             fmt::format("it was made with the configuration {}..., config.resolved.toml is {}...: "
                         "a value that decides results was changed",
                         short_hash(line.config), short_hash(loaded_.results_hash())));
    }
    ++out_.configurations;
  }

  void check_build(const rl::LedgerLine& line) {
    if (line.start && rl::hash_build(line.build_info) != line.build) {
      differ(line, "\"build\" is not the hash of \"build_info\"");
    }
    if (builds_.count(line.build) == 0) {
      differ(line, fmt::format("it was made by the build {}..., which env.json does not name",
                               short_hash(line.build)));
    }
  }

  void check_rollouts(const rl::LedgerLine& line) {
    const std::string name = fmt::format("rollouts/step-{:06}.jsonl", line.values.step);
    if (!fs::exists(run_ / name)) {
      ++missing_rollouts_;
      return;
    }
    std::vector<rl::Group> groups;
    try {
      groups = read_rollouts(run_ / name);
    } catch (const Error& e) {
      if (e.code() != Exit::mismatch) {
        throw;
      }
      differ(line, e.what());
    }
    std::vector<rl::TrainItem> items;
    for (const rl::Group& g : groups) {
      for (const rl::Rollout& r : g.rollouts) {
        items.push_back({&g, &r});
      }
    }
    compare(line, name, "prompts and gold answers", rl::hash_examples(groups),
            line.values.examples);
    compare(line, name, "tokens and log-probabilities", rl::hash_rollouts(groups),
            line.values.rollouts);
    compare(line, name, "rewards", rl::hash_rewards(groups), line.values.rewards);
    if (token_advantages(loaded_.config)) {
      if (out_.rollouts == 0) {
        out_.not_checked.push_back(
            "advantages: each token has its own, which rollout files do not hold (replay checks "
            "them)");
      }
    } else {
      compare(line, name, "advantages", rl::hash_advantages(items), line.values.advantages);
    }
    ++out_.rollouts;
  }

  void check_checkpoints(const rl::LedgerLine& line) {
    const rl::LedgerStep& v = line.values;
    rl::Progress at;
    at.phase = v.phase;
    at.step = v.step;
    const std::string own = rl::checkpoint_name(at);
    if (checkpoints_.count(own) != 0) {
      check_checkpoint(line, own, true);
    }
    // The base model has the weights of the last pretraining step and fresh moments.
    if (v.phase == rl::Phase::pretrain && v.step == loaded_.config.pretrain.steps &&
        checkpoints_.count("step-000000") != 0) {
      check_checkpoint(line, "step-000000", false);
    }
  }

  void check_checkpoint(const rl::LedgerLine& line, const std::string& name, bool moments) {
    const fs::path folder = run_ / "checkpoints" / name;
    const std::string file = "checkpoints/" + name;
    rl::Progress progress;
    try {
      progress = rl::verify_checkpoint(folder);
    } catch (const Error& e) {
      differ(line, e.what());
    }
    if (progress.results_hash != line.config) {
      differ(line, fmt::format("{} belongs to another configuration", file));
    }
    LoadOptions load;
    load.matrices = loaded_.config.train.weights_dtype == "bf16" ? DType::bf16 : DType::f32;
    const auto model = load_pretrained(folder, DType::f32, load);
    const auto optimizer = rl::make_optimizer(loaded_.config, progress.phase, model->params());
    try {
      rl::load_checkpoint(folder, *model, *optimizer);
    } catch (const Error& e) {
      differ(line, e.what());
    }
    compare(line, file, "weights", rl::hash_weights(model->params(), exec_), line.values.weights);
    if (moments) {
      compare(line, file, "moments of the optimizer", rl::hash_optimizer(*optimizer, exec_),
              line.values.optimizer);
    }
    checkpoints_[name] = true;
    ++out_.checkpoints;
  }

  // Lines cut off at the end break no chain; other files still know of their steps.
  void check_end() {
    const rl::LedgerLine& last = lines_.back();
    const std::string metrics =
        fs::exists(run_ / "metrics.jsonl") ? read_file(run_ / "metrics.jsonl") : "";
    for (std::size_t begin = 0; begin < metrics.size();) {
      const auto end = std::min(metrics.find('\n', begin), metrics.size());
      const Json row =
          Json::parse(metrics.begin() + static_cast<std::ptrdiff_t>(begin),
                      metrics.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      begin = end + 1;
      if (!row.is_object()) {
        continue;
      }
      const std::string kind = row.value("kind", "");
      const Index step = row.value("step", Index{0});
      const bool later = (kind == "train" &&
                          (last.values.phase == rl::Phase::pretrain || step > last.values.step)) ||
                         (kind == "pretrain" && last.values.phase == rl::Phase::pretrain &&
                          step > last.values.step);
      if (later) {
        differ(last,
               fmt::format(
                   "it is the last line, but metrics.jsonl has {}: lines were removed from the end",
                   rl::step_words(kind == "train" ? rl::Phase::train : rl::Phase::pretrain, step)));
      }
    }
  }

  fs::path run_;
  LedgerCheck out_;
  std::vector<rl::LedgerLine> lines_;
  rl::LoadedConfig loaded_;
  Exec exec_;
  std::set<std::string> builds_;
  std::map<std::string, bool> checkpoints_;  // name: checked
  std::size_t missing_rollouts_ = 0;
};

}  // namespace

LedgerCheck verify_ledger(const fs::path& run) {
  if (!rl::is_run(run)) {
    fail(Exit::usage, fmt::format("'{}' is not a run of minirl", run.string()),
         "name the folder that holds config.resolved.toml and env.json");
  }
  if (!fs::exists(run / "ledger.jsonl")) {
    fail(Exit::usage, fmt::format("the run '{}' has no ledger.jsonl", run.string()),
         "it was made by an older minirl, or the file was taken away");
  }
  return Verifier(run).check();
}

std::string ledger_check_text(const LedgerCheck& c) {
  std::string out = fmt::format(
      "ledger.jsonl: {} lines, {} steps\n"
      "  checked      configuration of {} lines, rollouts of {} steps (tokens, log mu, rewards, "
      "advantages), {} checkpoints (weights, moments)\n",
      c.lines, c.steps, c.configurations, c.rollouts, c.checkpoints);
  for (const std::string& words : c.not_checked) {
    out += fmt::format("  not checked  {}\n", words);
  }
  return out + (c.first_difference.empty() ? "everything that was checked agrees\n" : "");
}

std::string ledger_check_json(const LedgerCheck& c) {
  const Json doc = {{"format", 1},
                    {"lines", c.lines},
                    {"steps", c.steps},
                    {"configurations", c.configurations},
                    {"rollouts", c.rollouts},
                    {"checkpoints", c.checkpoints},
                    {"not_checked", c.not_checked},
                    {"first_difference", c.first_difference}};
  return doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace minirl::audit

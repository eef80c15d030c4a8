#include "rl/ledger.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "rl/ledger_hash.h"

namespace minirl::rl {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::string_view kSeal = ",\"hash\":\"";
constexpr const char* kNothing =
    "0000000000000000000000000000000000000000000000000000000000000000";  // before the first line

const char* phase_name(Phase phase) {
  return phase == Phase::pretrain ? "pretrain" : "train";
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void bad_line(std::size_t number, const std::string& what) {
  fail(Exit::mismatch, fmt::format("ledger.jsonl line {}: {}", number, what));
}

std::string hash_field(const Json& json, const char* key, std::size_t number) {
  const auto text = json.at(key).get<std::string>();
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    bad_line(number, fmt::format("\"{}\" is not a SHA-256 in 64 hexadecimal digits", key));
  }
  return text;
}

// Lines with their ends; `rest` is what follows the last end.
std::vector<std::string> split(const std::string& content, std::string& rest) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (auto end = content.find('\n'); end != std::string::npos; end = content.find('\n', begin)) {
    out.push_back(content.substr(begin, end - begin));
    begin = end + 1;
  }
  rest = content.substr(begin);
  return out;
}

bool after(const LedgerStep& line, const Progress& progress) {
  if (line.phase != progress.phase) {
    return line.phase == Phase::train;
  }
  return line.step > progress.step;
}

// May `now` come directly after `before`?
bool follows(const LedgerStep& before, const LedgerStep& now) {
  if (before.phase == now.phase) {
    return now.step == before.step + 1;
  }
  return before.phase == Phase::pretrain && now.step == 1;
}

}  // namespace

std::string step_words(Phase phase, Index step) {
  return fmt::format("{} {}", phase == Phase::pretrain ? "pretraining step" : "step", step);
}

LedgerLine parse_ledger_line(const std::string& text, std::size_t number) {
  const auto seal = text.rfind(kSeal);
  if (seal == std::string::npos || text.size() != seal + kSeal.size() + 64 + 2 ||
      !text.ends_with("\"}")) {
    bad_line(number, "it does not end with its own hash, so it was cut or edited");
  }
  LedgerLine line;
  line.number = number;
  line.hash = text.substr(seal + kSeal.size(), 64);
  if (sha256_hex(text.substr(0, seal)) != line.hash) {
    bad_line(number, "its text does not have the hash that it ends with: the line was changed");
  }
  try {
    const Json json = Json::parse(text);
    const auto kind = json.at("kind").get<std::string>();
    const auto phase = json.at("phase").get<std::string>();
    if ((kind != "genesis" && kind != "step") || (phase != "pretrain" && phase != "train")) {
      bad_line(number, fmt::format("kind \"{}\" of phase \"{}\" is unknown", kind, phase));
    }
    LedgerStep& v = line.values;
    line.start = kind == "genesis";
    v.phase = phase == "pretrain" ? Phase::pretrain : Phase::train;
    v.step = json.at("step").get<Index>();
    line.config = hash_field(json, "config", number);
    line.build = hash_field(json, "build", number);
    v.optimizer = hash_field(json, "optimizer", number);
    v.weights = hash_field(json, "weights", number);
    line.previous = hash_field(json, "previous", number);
    if (line.start) {
      if (json.at("format").get<int>() != kFormat) {
        bad_line(number, fmt::format("its format is {}, this program reads {}",
                                     json.at("format").get<int>(), kFormat));
      }
      for (const auto& [key, value] : json.at("build_info").items()) {
        line.build_info.emplace_back(key, value.get<std::string>());
      }
      for (const Json& p : json.at("parameters")) {
        line.parameters.emplace_back(p.at(0).get<std::string>(), p.at(1).get<Index>());
      }
      return line;
    }
    v.examples = hash_field(json, "examples", number);
    if (v.phase == Phase::train) {
      v.rollouts = hash_field(json, "rollouts", number);
      v.rewards = hash_field(json, "rewards", number);
      v.advantages = hash_field(json, "advantages", number);
    }
    v.gradients = json.at("gradients").get<std::vector<std::string>>();
    v.bf16_changed = json.at("bf16_changed").get<std::vector<Index>>();
  } catch (const Json::exception& e) {
    bad_line(number, fmt::format("it cannot be understood ({})", e.what()));
  }
  return line;
}

std::vector<LedgerLine> read_ledger(const std::filesystem::path& path) {
  std::string rest;
  std::vector<LedgerLine> out;
  for (const std::string& text : split(read_file(path), rest)) {
    out.push_back(parse_ledger_line(text, out.size() + 1));
  }
  if (!rest.empty()) {
    bad_line(out.size() + 1, "it has no end: the process that wrote it was killed, or it was cut");
  }
  return out;
}

std::vector<std::string> check_chain(const std::vector<LedgerLine>& lines) {
  std::vector<std::string> gaps;
  if (lines.empty() || !lines.front().start) {
    bad_line(1, "the ledger does not begin with its genesis line");
  }
  if (lines.front().previous != kNothing) {
    bad_line(1, "the genesis line names a line before it: lines were removed");
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const LedgerLine& before = lines[i - 1];
    const LedgerLine& now = lines[i];
    const std::string what = now.start
                                 ? "genesis at " + step_words(now.values.phase, now.values.step)
                                 : step_words(now.values.phase, now.values.step);
    if (now.previous != before.hash) {
      bad_line(
          now.number,
          fmt::format("{} does not follow line {} ({}): it was sealed behind another line, so a "
                      "line was removed, added, changed or moved here",
                      what, before.number, step_words(before.values.phase, before.values.step)));
    }
    if (now.start) {
      gaps.push_back(
          fmt::format("line {}: the chain begins anew at {} after {}: steps between have "
                      "no line",
                      now.number, step_words(now.values.phase, now.values.step),
                      step_words(before.values.phase, before.values.step)));
    } else if (!follows(before.values, now.values)) {
      bad_line(now.number, fmt::format("{} comes after {}", what,
                                       step_words(before.values.phase, before.values.step)));
    }
  }
  return gaps;
}

const LedgerLine* find_step(const std::vector<LedgerLine>& lines, Phase phase, Index step) {
  for (const LedgerLine& line : lines) {
    if (!line.start && line.values.phase == phase && line.values.step == step) {
      return &line;
    }
  }
  return nullptr;
}

Ledger::Ledger(std::filesystem::path path, std::string config_hash, NamedValues build)
    : path_(std::move(path)), config_(std::move(config_hash)), build_(std::move(build)) {
  Progress end;
  end.phase = Phase::train;
  end.step = std::numeric_limits<Index>::max();
  rewind(end);
}

void Ledger::rewind(const Progress& progress) {
  file_.reset();
  last_.reset();
  last_hash_ = kNothing;
  std::string kept;
  bool changed = false;
  if (std::filesystem::exists(path_)) {
    std::string rest;
    std::size_t number = 0;
    for (const std::string& text : split(read_file(path_), rest)) {
      ++number;
      std::optional<LedgerLine> line;
      try {
        line = parse_ledger_line(text, number);
      } catch (const Error&) {
        kept += text + "\n";  // to be found by `verify ledger`
        continue;
      }
      if (after(line->values, progress)) {
        changed = true;
        continue;
      }
      kept += text + "\n";
      last_hash_ = line->hash;
      last_ = std::move(line);
    }
    changed = changed || !rest.empty();
  }
  if (changed) {
    write_file_atomic(path_, kept);
  }
  file_ = std::make_unique<AppendFile>(path_);
}

void Ledger::start(const LedgerStart& start) {
  if (last_) {
    const LedgerStep& v = last_->values;
    const bool same = v.phase == start.phase && v.step == start.step;
    // The base model: the last line is the last pretraining step's, the moments are fresh.
    const bool turned =
        v.phase == Phase::pretrain && start.phase == Phase::train && start.step == 0;
    if (same || turned) {
      const bool weights = v.weights == start.weights;
      if (!weights || (same && v.optimizer != start.optimizer)) {
        fail(Exit::mismatch,
             fmt::format("{} line {} ({}): the {} that this process goes on with have another hash",
                         path_.string(), last_->number, step_words(v.phase, v.step),
                         weights ? "moments of the optimizer" : "weights"),
             "the checkpoint does not belong to this ledger; `minirl verify ledger` says more");
      }
      return;
    }
  }
  Json build = Json::object();
  for (const auto& [key, value] : build_) {
    build[key] = value;
  }
  Json parameters = Json::array();
  for (const auto& [name, values] : start.parameters) {
    parameters.push_back(Json::array({name, values}));
  }
  const Json json = {
      {"kind", "genesis"},       {"format", kFormat},        {"phase", phase_name(start.phase)},
      {"step", start.step},      {"config", config_},        {"build", hash_build(build_)},
      {"build_info", build},     {"parameters", parameters}, {"optimizer", start.optimizer},
      {"weights", start.weights}};
  write(dump(json));
}

void Ledger::add(const LedgerStep& step) {
  Json json = {{"kind", "step"},    {"phase", phase_name(step.phase)}, {"step", step.step},
               {"config", config_}, {"build", hash_build(build_)},     {"examples", step.examples}};
  if (step.phase == Phase::train) {
    json["rollouts"] = step.rollouts;
    json["rewards"] = step.rewards;
    json["advantages"] = step.advantages;
  }
  json["gradients"] = step.gradients;
  json["optimizer"] = step.optimizer;
  json["weights"] = step.weights;
  json["bf16_changed"] = step.bf16_changed;
  write(dump(json));
}

// `object` is a JSON object; what it is sealed with comes last.
void Ledger::write(std::string object) {
  object.pop_back();
  object += fmt::format(",\"previous\":\"{}\"", last_hash_);
  last_hash_ = sha256_hex(object);
  file_->line(fmt::format("{}{}{}\"}}", object, kSeal, last_hash_));
}

void Ledger::sync() {
  file_->sync();
}

}  // namespace minirl::rl

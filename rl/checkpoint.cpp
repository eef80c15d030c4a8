#include "rl/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/hash.h"
#include "model/pretrained.h"
#include "model/safetensors.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 2;  // 2: examples, rollout_policy.safetensors
constexpr const char* kRolloutPolicyFile = "rollout_policy.safetensors";

std::string_view phase_name(Phase phase) { return phase == Phase::pretrain ? "pretrain" : "train"; }

// Orders names by progress: every pretraining checkpoint comes before every training one.
std::optional<std::pair<int, Index>> parse_name(const std::string& name) {
  for (const auto& [prefix, rank] : {std::pair<std::string_view, int>{"pretrain-", 0}, {"step-", 1}}) {
    if (name.rfind(prefix, 0) != 0) { continue; }
    Index step = 0;
    const char* begin = name.data() + prefix.size();
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(begin, end, step);
    if (error == std::errc{} && stop == end && end - begin >= 6) { return std::pair(rank, step); }
  }
  return std::nullopt;
}

std::vector<fs::path> by_progress(const fs::path& checkpoints) {  // oldest first
  std::vector<std::pair<std::pair<int, Index>, fs::path>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoints, ignored)) {
    if (const auto order = parse_name(entry.path().filename().string()); order && entry.is_directory()) { found.emplace_back(*order, entry.path()); }
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> out;
  for (auto& [order, path] : found) { out.push_back(std::move(path)); }
  return out;
}

// Takes a directory away under its final name in one step: a kill in the middle of the removal leaves a
// temporary name, never a final name over half a checkpoint.
void take_away(const fs::path& directory) {
  std::error_code ignored;
  if (!fs::exists(directory)) { return; }
  const fs::path aside = directory.parent_path() / (".tmp-old-" + directory.filename().string());
  fs::remove_all(aside, ignored);
  fs::rename(directory, aside);
  fs::remove_all(aside, ignored);
}

void remove_old(const fs::path& checkpoints, Index keep) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoints, ignored)) {  // of a process that was killed
    if (entry.path().filename().string().rfind(".tmp-", 0) == 0) { fs::remove_all(entry.path(), ignored); }
  }
  if (keep <= 0) { return; }
  auto all = by_progress(checkpoints);
  all.erase(std::remove_if(all.begin(), all.end(), [](const fs::path& p) { return p.filename() == "step-000000"; }), all.end());
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) { take_away(all[i]); }
}

// Readers of safetensors sort by name: a number keeps the order.
StateTensors numbered(const StateTensors& state) {
  StateTensors out;
  for (const auto& [name, tensor] : state) { out.emplace_back(fmt::format("{:06}.{}", out.size(), name), tensor); }
  return out;
}

// A folder must stop where the run stopped: all end tokens, not only the tokenizer's own.
void declare_end_tokens(const fs::path& generation_config, const data::Tokenizer& tokenizer) {
  const std::vector<Token> ids = tokenizer.end_tokens();
  if (ids.size() < 2) { return; }
  Json doc = Json::parse(read_file(generation_config));
  doc["eos_token_id"] = ids;
  write_file_atomic(generation_config, doc.dump(2) + "\n");
}

}  // namespace

// In pieces: a checkpoint may be larger than the memory.
std::string file_hash(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(std::size_t{1} << 20);
  Hasher hasher;
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hasher.add(std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(file.gcount()))));
  }
  if (file.bad() || !file.eof()) { fail(Exit::usage, file_error("read", path, EIO)); }
  return hasher.hex();
}

std::string checkpoint_name(const Progress& p) { return fmt::format("{}-{:06}", p.phase == Phase::pretrain ? "pretrain" : "step", p.step); }

fs::path save_checkpoint(const fs::path& checkpoints, const Progress& progress, const Decoder& model, Optimizer& optimizer,
                         const data::Tokenizer& tokenizer, Index keep, const StateTensors& rollout_policy) {
  make_directory(checkpoints);
  const fs::path final_path = checkpoints / checkpoint_name(progress);
  const fs::path temporary = checkpoints / (".tmp-" + checkpoint_name(progress));
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  make_directory(temporary);
  try {
    save_pretrained(temporary, model, {tokenizer.eos(), -1, tokenizer.eos()});
    tokenizer.save(temporary);
    declare_end_tokens(temporary / "generation_config.json", tokenizer);
    write_safetensors(temporary / "optimizer.safetensors", optimizer.state());
    if (!rollout_policy.empty()) { write_safetensors(temporary / kRolloutPolicyFile, numbered(rollout_policy)); }
    Json files = Json::object();
    std::vector<fs::path> names;
    for (const auto& entry : fs::directory_iterator(temporary)) { names.push_back(entry.path().filename()); }
    std::sort(names.begin(), names.end());
    for (const auto& name : names) {
      files[name.string()] = {{"bytes", fs::file_size(temporary / name)}, {"sha256", file_hash(temporary / name)}};
    }
    const Json doc = {{"format", kFormatVersion},
                      {"phase", phase_name(progress.phase)},
                      {"step", progress.step},
                      {"examples", progress.examples},
                      {"optimizer_steps", optimizer.steps()},
                      {"results_hash", progress.results_hash},
                      {"problems_hash", progress.problems_hash},
                      {"weights_hash", model.params().hash()},
                      {"files", files}};
    write_file_atomic(temporary / "progress.json", doc.dump(2) + "\n");
    take_away(final_path);  // the same step again, after a resume
    publish_directory(temporary, final_path);
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
  remove_old(checkpoints, keep);
  return final_path;
}

Progress verify_checkpoint(const fs::path& directory) {
  const auto bad = [&](const std::string& what) { fail(Exit::usage, fmt::format("checkpoint '{}': {}", directory.string(), what)); };
  if (!fs::is_directory(directory)) { bad("it is not a directory"); }
  if (!fs::exists(directory / "progress.json")) { bad("progress.json is missing"); }
  Json doc;
  Progress p;
  try {
    doc = Json::parse(read_file(directory / "progress.json"));
    if (doc.at("format").get<int>() != kFormatVersion) { bad(fmt::format("its format is {}, this program reads {}", doc.at("format").get<int>(), kFormatVersion)); }
    const auto phase = doc.at("phase").get<std::string>();
    if (phase != "pretrain" && phase != "train") { bad(fmt::format("progress.json names an unknown phase '{}'", phase)); }
    p = {phase == "pretrain" ? Phase::pretrain : Phase::train, doc.at("step").get<Index>(), doc.at("results_hash").get<std::string>(), doc.at("weights_hash").get<std::string>(), doc.at("examples").get<Index>(), doc.value("problems_hash", std::string())};
    for (const auto& [name, want] : doc.at("files").items()) {
      const fs::path file = directory / name;
      if (fs::path(name).filename() != name || !fs::is_regular_file(file)) { bad(fmt::format("{} is missing", name)); }
      const auto bytes = want.at("bytes").get<std::uintmax_t>();
      if (fs::file_size(file) != bytes) { bad(fmt::format("{} has {} bytes, {} were written", name, fs::file_size(file), bytes)); }
      if (file_hash(file) != want.at("sha256").get<std::string>()) { bad(fmt::format("{} was changed or damaged: its SHA-256 differs", name)); }
    }
  } catch (const Json::exception& e) { bad(fmt::format("progress.json cannot be understood ({})", e.what())); }
  return p;
}

Found newest_checkpoint(const fs::path& checkpoints, std::optional<Index> last_step) {
  Found found;
  auto all = by_progress(checkpoints);
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    const auto order = parse_name(it->filename().string());
    if (last_step && order && *order > std::pair<int, Index>(1, *last_step)) { continue; }
    try {
      found.progress = verify_checkpoint(*it);
      found.directory = *it;
      return found;
    } catch (const Error& e) { found.skipped.push_back(e.what()); }
  }
  return found;
}

StateTensors load_rollout_policy(const fs::path& directory) {
  StateTensors out;
  if (!fs::exists(directory / kRolloutPolicyFile)) { return out; }
  const SafetensorsFile file(directory / kRolloutPolicyFile);
  for (const auto& [name, entry] : file.entries()) {  // sorted by name
    if (name.size() < 8 || name[6] != '.') { fail(Exit::usage, fmt::format("checkpoint '{}': {} holds a tensor '{}' without its number", directory.string(), kRolloutPolicyFile, name)); }
    out.emplace_back(name.substr(7), file.read(name));
  }
  return out;
}

void load_checkpoint(const fs::path& directory, Decoder& model, Optimizer& optimizer) {
  const Progress progress = verify_checkpoint(directory);
  load_weights(directory, model);
  if (model.params().hash() != progress.weights_hash) { fail(Exit::usage, fmt::format("checkpoint '{}': the weights do not have the recorded hash", directory.string())); }
  const SafetensorsFile file(directory / "optimizer.safetensors");
  for (auto& [name, tensor] : optimizer.state()) { file.read_into(name, tensor); }
  optimizer.set_steps(Json::parse(read_file(directory / "progress.json")).at("optimizer_steps").get<Index>());
}

}  // namespace minirl::rl

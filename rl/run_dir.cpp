#include "rl/run_dir.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "core/build_info.h"
#include "core/files.h"
#include "rl/event_log.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Everything that a run writes below its folder; only these are ever removed.
constexpr const char* kEntries[] = {
    "config.toml", "config.resolved.toml", "env.json", "metrics.jsonl", "ledger.jsonl", "rollouts",
    "tokens",      "eval",                 "checkpoints", "report.html", ".lock"};

// ... and the event files, whose names hold the time of their start.
std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_event_file(entry.path())) {
      out.push_back(entry.path().filename());
    }
  }
  return out;
}

bool holds_something(const fs::path& folder) {
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  return !error && entries != fs::directory_iterator();
}

// Only the beginnings of a run whose process was killed before it had computed anything.
bool abandoned(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    bool ours = is_event_file(entry.path());
    ours = ours || (name.find(".tmp-") != std::string::npos && name.front() == '.');
    for (const char* e : kEntries) {
      ours = ours || name == e;
    }
    if (!ours || (entry.is_directory() && holds_something(entry.path()))) {
      return false;
    }
  }
  return !error && !is_run(folder);
}

Json to_json(const NamedValues& values) {
  Json out = Json::object();
  for (const auto& [key, value] : values) {
    out[key] = value;
  }
  return out;
}

}  // namespace

bool is_run(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "config.resolved.toml", error) &&
         fs::is_regular_file(folder / "env.json", error);
}

RunDir::RunDir(const LoadedConfig& loaded, const ConfigSource& source,
               const std::vector<std::string>& command_line, Open mode)
    : root_(fs::path(loaded.config.run.dir) / loaded.config.run.name) {
  MINIRL_CHECK(!loaded.config.run.name.empty(), "the run has no name");
  const bool taken = holds_something(root_) && !abandoned(root_);
  if (mode == Open::fresh && taken) {
    fail(Exit::usage, fmt::format("the run '{}' exists already", root_.string()),
         is_run(root_)
             ? "--resume goes on with it, --overwrite replaces it, --run-name NAME starts another"
             : "it is not a run of minirl: choose another name with --run-name NAME");
  }
  if (mode == Open::overwrite && taken && !is_run(root_)) {
    fail(Exit::usage,
         fmt::format("'{}' is not a run of minirl, so --overwrite leaves it alone", root_.string()),
         "choose another name with --run-name NAME");
  }
  if (mode == Open::resume && !is_run(root_)) {
    fail(Exit::usage, fmt::format("there is no run '{}' to resume", root_.string()),
         "leave out --resume to start it");
  }
  make_directory(root_, Exit::usage);
  lock();
  if (mode == Open::overwrite) {
    remove_entries();
  }
  if (mode == Open::resume) {
    compare(loaded);
  }
  try {
    for (const char* folder : {"rollouts", "eval", "checkpoints"}) {
      make_directory(root_ / folder, Exit::usage);
    }
    if (mode != Open::resume) {
      write_file_atomic(root_ / "config.toml", source.content());
    }
    write_file_atomic(root_ / "config.resolved.toml", loaded.resolved_toml());
    write_env(loaded, command_line);
  } catch (const Error& error) {
    throw Error(Exit::usage, error.what());
  }  // nothing has been computed yet
}

RunDir::~RunDir() {
  if (lock_ >= 0) {
    ::close(lock_);
  }  // which also releases the lock; a killed process releases it too
}

void RunDir::lock() {
  const fs::path path = root_ / ".lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) {
    const int error = errno;
    fail(Exit::usage, file_error("write to the folder", root_, error), file_hint(error));
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    fail(Exit::usage, fmt::format("another minirl is working in '{}'", root_.string()),
         "wait for it, or choose another --run-name");
  }
}

void RunDir::remove_entries() {
  std::vector<fs::path> names = event_files(root_);
  names.insert(names.end(), std::begin(kEntries), std::end(kEntries));
  for (const fs::path& name : names) {
    if (name == ".lock") {
      continue;
    }
    std::error_code error;
    fs::remove_all(root_ / name, error);
    if (error) {
      fail(Exit::usage, file_error("remove", root_ / name, error.value()),
           file_hint(error.value()));
    }
  }
}

void RunDir::discard() {
  remove_entries();
  std::error_code ignored;
  fs::remove(root_ / ".lock", ignored);
  fs::remove(root_, ignored);  // only if it is empty
}

void RunDir::compare(const LoadedConfig& now) const {
  const LoadedConfig before =
      load_config({ConfigSource::file((root_ / "config.resolved.toml").string())});
  const auto differences = differences_on_resume(before, now);
  if (differences.empty()) {
    return;
  }
  std::string list;
  for (const auto& d : differences) {
    list += "\n  " + d;
  }
  fail(Exit::usage,
       fmt::format("the configuration differs from that of the run '{}':{}", root_.string(), list),
       "resume with the same values, or start another run with --run-name NAME");
}

void RunDir::write_env(const LoadedConfig& loaded,
                       const std::vector<std::string>& command_line) const {
  const fs::path path = root_ / "env.json";
  Json doc = {{"format", 1}, {"starts", Json::array()}};
  if (fs::exists(path)) {  // of a resumed run: earlier starts stay on record
    const Json old = Json::parse(read_file(path), nullptr, false);
    if (old.is_object() && old.contains("starts") && old["starts"].is_array()) {
      doc["starts"] = old["starts"];
    }
  }
  doc["starts"].push_back({{"time_utc", utc_now()},
                           {"command_line", command_line},
                           {"config_sha256", loaded.hash()},
                           {"results_sha256", loaded.results_hash()},
                           {"build", to_json(build_info())},
                           {"libraries", to_json(core_libraries())},
                           {"machine", to_json(machine_info())}});
  write_file_atomic(path, doc.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace minirl::rl

#include "audit/bundle.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/files.h"
#include "core/hash.h"
#include "data/archive.h"
#include "model/pretrained.h"

namespace minirl::audit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kManifest = "bundle.json";
constexpr const char* kExamples = "examples.jsonl";

/// Problems by their number in the run.
class BundledTask final : public data::Task {
 public:
  BundledTask(std::map<Index, data::Example> examples, std::string fingerprint)
      : examples_(std::move(examples)), fingerprint_(std::move(fingerprint)) {}
  data::Example train_example(std::uint64_t, Index index) const override {
    const auto found = examples_.find(index);
    if (found == examples_.end()) {
      fail(Exit::mismatch,
           fmt::format(
               "the step asks for problem number {} of the run, which the bundle does not hold",
               index),
           "on the machine that made it the step asked for others");
    }
    return found->second;
  }
  data::SupervisedExample supervised_example(std::uint64_t, Index) const override {
    fail(Exit::usage, "a bundle holds no worked answers");
  }
  std::vector<data::Example> eval_examples(Index) const override { return {}; }
  Index prompt_bytes_max() const override { return 0; }
  Index completion_bytes_max() const override { return 0; }
  bool from_files() const override { return true; }
  std::string fingerprint() const override { return fingerprint_; }

 private:
  std::map<Index, data::Example> examples_;
  std::string fingerprint_;  // of all problems of the run, as its checkpoint has it
};

Json to_json(Index index, const data::Example& e) {
  Json messages = Json::array();
  for (const data::Message& m : e.messages) {
    Json one = {{"role", m.role}, {"content", m.content}};
    if (m.reasoning_content) {
      one["reasoning_content"] = *m.reasoning_content;
    }
    messages.push_back(std::move(one));
  }
  return {{"number", index},  {"id", e.id},       {"prompt", e.prompt},  {"answer", e.answer},
          {"label", e.label}, {"where", e.where}, {"messages", messages}};
}

data::Example from_json(const Json& json) {
  data::Example e;
  e.id = json.at("id").get<Index>();
  e.prompt = json.at("prompt").get<std::string>();
  e.answer = json.at("answer").get<std::string>();
  e.label = json.at("label").get<std::string>();
  e.where = json.at("where").get<std::string>();
  for (const Json& m : json.at("messages")) {
    data::Message one{m.at("role").get<std::string>(), m.at("content").get<std::string>(), {}};
    if (m.contains("reasoning_content")) {
      one.reasoning_content = m.at("reasoning_content").get<std::string>();
    }
    e.messages.push_back(std::move(one));
  }
  return e;
}

/// All files below a folder, by their names from there.
std::map<std::string, fs::path> files_below(const fs::path& root) {
  std::map<std::string, fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) {
      out.emplace(fs::relative(entry.path(), root).generic_string(), entry.path());
    }
  }
  return out;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "minirl-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    fail(Exit::runtime,
         fmt::format("cannot make a folder in '{}'", fs::temp_directory_path().string()),
         "set TMPDIR to a folder with room");
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

BundleDraft::BundleDraft(const fs::path& root, const rl::Trainer& trainer) {
  for (const char* name : {"config.resolved.toml", "ledger.jsonl"}) {
    write_file_atomic(scratch_.path() / name, read_file(root / name));
  }
  trainer.save_to(scratch_.path() / "checkpoints");
}

void BundleDraft::add_examples(const rl::Trainer& trainer, Index first) {
  if (const Decoder* reference = trainer.reference(); reference != nullptr) {
    const fs::path folder = scratch_.path() / "reference";
    make_directory(folder);
    save_pretrained(folder, *reference, {trainer.tokenizer().eos(), -1, trainer.tokenizer().eos()});
  }
  if (!trainer.task().from_files()) {
    return;
  }
  std::string lines;
  const auto seed = static_cast<std::uint64_t>(trainer.config().run.seed);
  for (Index i = first; i < trainer.progress().examples; ++i) {
    lines += to_json(i, trainer.task().train_example(seed, i))
                 .dump(-1, ' ', false, Json::error_handler_t::replace) +
             "\n";
  }
  write_file_atomic(scratch_.path() / kExamples, lines);
}

void BundleDraft::write(const fs::path& file, Index step) const {
  auto members = files_below(scratch_.path());
  Json files = Json::object();
  for (const auto& [name, path] : members) {
    files[name] = {{"bytes", fs::file_size(path)}, {"sha256", rl::file_hash(path)}};
  }
  Json build = Json::object();
  for (const auto& [key, value] : build_info()) {
    build[key] = value;
  }
  const Json doc = {{"kind", "minirl-step"},
                    {"format", kBundleFormat},
                    {"step", step},
                    {"build", build},
                    {"files", files}};
  write_file_atomic(scratch_.path() / kManifest,
                    doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  members.emplace(kManifest, scratch_.path() / kManifest);
  data::write_archive(file, members);
}

OpenBundle::OpenBundle(const fs::path& file) {
  data::extract_archive(file, scratch_.path());
  const auto bad = [&](const std::string& what) {
    fail(Exit::usage, fmt::format("'{}': {}", file.string(), what),
         "name a file that `minirl replay RUN --step N --bundle FILE` wrote");
  };
  if (!fs::exists(scratch_.path() / kManifest)) {
    bad("it is no bundle: bundle.json is missing");
  }
  try {
    const Json doc = Json::parse(read_file(scratch_.path() / kManifest));
    if (doc.at("kind").get<std::string>() != "minirl-step") {
      bad("it is no bundle of a step");
    }
    if (doc.at("format").get<int>() != kBundleFormat) {
      bad(fmt::format("its format is {}, this program reads {}", doc.at("format").get<int>(),
                      kBundleFormat));
    }
    info_.step = doc.at("step").get<Index>();
    auto there = files_below(scratch_.path());
    there.erase(kManifest);
    for (const auto& [name, want] : doc.at("files").items()) {
      const auto found = there.find(name);
      if (found == there.end()) {
        bad(fmt::format("{} is missing", name));
      }
      if (rl::file_hash(found->second) != want.at("sha256").get<std::string>()) {
        fail(Exit::mismatch,
             fmt::format("'{}': {} was changed or damaged: its SHA-256 is not that of bundle.json",
                         file.string(), name));
      }
      there.erase(found);
    }
    if (!there.empty()) {
      bad(fmt::format("{} is not on the list of bundle.json", there.begin()->first));
    }
  } catch (const Json::exception& e) {
    bad(fmt::format("bundle.json cannot be understood ({})", e.what()));
  }
}

std::unique_ptr<data::Task> bundled_task(const fs::path& root) {
  if (!fs::exists(root / kExamples)) {
    return nullptr;
  }
  std::map<Index, data::Example> examples;
  const std::string content = read_file(root / kExamples);
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < content.size();) {
    const auto end = std::min(content.find('\n', begin), content.size());
    ++number;
    try {
      const Json json = Json::parse(content.substr(begin, end - begin));
      examples.emplace(json.at("number").get<Index>(), from_json(json));
    } catch (const Json::exception& e) {
      fail(Exit::usage,
           fmt::format("{}:{}: it cannot be understood ({})", kExamples, number, e.what()));
    }
    begin = end + 1;
  }
  return std::make_unique<BundledTask>(
      std::move(examples), rl::newest_checkpoint(root / "checkpoints").progress.problems_hash);
}

}  // namespace minirl::audit

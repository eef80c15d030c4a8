// minirl data/tasks/file.cpp -- the tasks jsonl and parquet: problems from a training file, every
// one once an epoch in an order that is a function of (seed, epoch), and held-out problems from
// another file. Nothing is read before the first example is asked for.
#include <mutex>
#include <numeric>

#include "core/hash.h"
#include "core/rng.h"
#include "data/dataset.h"
#include "data/task.h"

namespace minirl::data {
namespace {

class FileTask final : public Task {
 public:
  explicit FileTask(const ParamMap& p)
      : train_path_(text_param(p, "train")), eval_path_(text_param(p, "eval")) {
    options_.prompt_key = text_param(p, "prompt_key");
    options_.answer_key = text_param(p, "answer_key");
    options_.on_bad_row = text_param(p, "bad_rows") == "skip" ? OnBadRow::skip : OnBadRow::stop;
  }

  Example train_example(std::uint64_t seed, Index index) const override {
    const auto& examples = train().examples;
    const auto size = static_cast<Index>(examples.size());
    const std::lock_guard lock(mutex_);
    const Index epoch = index / size;
    if (order_.empty() || epoch != epoch_ || seed != seed_) {
      epoch_ = epoch, seed_ = seed;
      order_.resize(examples.size());
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      rng::Random random(
          rng::Key::of(seed, rng::Stream::shuffle).derive(static_cast<std::uint64_t>(epoch)));
      for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[random.below(i)]);
      }
    }
    return examples[order_[static_cast<std::size_t>(index % size)]];
  }

  SupervisedExample supervised_example(std::uint64_t, Index) const override {
    fail(Exit::usage, "data files have no worked answers to pretrain on",
         "write [pretrain] steps = 0, and model.checkpoint for a trained base model");
  }

  std::vector<Example> eval_examples(Index n) const override {
    const auto& examples = evaluation().examples;
    const auto size = static_cast<Index>(examples.size());
    if (n > size) {
      fail(Exit::usage, fmt::format("'{}' has {} problems, fewer than {}", eval_path_, size, n),
           fmt::format("--set eval.prompts={}, or 0 for all", size));
    }
    return {examples.begin(), examples.begin() + (n == 0 ? size : n)};
  }

  bool from_files() const override { return true; }
  Index prompt_bytes_max() const override { return 0; }
  Index completion_bytes_max() const override { return 0; }

  Index drop(const std::function<bool(const Example&)>& unusable) override {
    Index dropped = 0;
    for (Dataset* set : {&mutable_train(), &mutable_evaluation()}) {
      dropped += static_cast<Index>(std::erase_if(set->examples, unusable));
      if (set->examples.empty()) {
        fail(Exit::data,
             fmt::format("no problem of '{}' is left", set == &train_ ? train_path_ : eval_path_),
             "all of them were dropped");
      }
    }
    order_.clear();
    return dropped;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> out;
    for (const auto& [path, set] :
         {std::pair(&train_path_, &train()), std::pair(&eval_path_, &evaluation())}) {
      out.push_back(fmt::format("{}: {} problems (sha256 {})", *path, set->examples.size(),
                                hash_of(*set).substr(0, 16)));
      for (const auto& [reason, rows] : set->skipped) {
        out.push_back(fmt::format("{}: skipped {} rows: {}", *path, rows, reason));
      }
    }
    return out;
  }

  std::string fingerprint() const override {
    return sha256_hex(hash_of(train()) + hash_of(evaluation()));
  }

 private:
  static std::string hash_of(const Dataset& set) {
    Hasher hasher;
    for (const Example& e : set.examples) {
      for (const Message& m : e.messages) {
        hasher.add(m.role).add(m.content);
      }
      hasher.add(e.answer).add(e.label);
    }
    return hasher.hex();
  }

  const Dataset& train() const {
    std::call_once(train_once_, [this] { train_ = read_dataset(train_path_, options_); });
    return train_;
  }
  const Dataset& evaluation() const {
    std::call_once(eval_once_, [this] { eval_ = read_dataset(eval_path_, options_); });
    return eval_;
  }
  Dataset& mutable_train() { return train(), train_; }
  Dataset& mutable_evaluation() { return evaluation(), eval_; }

  std::string train_path_, eval_path_;
  DatasetOptions options_;
  mutable std::once_flag train_once_, eval_once_;
  mutable Dataset train_, eval_;
  mutable std::mutex mutex_;  // of the order of the current epoch
  mutable std::vector<std::size_t> order_;
  mutable Index epoch_ = -1;
  mutable std::uint64_t seed_ = 0;
};

// A text without a fallback is mandatory.
ParamSpec text(const char* name, const char* doc) {
  ParamSpec out;
  out.name = name;
  out.type = ScalarType::text;
  out.doc = doc;
  return out;
}

std::vector<ParamSpec> params() {
  std::vector<ParamSpec> out;
  out.push_back(text("train", "file of the training problems"));
  out.back().hint = "--set task.train=train.jsonl (minirl prepare makes such files)";
  out.push_back(text("eval", "file of the held-out problems"));
  out.back().hint = "--set task.eval=eval.jsonl";
  out.push_back(text("prompt_key", "column of the prompt: a text, or a list of messages"));
  out.back().fallback = std::string("prompt");
  out.push_back(text("answer_key",
                     "column of the gold answer; where it is missing, reward_model.ground_truth"));
  out.back().fallback = std::string("answer");
  out.push_back(
      text("bad_rows", "rows that cannot be used: stop at the first, or skip and count them"));
  out.back().fallback = std::string("stop");
  out.back().choices = {"stop", "skip"};
  return out;
}

bool add(const char* name, const char* doc) {
  return Tasks::add(
      name, {doc, "", params(), [](const ParamMap& p) { return std::make_unique<FileTask>(p); }});
}

const bool registered =
    add("jsonl", "problems from JSONL files") && add("parquet", "problems from parquet files");

}  // namespace
}  // namespace minirl::data

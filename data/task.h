// minirl data/task.h -- where problems come from. A task is a pure function of (seed, index) and,
// for the tasks that read files, of the files: a run can be replayed, resumed and cut anywhere.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/param.h"
#include "core/registry.h"
#include "data/example.h"

namespace minirl::data {

class Task {
 public:
  virtual ~Task() = default;
  /// The index-th training problem of a run; problems may repeat.
  virtual Example train_example(std::uint64_t seed, Index index) const = 0;
  /// A worked answer of mixed quality to a training problem, for making a base model.
  virtual SupervisedExample supervised_example(std::uint64_t seed, Index index) const = 0;
  /// The first n held-out problems, all different, the same for every seed. Whether a problem is
  /// held out is a property of the problem alone (about one in kHeldOutShare), and the two
  /// functions above draw only from the others. Fails with Exit::usage when the task has fewer.
  /// A task of files has a file of held-out problems; n = 0: all of it.
  virtual std::vector<Example> eval_examples(Index n) const = 0;
  /// Longest prompt and longest good completion, in bytes.
  virtual Index prompt_bytes_max() const = 0;
  virtual Index completion_bytes_max() const = 0;

  /// Problems come from files: lengths are not known before they are read, there are no worked
  /// answers.
  virtual bool from_files() const { return false; }
  /// Leaves out the problems that `unusable` says; returns how many. Before the first example is
  /// asked for; only for tasks of files.
  virtual Index drop(const std::function<bool(const Example&)>& unusable);
  /// What was read and what was left out, for the log.
  virtual std::vector<std::string> notes() const { return {}; }
  /// SHA-256 over all problems in their order, after drop(); empty for tasks that no file enters, whose
  /// problems the configuration alone decides.
  virtual std::string fingerprint() const { return {}; }
};

/// One problem in this many is held out for evaluation.
inline constexpr int kHeldOutShare = 8;
/// Decides by a hash of the problem's identity (equal for problems that only differ in the order of
/// numbers), which no seed enters.
bool held_out(std::uint64_t identity);

/// The share of each quality among worked answers: keys fraction_unboxed, fraction_wrong and
/// fraction_malformed; the rest is good. For tasks to put among their parameters.
std::vector<ParamSpec> mixture_params(double unboxed, double wrong, double malformed);
struct Mixture {
  double unboxed = 0, wrong = 0, malformed = 0;
  /// Throws Exit::usage when the fractions exceed 1 together.
  static Mixture of(const ParamMap& params);
  /// The quality for a uniform number in [0, 1).
  Quality pick(double uniform) const;
};

struct TaskInfo {
  std::string doc;
  std::string reward;  // the reward that its answers are meant for; empty: any
  std::vector<ParamSpec> params;
  std::function<std::unique_ptr<Task>(const ParamMap&)>
      make;  // parameters checked against `params`
};
using Tasks = Registry<TaskInfo>;

/// Builds a task; defaults are filled in. Throws Exit::usage for an unknown name or parameter.
std::unique_ptr<Task> make_task(const std::string& name, ParamMap params = {});

}  // namespace minirl::data

// minirl data/task.h -- where problems come from. A task is a pure function of (seed, index): no
// state, no files, so a run can be replayed from its config alone and batches may be cut anywhere.
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
  virtual std::vector<Example> eval_examples(Index n) const = 0;
  /// Longest prompt and longest good completion, in bytes.
  virtual Index prompt_bytes_max() const = 0;
  virtual Index completion_bytes_max() const = 0;
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
  std::string reward;  // the reward that its answers are meant for
  std::vector<ParamSpec> params;
  std::function<std::unique_ptr<Task>(const ParamMap&)>
      make;  // parameters checked against `params`
};
using Tasks = Registry<TaskInfo>;

/// Builds a task; defaults are filled in. Throws Exit::usage for an unknown name or parameter.
std::unique_ptr<Task> make_task(const std::string& name, ParamMap params = {});

}  // namespace minirl::data

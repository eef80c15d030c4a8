// minirl rl/summary.h -- what a run achieved, read back from its folder: for the terminal and the
// report.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "rl/statistics.h"

namespace minirl::rl {

struct SampleRow {
  std::string text, extracted, why;
  double reward = 0;
  Index tokens = 0;
  bool stopped = false;
};

struct ProblemRow {
  std::string prompt, answer;
  std::vector<SampleRow> samples;
};

/// One file of eval/.
struct Evaluation {
  Index step = 0, problems = 0, samples = 0;
  double temperature = 1;
  Interval average, pass, majority;
  double length_mean = 0, truncated_frac = 0, answered_frac = 0;
  std::vector<ProblemRow> rows;
};

/// All evaluations of a run, by step. Throws Exit::usage when a file is not what minirl writes.
std::vector<Evaluation> read_evaluations(const std::filesystem::path& run);
/// One such document; `name` is what errors call it.
Evaluation parse_evaluation(const std::string& document, const std::string& name);

/// Were both about the same problems, in the same order?
bool same_problems(const Evaluation& a, const Evaluation& b);
/// The difference of avg@k between two evaluations of the same problems, with its interval.
Interval improvement(const Evaluation& before, const Evaluation& after);

/// The table before/after and the first `examples` problems, with the first sample of each: the
/// problems are not chosen by how well they look. One evaluation alone makes one column.
std::string summary_text(const std::vector<Evaluation>& evaluations, int examples);

/// "\n" and other control bytes made visible, at most `limit` bytes (0: all).
std::string visible(const std::string& text, std::size_t limit = 0);

}  // namespace minirl::rl

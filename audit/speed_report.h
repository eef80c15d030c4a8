// minirl audit/speed_report.h -- what `minirl bench` measures, and as text, JSON and a page.
#pragma once
#include <optional>

#include "audit/speed.h"
#include "audit/step_speed.h"
#include "rl/plot.h"

namespace minirl::audit {

/// One measured speed.
struct SpeedRow {
  std::string name;
  Spread tokens_per_s;  // median and middle half over the repetitions
  double gflops = 0;    // useful operations, at the median
  double fma_share = 0;
  double gbytes_per_s = 0;  // of reads that a decoding step cannot do without; 0: not a matter of bytes
  double bandwidth_share = 0;
  Index peak_bytes = 0;  // of tensors while it ran
};

/// Speed over one quantity that grows.
struct GrowthCurve {
  std::string title, x_label, y_label;
  std::vector<rl::PlotPoint> points;
};

struct SpeedReport {
  std::string subject;
  std::string simd;
  int threads = 1;
  Index parameters = 0;
  double fma_peak_gflops = 0, bandwidth_gbytes = 0;
  double loss = 0;  // of the training batch under the weights as they were: for a comparison with others
  std::vector<SpeedRow> rows;
  std::optional<StepSpeed> step;
  std::vector<GrowthCurve> growth;
  Index peak_resident_bytes = 0;  // of the process
};

struct SpeedOptions {
  double seconds = 1;  // that a row is repeated for; at least five times
  Index sequences = 16, length = 128;    // of a training step
  Index prompt = 16, new_tokens = 112;   // of a completion
  std::vector<Index> batches = {1, 16, 64};
  bool growth = false;
  std::function<bool()> interrupted = {};
};

/// Trains (which changes the weights) and samples `model`. Lengths are cut to the model's positions.
SpeedReport measure_speed(Decoder& model, const SpeedOptions& options, const Exec& exec);

std::string speed_text(const SpeedReport& report);
std::string speed_json(const SpeedReport& report);
/// One self-contained page.
std::string speed_html(const SpeedReport& report);

}  // namespace minirl::audit

#include <algorithm>

#include "audit/machine_peak.h"
#include "audit/speed_report.h"
#include "core/stopwatch.h"

namespace minirl::audit {
namespace {

constexpr int kLeastRepeats = 5;

class Bench {
 public:
  Bench(const SpeedOptions& options, const Exec& exec) : options_(options), exec_(exec) {}

  /// Seconds of repeated calls, after one that is not counted.
  std::vector<double> repeat(double budget, const std::function<void()>& body) const {
    body();
    std::vector<double> out;
    const Stopwatch whole;
    while (out.size() < kLeastRepeats || (whole.seconds() < budget && out.size() < 1000)) {
      if (options_.interrupted && options_.interrupted()) {
        throw Error(Exit::interrupted, "the measurement was interrupted");
      }
      const Stopwatch watch;
      body();
      out.push_back(watch.seconds());
    }
    return out;
  }

  SpeedRow row(std::string name, double tokens, double flop, double bytes,
               const SpeedReport& machine, const std::function<void()>& body) const {
    Arena::global().reset_peak();
    std::vector<double> rates;
    for (const double s : repeat(options_.seconds, body)) {
      rates.push_back(tokens / s);
    }
    SpeedRow out{std::move(name), spread_of(std::move(rates))};
    const double seconds = tokens / out.tokens_per_s.median;
    out.gflops = flop / seconds / 1e9;
    out.gbytes_per_s = bytes / seconds / 1e9;
    out.fma_share = out.gflops / machine.fma_peak_gflops;
    out.bandwidth_share = out.gbytes_per_s / machine.bandwidth_gbytes;
    out.peak_bytes = static_cast<Index>(Arena::global().stats().peak_bytes);
    return out;
  }

  rl::PlotPoint point(double x, double amount, const std::function<void()>& body) const {
    std::vector<double> rates;
    for (const double s : repeat(options_.seconds / 4, body)) {
      rates.push_back(amount / s);
    }
    const Spread y = spread_of(std::move(rates));
    return {x, y.median, y.low, y.high};
  }

  void growth(Decoder& model, SpeedReport& report) const;

 private:
  const SpeedOptions& options_;
  const Exec& exec_;
};

void Bench::growth(Decoder& model, SpeedReport& report) const {
  const ModelConfig& c = model.config();
  const Index room = c.max_positions - 1;
  GrowthCurve tokens{"Training over the tokens of a step", "tokens", "tokens/s", {}};
  const Index length = std::min(options_.length, room);
  for (Index sequences = 1; sequences <= 2 * options_.sequences; sequences *= 2) {
    TrainSpeed speed(model, sequences, length);
    tokens.points.push_back(point(speed.tokens(), speed.tokens(), [&] { speed.step(exec_); }));
  }
  GrowthCurve context{"Training over the length of a sequence", "tokens of a sequence", "tokens/s", {}};
  for (Index n = 32; n <= std::min<Index>(room, 2048); n *= 2) {
    TrainSpeed speed(model, std::max<Index>(1, options_.sequences * options_.length / n), n);
    context.points.push_back(point(static_cast<double>(n), speed.tokens(), [&] { speed.step(exec_); }));
  }
  GrowthCurve group{"Sampling over the size of a group (one prompt, shared)", "completions of a prompt", "tokens/s", {}};
  const Index prompt = std::min(options_.prompt, room / 2);
  const Index fresh = std::min(options_.new_tokens, room - prompt);
  for (Index n = 1; n <= 128; n *= 2) {
    SampleSpeed speed = SampleSpeed::group(model, n, prompt, fresh);
    group.points.push_back(point(static_cast<double>(n), speed.tokens(), [&] { speed.run(exec_); }));
  }
  GrowthCurve vocabulary{"Training over the vocabulary", "ids", "tokens/s", {}};
  for (Index v = 512; v <= 32768; v *= 4) {
    ModelConfig other = c;
    other.vocab_size = v;
    const auto changed = make_decoder(other, DType::f32, 1);
    TrainSpeed speed(*changed, options_.sequences, length);
    vocabulary.points.push_back(point(static_cast<double>(v), speed.tokens(), [&] { speed.step(exec_); }));
  }
  report.growth = {std::move(tokens), std::move(context), std::move(vocabulary), std::move(group)};
}

}  // namespace

SpeedReport measure_speed(Decoder& model, const SpeedOptions& options, const Exec& exec) {
  const Bench bench(options, exec);
  SpeedReport report;
  report.simd = name(active_isa());
  report.threads = exec.threads;
  report.parameters = model.params().numel();
  report.fma_peak_gflops = fma_peak(exec.threads);
  report.bandwidth_gbytes = read_bandwidth(exec.threads);
  const Index room = model.config().max_positions - 1;
  const Index length = std::min(options.length, room);
  const Index prompt = std::min(options.prompt, room / 2);
  const Index fresh = std::min(options.new_tokens, room - prompt);
  for (const Index batch : options.batches) {  // first: the weights are as they came
    SampleSpeed speed(model, batch, prompt, fresh);
    report.rows.push_back(bench.row(fmt::format("sample, batch {}, {} new tokens", batch, fresh), speed.tokens(),
                                    speed.flop(), speed.bytes(), report, [&] { speed.run(exec); }));
  }
  TrainSpeed training(model, options.sequences, length);
  report.loss = training.loss(exec);
  report.rows.insert(report.rows.begin(), bench.row(fmt::format("train, {} x {} tokens", options.sequences, length), training.tokens(),
                                                    training.flop(), 0, report, [&] { training.step(exec); }));
  if (options.growth) {
    bench.growth(model, report);
  }
  // The machine may have been busier at the beginning: the better of two looks is its ceiling.
  const double again = fma_peak(exec.threads);
  if (again > report.fma_peak_gflops) {
    for (SpeedRow& row : report.rows) {
      row.fma_share *= report.fma_peak_gflops / again;
    }
    report.fma_peak_gflops = again;
  }
  return report;
}

}  // namespace minirl::audit

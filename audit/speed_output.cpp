#include <nlohmann/json.hpp>

#include "audit/speed_report.h"
#include "rl/html_page.h"
#include "rl/memory_plan.h"

namespace minirl::audit {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) {
  return share > 0 ? fmt::format("{:.0f}%", 100 * share) : "";
}

Json spread_json(const Spread& s) {
  return {{"median", s.median}, {"low", s.low}, {"high", s.high}};
}

std::string machine_words(const SpeedReport& r) {
  return fmt::format("{} parameters, {} threads, {}; this machine now: {:.0f} GFLOP/s of fused multiply-adds, {:.1f} GB/s of reads",
                     r.parameters, r.threads, r.simd, r.fma_peak_gflops, r.bandwidth_gbytes);
}

std::string step_words(const StepSpeed& s) {
  std::string out = fmt::format("{:.3f} s [{:.3f}, {:.3f}] for {} completions and {} updates; sampling {:.0f}, training {:.0f} tokens/s",
                                s.seconds.median, s.seconds.low, s.seconds.high, s.completions, s.updates, s.sample_tokens_per_s,
                                s.train_tokens_per_s);
  if (s.silent_seconds.median > 0) {
    out += fmt::format("; ledger, token trail and files {:.1f}% [{:.1f}, {:.1f}], tripwires {:.2f}%", 100 * s.watched_share.median,
                       100 * s.watched_share.low, 100 * s.watched_share.high, 100 * s.tripwire_seconds / s.seconds.median);
  }
  return out;
}

}  // namespace

std::string speed_text(const SpeedReport& r) {
  std::string out = fmt::format("{}\n{}\n\n{:34} {:>10} {:>19} {:>9} {:>7} {:>7} {:>7} {:>10}\n", r.subject, machine_words(r), "", "tokens/s",
                                "[middle half]", "GFLOP/s", "of fma", "GB/s", "of read", "tensors");
  for (const SpeedRow& row : r.rows) {
    out += fmt::format("{:34} {:>10.0f} {:>19} {:>9.1f} {:>7} {:>7} {:>7} {:>10}\n", row.name, row.tokens_per_s.median,
                       fmt::format("[{:.0f}, {:.0f}]", row.tokens_per_s.low, row.tokens_per_s.high), row.gflops, percent(row.fma_share),
                       row.gbytes_per_s > 0 ? fmt::format("{:.1f}", row.gbytes_per_s) : "", percent(row.bandwidth_share),
                       rl::binary_bytes(row.peak_bytes));
  }
  if (r.step) {
    out += "\nstep of a run: " + step_words(*r.step) + "\n";
  }
  for (const GrowthCurve& curve : r.growth) {
    out += fmt::format("\n{}\n", curve.title);
    for (const rl::PlotPoint& p : curve.points) {
      out += fmt::format("  {:>8.0f} {:24} {:>10.0f} {}  [{:.0f}, {:.0f}]\n", p.x, curve.x_label, p.y, curve.y_label, p.low, p.high);
    }
  }
  out += fmt::format("\npeak memory of the process {}; loss of the batch under the first weights {:.6f} nats\n", rl::binary_bytes(r.peak_resident_bytes), r.loss);
  return out;
}

std::string speed_json(const SpeedReport& r) {
  Json rows = Json::array();
  for (const SpeedRow& row : r.rows) {
    rows.push_back({{"name", row.name},
                    {"tokens_per_s", spread_json(row.tokens_per_s)},
                    {"gflop_per_s", row.gflops},
                    {"fma_share", row.fma_share},
                    {"gbyte_per_s", row.gbytes_per_s},
                    {"bandwidth_share", row.bandwidth_share},
                    {"peak_tensor_bytes", row.peak_bytes}});
  }
  Json out = {{"format", 1},
              {"subject", r.subject},
              {"simd", r.simd},
              {"threads", r.threads},
              {"parameters", r.parameters},
              {"fma_peak_gflop_per_s", r.fma_peak_gflops},
              {"read_gbyte_per_s", r.bandwidth_gbytes},
              {"loss_nats", r.loss},
              {"peak_resident_bytes", r.peak_resident_bytes},
              {"rows", rows}};
  if (r.step) {
    out["step"] = {{"steps", r.step->steps},
                   {"seconds", spread_json(r.step->seconds)},
                   {"completions", r.step->completions},
                   {"updates", r.step->updates},
                   {"sample_tokens_per_s", r.step->sample_tokens_per_s},
                   {"train_tokens_per_s", r.step->train_tokens_per_s}};
    if (r.step->silent_seconds.median > 0) {
      out["step"]["silent_seconds"] = spread_json(r.step->silent_seconds);
      out["step"]["watched_share"] = spread_json(r.step->watched_share);
      out["step"]["tripwire_seconds"] = r.step->tripwire_seconds;
    }
  }
  for (const GrowthCurve& curve : r.growth) {
    Json points = Json::array();
    for (const rl::PlotPoint& p : curve.points) {
      points.push_back({{"x", p.x}, {"median", p.y}, {"low", p.low}, {"high", p.high}});
    }
    out["growth"].push_back({{"title", curve.title}, {"x", curve.x_label}, {"y", curve.y_label}, {"points", points}});
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string speed_html(const SpeedReport& r) {
  std::string body = fmt::format("<h1>Speed</h1><p class=\"dim\">{}; {}</p><table class=\"results\"><tr><th></th><th>tokens/s</th><th>middle half</th>"
                                 "<th>GFLOP/s</th><th>of the fma peak</th><th>GB/s</th><th>of the read bandwidth</th><th>tensors</th></tr>",
                                 rl::html_escape(r.subject), machine_words(r));
  for (const SpeedRow& row : r.rows) {
    body += fmt::format("<tr><td>{}</td><td>{:.0f}</td><td>{:.0f} to {:.0f}</td><td>{:.1f}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                        rl::html_escape(row.name), row.tokens_per_s.median, row.tokens_per_s.low, row.tokens_per_s.high, row.gflops,
                        percent(row.fma_share), row.gbytes_per_s > 0 ? fmt::format("{:.1f}", row.gbytes_per_s) : "",
                        percent(row.bandwidth_share), rl::binary_bytes(row.peak_bytes));
  }
  body += fmt::format("</table><p class=\"dim\">Useful operations and unavoidable reads only. Small models stay in the caches: reads may then be more than "
                      "memory could give. Peak memory of the process {}.</p>",
                      rl::binary_bytes(r.peak_resident_bytes));
  if (r.step) {
    body += fmt::format("<h2>A step of a run</h2><p>{}</p>", step_words(*r.step));
  }
  std::string figures;
  rl::Plot rates{"Tokens a second", "median of the repetitions; bars: the middle half", "sequences at once", {}};
  rl::PlotSeries sampling{"sampling", {}, true};
  for (const SpeedRow& row : r.rows) {
    double batch = 0;
    if (row.name.rfind("sample, batch ", 0) == 0) {
      batch = std::strtod(row.name.c_str() + 14, nullptr);
      sampling.points.push_back({batch, row.tokens_per_s.median, row.tokens_per_s.low, row.tokens_per_s.high});
    }
  }
  rates.y_min = 0;
  rates.series = {sampling};
  figures += rl::plot_figure(rates);
  for (const GrowthCurve& curve : r.growth) {
    rl::Plot plot{curve.title, curve.y_label, curve.x_label, {{curve.y_label, curve.points, true}}};
    plot.y_min = 0;
    figures += rl::plot_figure(plot);
  }
  return rl::html_page("Speed", body + "<div class=\"grid2\">" + figures + "</div>");
}

}  // namespace minirl::audit

#include <nlohmann/json.hpp>

#include "audit/parity.h"

namespace minirl::audit {

std::string parity_text(const ParityReport& report) {
  std::string out = fmt::format(
      "{} tokens sampled in {} completions ({} rounds); each computed again in every way below and "
      "compared as bits with the log-probability that sampling recorded\n\n"
      "{:<20}{:>12}{:>12}{:>12}  {}\n",
      report.sampled, report.sequences, report.rounds, "what must not matter", "compared",
      "differing", "worst ulp", "variants");
  for (const ParityAxis& a : report.axes) {
    out += fmt::format("{:<20}{:>12}{:>12}{:>12}  {}\n", a.name, a.compared, a.differing, a.ulp_max,
                       a.variants);
  }
  out += fmt::format("{:<20}{:>12}{:>12}\n", "all", report.compared(), report.differing());
  for (const ParityAxis& a : report.axes) {
    if (!a.first) {
      continue;
    }
    const ParityDifference& d = *a.first;
    out += fmt::format(
        "\n{}, {}: first difference in completion {} of round {}, token {} (id {}): {}\n  {}\n",
        a.name, d.variant, d.sequence, d.round, d.position, d.id,
        d.other_token ? std::string("sampling again drew another token")
                      : fmt::format("{:.9g} recorded, {:.9g} computed, {} ulp apart", d.recorded,
                                    d.computed, d.ulp),
        d.words);
  }
  out +=
      report.differing() == 0
          ? fmt::format("\nequal to the bit, all of them, in {:.1f} s\n", report.seconds)
          : fmt::format("\n{} of {} comparisons differ\n", report.differing(), report.compared());
  return out;
}

std::string parity_json(const ParityReport& report) {
  using Json = nlohmann::ordered_json;
  Json doc = {{"format", 1},
              {"sampled_tokens", report.sampled},
              {"completions", report.sequences},
              {"rounds", report.rounds},
              {"compared", report.compared()},
              {"differing", report.differing()},
              {"axes", Json::array()}};
  for (const ParityAxis& a : report.axes) {
    Json axis = {{"name", a.name},           {"variants", a.variants}, {"compared", a.compared},
                 {"differing", a.differing}, {"ulp_max", a.ulp_max},   {"first", nullptr}};
    if (a.first) {
      const ParityDifference& d = *a.first;
      axis["first"] = {{"variant", d.variant},
                       {"round", d.round},
                       {"completion", d.sequence},
                       {"token", d.position},
                       {"id", d.id},
                       {"recorded", d.recorded},
                       {"computed", d.computed},
                       {"ulp", d.ulp},
                       {"other_token", d.other_token},
                       {"op", d.op},
                       {"row", d.row},
                       {"element", d.element},
                       {"op_recorded", d.op_recorded},
                       {"op_computed", d.op_computed},
                       {"words", d.words}};
    }
    doc["axes"].push_back(axis);
  }
  return doc.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace minirl::audit

// tests/rl/report_support.h -- folders that look like those of runs, with whatever a test wants in them.
#pragma once
#include <cmath>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/zstd_stream.h"
#include "model/temporary.h"
#include "rl/config.h"
#include "rl/report.h"

namespace minirl::test {

using Json = nlohmann::json;

/// What a policy must not be able to do to a page: markup, quotes, NUL, ill-formed UTF-8, marks of
/// direction, and length.
inline std::string hostile_text() {
  return std::string("</script><script>window.harmed=1</script><img src=x onerror=window.harmed=1>\"'&\n") +
         std::string(1, '\0') + "\x1b[31m \xff\xfe \xe2\x80\xae" "desrever\xe2\x80\xac \xe2\x80\x8b]]>--> \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d";
}

/// Bytes as a JSON text; nlohmann refuses ill-formed UTF-8, a damaged file may hold it.
inline std::string raw_json(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') { out += '\\'; }
    out += static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\u{:04x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out + "\"";
}

class MadeRun {
 public:
  explicit MadeRun(const std::string& name = "made", const std::string& settings = "") : folder(root_.path() / name) {
    make_directory(folder);
    const auto loaded = rl::load_config({ConfigSource::text("test", "[algorithm]\nname = \"drpo\"\ndelta = 0.2\n" + settings)});
    write_file_atomic(folder / "config.resolved.toml", loaded.resolved_toml());
    write_file_atomic(folder / "env.json", R"({"format": 1, "starts": [{"build": {"version": "9.9"}, "machine": {"processor": "abacus"}}]})");
  }

  /// `steps` train steps with the metrics of `row(step)`.
  template <class F>
  void metrics(Index steps, F row) const {
    std::string out = "{\"kind\": \"run\", \"format\": 1}\n";
    for (Index s = 1; s <= steps; ++s) {
      Json line = row(s);
      line["kind"] = "train";
      line["step"] = s;
      out += line.dump() + "\n";
    }
    write_file_atomic(folder / "metrics.jsonl", out);
  }

  void evaluation(Index step, const std::string& text, double reward) const {
    make_directory(folder / "eval");
    const Json interval = {{"value", reward}, {"lower", reward / 2}, {"upper", 1}, {"confidence", 0.95}, {"method", "made up"}};
    Json doc = {{"step", step}, {"problems", 2}, {"samples", 1}, {"temperature", 1.0}, {"avg_at_k", interval}, {"pass_at_k", interval},
                {"length_mean_tokens", 3.0}, {"truncated_frac", 0.0}, {"answered_frac", 1.0}, {"rows", Json::array()}};
    for (int i = 0; i < 2; ++i) {
      doc["rows"].push_back({{"prompt", fmt::format("problem {}", i)}, {"answer", "4"}, {"completions", {{{"text", "@"}, {"reward", reward}, {"extracted", "4"}, {"why", "@"}, {"tokens", 3}, {"stopped", true}}}}});
    }
    std::string out = doc.dump();
    for (std::size_t at = 0; (at = out.find("\"@\"", at)) != std::string::npos;) {
      const std::string with = raw_json(text);
      out.replace(at, 3, with);
      at += with.size();
    }
    write_file_atomic(folder / "eval" / fmt::format("step-{:06}.json", step), out);
  }

  /// One completion of `tokens` tokens with that text, behind one token of prompt.
  void trail(Index step, Index tokens, const std::string& text) const {
    make_directory(folder / "tokens");
    data::ZstdWriter file(folder / "tokens" / fmt::format("step-{:06}.jsonl.zst", step));
    Json head = {{"step", step}, {"update", 1}, {"sequence", 7}, {"group", 0}, {"sample", 7}, {"example", 3}};
    const auto line = [&](const char* part, Index t, Json more) {
      more.update(head);
      more.update({{"part", part}, {"t", t}, {"id", 65}, {"text", text}});
      file.write(more.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    };
    line("prompt", 0, {{"masks", {"prompt"}}, {"why", {"prompt: given"}}});
    for (Index t = 0; t < tokens; ++t) {
      const bool masked = t == 1;
      line("completion", t,
           {{"mu", 0.5}, {"pi", 0.75}, {"ratio", 1.5}, {"tv", 0.25}, {"kl", 0.0945}, {"A", 1.0}, {"divergence", 0.25}, {"w", masked ? 0.0 : -0.25}, {"g", masked ? 0.0 : 0.375}, {"share", 0.01},
            {"entropy", 0.69}, {"masks", masked ? Json({"divergence_positive"}) : Json::array()}, {"why", masked ? Json({"drpo: moving away and D > delta </script>"}) : Json::array()}});
    }
    file.commit();
  }

 private:
  TemporaryDirectory root_;

 public:
  std::filesystem::path folder;
};

inline std::string page_of(const std::vector<std::filesystem::path>& folders) { return rl::report_html(rl::OpenRuns(folders)); }

/// Metrics of a step of a run that learns.
inline Json learning(Index step) {
  const double x = static_cast<double>(step);
  return {{"reward/mean", 1 - std::exp(-x / 20)}, {"rollout/length_mean", 20 + x / 10}, {"rollout/length_max", 48}, {"policy/entropy", 1 / x}, {"policy/prob_absdiff_mean", 0.01 / x},
          {"policy/approx_kl", 0.001 / x}, {"policy/masked_positive_fraction", 0.01}, {"policy/masked_negative_fraction", 0.02}, {"train/grad_norm", 0.1 + 1 / x}, {"train/loss", -0.1 / x},
          {"update/bf16_changed_share", 0.5}, {"perf/sample_tokens_per_s", 10000}, {"perf/train_tokens_per_s", 9000}, {"perf/step_s", 1.5}, {"perf/memory_bytes", 1048576}};
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) { ++n; }
  return n;
}

}  // namespace minirl::test

#include "rl/metric_log.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace minirl::rl {
namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    char pattern[] = "/tmp/minirl_metrics_XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("rl/metric_log: numbers read back to the same bits, and no value makes invalid JSON") {
  const double inf = std::numeric_limits<double>::infinity();
  MetricRow row("train", 3);
  const std::vector<double> values = {
      0.1, -0.0, 1.0 / 3, 1e300, 5e-324, 123456789.0, -7, 1e16, 0.30000000000000004};
  for (std::size_t i = 0; i < values.size(); ++i) {
    row.put(fmt::format("v{}", i), values[i]);
  }
  row.put("nan", std::nan(""))
      .put("inf", inf)
      .put("minus", -inf)
      .put("a \"quoted\" key", 1)
      .put("text", std::string_view("line\nbreak"));
  const auto json = nlohmann::json::parse(row.json());
  CHECK(json.at("kind") == "train");
  CHECK(json.at("step") == 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double back = json.at(fmt::format("v{}", i)).get<double>();
    const double want = values[i] == 0 ? 0.0 : values[i];  // JSON integers have no negative zero
    CHECK(std::memcmp(&back, &want, sizeof back) == 0);
  }
  CHECK(json.at("nan").is_null());
  CHECK(json.at("inf").is_null());
  CHECK(json.at("nonfinite") == nlohmann::json({"nan", "inf", "minus"}));
  CHECK(json.at("text") == "line\nbreak");
}

TEST_CASE("rl/metric_log: reopening keeps whole lines and drops a torn one") {
  const Folder dir;
  const auto file = dir.path / "metrics.jsonl";
  {
    MetricLog log(file);
    log.write_header(R"({"kind":"run"})");
    log.write(MetricRow("pretrain", 1));
    log.write(MetricRow("train", 1));
  }
  const std::string whole = read_file(file);
  write_file_atomic(file, whole + R"({"kind": "train", "st)");
  MetricLog log(file);
  CHECK(read_file(file) == whole);
  CHECK(log.has("train", 1));
  CHECK_FALSE(log.has("train", 2));
  log.write_header(R"({"kind":"run","again":1})");  // there is one already
  log.write(MetricRow("train", 2));
  CHECK(read_file(file) == whole + MetricRow("train", 2).json() + "\n");
}

TEST_CASE("rl/metric_log: rows after the resumed step are dropped, the others stay byte for byte") {
  const Folder dir;
  const auto file = dir.path / "metrics.jsonl";
  MetricLog log(file);
  log.write_header(R"({"kind":"run"})");
  std::string kept = "{\"kind\":\"run\"}\n";
  for (Index s = 1; s <= 6; ++s) {
    MetricRow row("train", s);
    row.put("x", 0.1 * static_cast<double>(s));
    log.write(row);
    if (s <= 4) {
      kept += row.json() + "\n";
    }
  }
  log.keep_only([](std::string_view kind, Index step) { return kind != "train" || step <= 4; });
  CHECK(read_file(file) == kept);
  CHECK_FALSE(log.has("train", 5));
  log.write(MetricRow("train", 5));  // the handle follows the replaced file
  CHECK(read_file(file) == kept + MetricRow("train", 5).json() + "\n");
}

}  // namespace minirl::rl

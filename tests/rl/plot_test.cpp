#include "rl/plot.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace minirl::rl {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++n;
  }
  return n;
}

Plot line(std::vector<PlotPoint> points) {
  Plot p;
  p.x_label.append("step");
  p.series.push_back({"", std::move(points), false, false});
  return p;
}

}  // namespace

TEST_CASE("rl/plot: ticks are round, inside the range and evenly spaced") {
  for (const auto& range : {std::pair(0.0, 1.0),
                            {-0.0093, 0.0001},
                            {3.0, 8.0},
                            {0.0, 1e6},
                            {1e-9, 3e-9},
                            {-5.0, 5.0},
                            {99.9, 100.1}}) {
    const double low = range.first;
    const double high = range.second;
    const auto ticks = nice_ticks(low, high, 5);
    CAPTURE(low);
    CAPTURE(high);
    REQUIRE(ticks.size() >= 2);
    REQUIRE(ticks.size() <= 11);
    CHECK(ticks.front() >= low - 1e-9 * (high - low));
    CHECK(ticks.back() <= high + 1e-9 * (high - low));
    const double step = ticks[1] - ticks[0];
    const double mantissa = step / std::pow(10.0, std::floor(std::log10(step * (1 + 1e-12))));
    CHECK((std::abs(mantissa - 1) < 1e-6 || std::abs(mantissa - 2) < 1e-6 ||
           std::abs(mantissa - 5) < 1e-6));
  }
  CHECK(nice_ticks(1, 1, 5).empty());
  CHECK(nice_ticks(0, std::nan(""), 5).empty());
}

TEST_CASE("rl/plot: a point that is not finite breaks the line; nothing finite makes no figure") {
  const double nan = std::nan("");
  const std::string whole = plot_figure(line({{1, 1}, {2, 2}, {3, 3}, {4, 4}}));
  const std::string broken = plot_figure(line({{1, 1}, {2, 2}, {3, nan}, {4, 4}, {5, 5}}));
  const auto moves = [](const std::string& svg) {
    const auto begin = svg.find(" d=\"");
    return count(svg.substr(begin, svg.find('"', begin + 4) - begin), "M");
  };
  CHECK(moves(whole) == 1);
  CHECK(moves(broken) == 2);
  CHECK(plot_figure(line({})).empty());
  CHECK(plot_figure(line({{1, nan}})).empty());
  for (const char* bad : {"nan", "inf"}) {
    CHECK(broken.find(bad) == std::string::npos);
  }
}

TEST_CASE("rl/plot: constant, single and huge data have a sensible frame") {
  for (const auto& points : std::vector<std::vector<PlotPoint>>{
           {{1, 0}}, {{1, 5}, {2, 5}}, {{0, 1e300}, {1, -1e300}}, {{0, 1e-300}, {1, 2e-300}}}) {
    const std::string svg = plot_figure(line(points));
    CHECK(count(svg, "<path") == 1);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
  }
}

TEST_CASE(
    "rl/plot: many points are thinned, none of the extremes is lost; texts are escaped; the values are JSON") {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 100000; ++i) {
    points.push_back({static_cast<double>(i), std::sin(i * 1e-3)});
  }
  points[31415].y = 7;  // one step of a hundred thousand
  points[27182].y = -9;
  Plot p = line(points);
  p.title.append("<b> & \"x\"");
  p.series[0].name.append("</script>");
  const std::string svg = plot_figure(p);
  CHECK(svg.size() < 100000);
  CHECK(svg.find("&lt;b&gt; &amp; &quot;x&quot;") != std::string::npos);
  CHECK(count(svg, "</script>") == 1);
  const auto begin = svg.find("application/json\">") + 18;
  const auto json = nlohmann::json::parse(svg.substr(begin, svg.find("</script>") - begin));
  const auto& series = json.at("series").at(0);
  CHECK(series.at("name") == "</script>");
  CHECK(series.at("x").size() == 360);
  CHECK(series.at("each") == 278);
  const auto high = series.at("high").get<std::vector<double>>();
  const auto low = series.at("low").get<std::vector<double>>();
  CHECK(*std::max_element(high.begin(), high.end()) == 7);
  CHECK(*std::min_element(low.begin(), low.end()) == -9);
}

TEST_CASE("rl/plot: a logarithmic axis leaves out what has no logarithm") {
  Plot p = line({{1, 0}, {2, 0.01}, {3, 10}, {4, -1}});
  p.logarithmic = true;
  const std::string svg = plot_figure(p);
  CHECK(svg.find(">0.1<") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
}

}  // namespace minirl::rl

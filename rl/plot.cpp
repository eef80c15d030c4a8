#include "rl/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace minirl::rl {
namespace {

constexpr double kWidth = 420, kHeight = 240;  // letters stay readable on a phone
constexpr double kLeft = 52, kRight = 12, kTop = 12, kBottom = 38;
constexpr std::size_t kMostPoints = 360;  // about as many as pixels
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// From data to the coordinates of the picture.
struct Frame {
  double x0, x1, y0, y1;  // limits of the data (y0, y1 as logarithms where the axis is logarithmic)
  bool logarithmic;
  double x(double v) const { return kLeft + (v - x0) / (x1 - x0) * (kWidth - kLeft - kRight); }
  double y(double v) const {
    return kHeight - kBottom -
           ((logarithmic ? std::log10(v) : v) - y0) / (y1 - y0) * (kHeight - kTop - kBottom);
  }
};

bool usable(const PlotPoint& p, bool logarithmic) {
  return std::isfinite(p.x) && std::isfinite(p.y) && (!logarithmic || p.y > 0);
}

// Equal stretches of a series of too many points: their mean, and their smallest and largest value
// as interval. `x` is that of the first point; a stretch without a finite point breaks the line.
std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points) {
  if (points.size() <= kMostPoints) {
    return points;
  }
  std::vector<PlotPoint> out;
  for (std::size_t i = 0; i < kMostPoints; ++i) {
    const std::size_t begin = points.size() * i / kMostPoints;
    const std::size_t end = points.size() * (i + 1) / kMostPoints;
    PlotPoint stretch{points[begin].x, kNaN, kNaN, kNaN};
    double sum = 0;
    double count = 0;
    for (std::size_t j = begin; j < end; ++j) {
      const PlotPoint& p = points[j];
      if (!std::isfinite(p.y)) {
        continue;
      }
      sum += p.y;
      count += 1;
      const double low = std::isfinite(p.low) ? p.low : p.y;
      const double high = std::isfinite(p.high) ? p.high : p.y;
      stretch.low = low < stretch.low || count == 1 ? low : stretch.low;
      stretch.high = high > stretch.high || count == 1 ? high : stretch.high;
    }
    stretch.y = sum / count;  // NaN without any
    out.push_back(stretch);
  }
  return out;
}

// Mean of the points around each one; a point that is not finite is left out.
std::vector<PlotPoint> moving_mean(const std::vector<PlotPoint>& points) {
  const std::size_t half = std::max<std::size_t>(1, points.size() / 30);
  std::vector<PlotPoint> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t near =
        std::min({half, i, points.size() - 1 - i});  // symmetric, so that it does not lag
    double sum = 0;
    double count = 0;
    for (std::size_t j = i - near; j <= i + near; ++j) {
      if (!std::isfinite(points[j].y)) {
        continue;
      }
      sum += points[j].y;
      count += 1;
    }
    out.push_back({points[i].x, sum / count});
  }
  return out;
}

// The drawn line, broken where a point is missing.
std::string path(const std::vector<PlotPoint>& points, const Frame& f) {
  std::string d;
  bool pen = false;
  for (const auto& p : points) {
    if (!usable(p, f.logarithmic)) {
      pen = false;
      continue;
    }
    d += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", f.x(p.x), f.y(p.y));
    pen = true;
  }
  return d;
}

// The area between low and high.
std::string band_path(const std::vector<PlotPoint>& points, const Frame& f) {
  std::string out;
  std::string there;
  std::string back;
  const auto close = [&] {
    out += there.empty() ? there : there + back + "Z";
    there.clear();
    back.clear();
  };
  for (const auto& p : points) {
    if (!usable(p, f.logarithmic) || !std::isfinite(p.low) || !std::isfinite(p.high) ||
        (f.logarithmic && p.low <= 0)) {
      close();
      continue;
    }
    there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", f.x(p.x), f.y(p.high));
    back = fmt::format("L{:.1f} {:.1f}", f.x(p.x), f.y(p.low)) + back;
  }
  close();
  return out;
}

std::string tick_text(double v) {
  if (v == 0) {
    return "0";
  }
  const double size = std::abs(v);
  if (size >= 1e5 || size < 1e-3) {
    std::string text = fmt::format("{:.3g}", v);
    if (const auto e = text.find("e+0"); e != std::string::npos) {
      text.erase(e + 1, 2);
    }
    if (const auto e = text.find("e-0"); e != std::string::npos) {
      text.erase(e + 2, 1);
    }
    return text;
  }
  return fmt::format("{:.6g}", v);
}

Frame frame_of(const Plot& plot) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Frame f{kInf, -kInf, kInf, -kInf, plot.logarithmic};
  const auto see = [&](double y) {
    if (!std::isfinite(y) || (plot.logarithmic && y <= 0)) {
      return;
    }
    const double v = plot.logarithmic ? std::log10(y) : y;
    f.y0 = std::min(f.y0, v);
    f.y1 = std::max(f.y1, v);
  };
  for (const auto& s : plot.series) {
    for (const auto& p : s.points) {
      if (!usable(p, plot.logarithmic)) {
        continue;
      }
      f.x0 = std::min(f.x0, p.x);
      f.x1 = std::max(f.x1, p.x);
      see(p.y);
      see(p.low);
      see(p.high);
    }
  }
  see(plot.y_min);
  see(plot.y_max);
  if (f.x0 == f.x1) {
    f.x0 -= 1, f.x1 += 1;
  }
  if (f.y1 - f.y0 < 1e-12 * std::max(1.0, std::abs(f.y0))) {
    const double pad = f.y0 == 0 ? 1 : std::abs(f.y0) * 0.1;
    f.y0 -= f.y0 == 0 ? 0 : pad, f.y1 += pad;  // nothing but zeros: from 0 to 1
  } else {
    const double pad = 0.05 * (f.y1 - f.y0);
    if (!(plot.y_min == f.y0)) {
      f.y0 -= pad;
    }
    if (!(plot.y_max == f.y1)) {
      f.y1 += pad;
    }
  }
  return f;
}

std::string axes(const Plot& plot, const Frame& f) {
  std::string out;
  const double bottom = kHeight - kBottom;
  std::vector<double> ys;
  if (plot.logarithmic) {
    for (double e = std::ceil(f.y0); e <= f.y1; e += 1) {
      ys.push_back(std::pow(10.0, e));
    }
    if (ys.size() < 2) {
      for (const double t : nice_ticks(std::pow(10.0, f.y0), std::pow(10.0, f.y1), 4)) {
        if (t > 0) {
          ys.push_back(t);
        }
      }
    }
  } else {
    ys = nice_ticks(f.y0, f.y1, 5);
  }
  for (const double v : ys) {
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\"/><text "
        "class=\"tick\" x=\"{3}\" y=\"{4:.2f}\" "
        "text-anchor=\"end\">{5}</text>",
        kLeft, kWidth - kRight, f.y(v), kLeft - 7, f.y(v) + 4, tick_text(v));
  }
  for (const double v : nice_ticks(f.x0, f.x1, 6)) {
    if (v != std::floor(v)) {
      continue;
    }  // steps are whole
    out += fmt::format(
        "<line class=\"axis\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\"/><text "
        "class=\"tick\" x=\"{0:.2f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>",
        f.x(v), bottom, bottom + 4, bottom + 17, tick_text(v));
  }
  out += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>", kLeft,
                     kWidth - kRight, bottom);
  out += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 6, html_escape(plot.x_label));
  return out;
}

std::string drawn(const PlotSeries& s, int color, const Frame& f) {
  std::string out;
  const auto line = [&](const std::vector<PlotPoint>& points, const char* extra) {
    out += fmt::format("<path class=\"line c{} {}\" d=\"{}\"/>", color, extra, path(points, f));
  };
  const auto points = thinned(s.points);
  const bool band = s.band || points.size() < s.points.size();
  if (band) {
    out += fmt::format("<path class=\"band c{}\" d=\"{}\"/>", color, band_path(points, f));
  }
  if (s.smooth && points.size() >= 20) {
    if (!band) {
      line(points, "faint");
    }
    line(moving_mean(points), "");
    return out;
  }
  line(points, s.markers ? "thin" : "");
  if (!s.markers) {
    return out;
  }
  for (const auto& p : points) {
    if (!usable(p, f.logarithmic)) {
      continue;
    }
    if (std::isfinite(p.low) && std::isfinite(p.high)) {
      out += fmt::format(
          "<line class=\"line c{0} thin\" x1=\"{1:.2f}\" x2=\"{1:.2f}\" y1=\"{2:.2f}\" "
          "y2=\"{3:.2f}\"/>",
          color, f.x(p.x), f.y(p.low), f.y(p.high));
    }
    out += fmt::format("<circle class=\"dot c{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3.5\"/>", color,
                       f.x(p.x), f.y(p.y));
  }
  return out;
}

// A number of JSON, short.
std::string digits(double v) {
  return std::isfinite(v) ? fmt::format("{:.5g}", v) : std::string("null");
}

// What the script shows: where x is in the picture, and of each series its name, x, y and, where
// there are any, intervals. `each`: how many points one of them stands for.
std::string pointer_data(const Plot& plot, const Frame& f) {
  std::string out = fmt::format("{{\"x0\":{},\"x1\":{},\"left\":{},\"width\":{},\"series\":[",
                                digits(f.x0), digits(f.x1), kLeft, kWidth - kLeft - kRight);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& s = plot.series[i];
    const auto points = thinned(s.points);
    const nlohmann::json name = s.name;
    std::string x;
    std::string y;
    std::string low;
    std::string high;
    bool intervals = false;
    for (const auto& p : points) {
      if (!usable(p, plot.logarithmic)) {
        continue;
      }
      const char* comma = x.empty() ? "" : ",";
      x += fmt::format("{}{:.10g}", comma, p.x);
      y += comma + digits(p.y);
      low += comma + digits(p.low);
      high += comma + digits(p.high);
      intervals = intervals || std::isfinite(p.low);
    }
    out += fmt::format(
        "{}{{\"name\":{},\"each\":{},\"x\":[{}],\"y\":[{}]", i > 0 ? "," : "",
        name.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
        (s.points.size() + points.size() - 1) / std::max<std::size_t>(points.size(), 1), x, y);
    if (intervals) {
      out += fmt::format(",\"low\":[{}],\"high\":[{}]", low, high);
    }
    out += "}";
  }
  return script_json(out + "]}");
}

// For those who do not see the picture.
std::string description(const Plot& plot) {
  std::string out = plot.title;
  for (const auto& s : plot.series) {
    const PlotPoint* first = nullptr;
    const PlotPoint* last = nullptr;
    for (const auto& p : s.points) {
      if (usable(p, plot.logarithmic)) {
        first = first == nullptr ? &p : first;
        last = &p;
      }
    }
    if (first != nullptr) {
      out += fmt::format("; {} from {:.4g} at {} {:.6g} to {:.4g} at {:.6g}", s.name, first->y,
                         plot.x_label, first->x, last->y, last->x);
    }
  }
  return out;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  std::vector<double> out;
  if (!std::isfinite(low) || !std::isfinite(high) || high <= low) {
    return out;
  }
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double m : {1.0, 2.0, 5.0}) {
    if (m * power >= rough) {
      step = m * power;
      break;
    }
  }
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) {
    out.push_back(i * step + 0.0);
  }
  return out;
}

std::string plot_figure(const Plot& plot) {
  bool any = false;
  for (const auto& s : plot.series) {
    for (const auto& p : s.points) {
      any = any || usable(p, plot.logarithmic);
    }
  }
  if (!any) {
    return "";
  }
  const Frame f = frame_of(plot);
  std::string out =
      fmt::format("<figure class=\"plot\"><figcaption><b>{}</b>", html_escape(plot.title));
  if (!plot.note.empty()) {
    out += fmt::format("<span class=\"note\">{}</span>", html_escape(plot.note));
  }
  if (plot.series.size() > 1) {
    out += "<span class=\"legend\">";
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
      out += fmt::format("<span><i class=\"c{}\"></i>{}</span>", i + 1,
                         html_escape(plot.series[i].name));
    }
    out += "</span>";
  }
  out += fmt::format(
      "</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" tabindex=\"0\" aria-label=\"{}\">{}",
      kWidth, kHeight, html_escape(description(plot)), axes(plot, f));
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    out += drawn(plot.series[i], static_cast<int>(i) + 1, f);
  }
  out += fmt::format(
      "<line class=\"cursor\" y1=\"{}\" y2=\"{}\"/></svg><div class=\"tip\" "
      "role=\"status\"></div><script "
      "type=\"application/json\">{}</script></figure>\n",
      kTop, kHeight - kBottom, pointer_data(plot, f));
  return out;
}

}  // namespace minirl::rl

#include "rl/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace minirl::rl {
namespace {

constexpr double kWidth = 560, kHeight = 300;
constexpr double kLeft = 58, kRight = 16, kTop = 14, kBottom = 40;
constexpr std::size_t kMostPoints = 600;  // more than pixels: means of equal stretches are drawn

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

std::vector<PlotPoint> thinned(const std::vector<PlotPoint>& points) {
  if (points.size() <= kMostPoints) {
    return points;
  }
  std::vector<PlotPoint> out;
  for (std::size_t i = 0; i < kMostPoints; ++i) {
    const std::size_t begin = points.size() * i / kMostPoints;
    const std::size_t end = points.size() * (i + 1) / kMostPoints;
    PlotPoint mean;
    for (std::size_t j = begin; j < end; ++j) {
      mean.x += points[j].x / static_cast<double>(end - begin);
      mean.y += points[j].y / static_cast<double>(end - begin);
    }
    out.push_back(mean);
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
    d += fmt::format("{}{:.2f} {:.2f}", pen ? "L" : "M", f.x(p.x), f.y(p.y));
    pen = true;
  }
  return d;
}

// The area between low and high.
std::string band_path(const std::vector<PlotPoint>& points, const Frame& f) {
  std::string there;
  std::string back;
  for (const auto& p : points) {
    if (!usable(p, f.logarithmic) || !std::isfinite(p.low) || !std::isfinite(p.high) ||
        (f.logarithmic && p.low <= 0)) {
      continue;
    }
    there += fmt::format("{}{:.2f} {:.2f}", there.empty() ? "M" : "L", f.x(p.x), f.y(p.high));
    back = fmt::format("L{:.2f} {:.2f}", f.x(p.x), f.y(p.low)) + back;
  }
  return there.empty() ? there : there + back + "Z";
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
    f.y0 -= pad, f.y1 += pad;
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
  if (s.band) {
    out += fmt::format("<path class=\"band c{}\" d=\"{}\"/>", color, band_path(points, f));
    line(points, "");
    return out;
  }
  if (s.smooth && points.size() >= 20) {
    line(points, "faint");
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

// What the script shows under the pointer: for each series its name, the x in picture coordinates
// and texts.
std::string pointer_data(const Plot& plot, const Frame& f) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& s : plot.series) {
    nlohmann::json points = nlohmann::json::array();
    for (const auto& p : thinned(s.points)) {
      if (!usable(p, plot.logarithmic)) {
        continue;
      }
      std::string text = fmt::format("{:.4g}", p.y);
      if (std::isfinite(p.low)) {
        text += fmt::format(" [{:.3g}, {:.3g}]", p.low, p.high);
      }
      points.push_back({std::round(f.x(p.x) * 10) / 10, fmt::format("{:.6g}", p.x), text});
    }
    all.push_back({{"name", s.name}, {"points", points}});
  }
  std::string text = all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

}  // namespace

std::string html_escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

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
  out += fmt::format("</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}",
                     kWidth, kHeight, html_escape(plot.title), axes(plot, f));
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    out += drawn(plot.series[i], static_cast<int>(i) + 1, f);
  }
  out += fmt::format(
      "<line class=\"cursor\" y1=\"{}\" y2=\"{}\"/></svg><div class=\"tip\"></div><script "
      "type=\"application/json\">{}</script></figure>\n",
      kTop, kHeight - kBottom, pointer_data(plot, f));
  return out;
}

std::string plot_style() {
  return R"(:root{--c1:#2563c9;--c2:#c2570c;--c3:#15803d;--c4:#8b3fd1;--c5:#b4236b;--c6:#5b6472;--c7:#0e7f8c;--c8:#93720b;--c9:#c62f2f;--c10:#4d7c0f}
@media (prefers-color-scheme:dark){:root{--c1:#7db0ff;--c2:#ffa45c;--c3:#66d08a;--c4:#c79bff;--c5:#ff86b7;--c6:#a3adba;--c7:#5fd0dc;--c8:#e0bf55;--c9:#ff8585;--c10:#b3e06a}}
.plot{margin:0;position:relative;background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:12px 14px 6px}
.plot figcaption{font-size:14px;display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
.plot .note{color:var(--dim);font-size:12.5px}
.plot .legend{margin-left:auto;font-size:12.5px;display:flex;gap:12px;color:var(--dim)}
.plot .legend i{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:5px;vertical-align:middle;background:currentColor}
.plot svg{display:block;width:100%;height:auto;margin-top:4px}
.plot .grid{stroke:var(--rule);stroke-width:1}.plot .axis{stroke:var(--dim);stroke-width:1}
.plot .tick,.plot .label{fill:var(--dim);font-size:11.5px;font-variant-numeric:tabular-nums}
.plot .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.plot .faint{stroke-width:1;opacity:.35}.plot .thin{stroke-width:1.4}
.plot .dot{fill:currentColor;stroke:var(--panel);stroke-width:1.2}
.plot .cursor{stroke:var(--dim);stroke-dasharray:3 3;visibility:hidden}
.plot .tip{position:absolute;pointer-events:none;display:none;background:var(--page);border:1px solid var(--rule);border-radius:6px;padding:5px 8px;font-size:12px;white-space:nowrap;font-variant-numeric:tabular-nums}
.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}.c8{color:var(--c8)}.c9{color:var(--c9)}.c10{color:var(--c10)}
.band{fill:currentColor;fill-opacity:.13;stroke:none}
)";
}

std::string plot_script() {
  return R"(document.querySelectorAll('.plot').forEach(function(fig){
  var svg=fig.querySelector('svg'),tip=fig.querySelector('.tip'),cur=fig.querySelector('.cursor');
  var data=JSON.parse(fig.querySelector('script').textContent);
  svg.addEventListener('pointermove',function(e){
    var box=svg.getBoundingClientRect(),x=(e.clientX-box.left)/box.width*)" +
         fmt::format("{}", kWidth) + R"(;
    var best=null;
    data.forEach(function(s){s.points.forEach(function(p){if(best===null||Math.abs(p[0]-x)<Math.abs(best[0]-x))best=p;});});
    if(best===null)return;
    tip.textContent='';
    var head=document.createElement('div');head.textContent='step '+best[1];tip.appendChild(head);
    data.forEach(function(s,i){s.points.forEach(function(p){if(p[1]===best[1]){
      var row=document.createElement('div'),name=document.createElement('span');
      name.className='c'+(i+1);name.textContent=s.name+' ';row.appendChild(name);row.appendChild(document.createTextNode(p[2]));tip.appendChild(row);}});});
    cur.setAttribute('x1',best[0]);cur.setAttribute('x2',best[0]);cur.style.visibility='visible';
    tip.style.display='block';
    var left=e.clientX-fig.getBoundingClientRect().left+14;
    if(left+tip.offsetWidth>fig.clientWidth-8)left-=tip.offsetWidth+28;
    tip.style.left=left+'px';tip.style.top=(e.clientY-fig.getBoundingClientRect().top+12)+'px';
  });
  svg.addEventListener('pointerleave',function(){tip.style.display='none';cur.style.visibility='hidden';});
});
)";
}

}  // namespace minirl::rl

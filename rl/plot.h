// minirl rl/plot.h -- curves as SVG, without any library or network: for report.html.
#pragma once
#include <limits>
#include <string>
#include <vector>

namespace minirl::rl {

struct PlotPoint {
  double x = 0, y = 0;
  // An interval around y, drawn as a bar; NaN: none.
  double low = std::numeric_limits<double>::quiet_NaN(),
         high = std::numeric_limits<double>::quiet_NaN();
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // ascending x; a point that is not finite breaks the line
  bool markers = false;           // dots with bars, joined by a thin line; else a line
  bool smooth = false;            // a faint raw line and, over it, its moving mean
  bool band = false;              // a line and the area from low to high around it
};

struct Plot {
  std::string title, note, x_label;
  std::vector<PlotSeries> series;
  // What the y axis must show even if no point is there; NaN: the data decide.
  double y_min = std::numeric_limits<double>::quiet_NaN(),
         y_max = std::numeric_limits<double>::quiet_NaN();
  bool logarithmic = false;  // y; points at or below 0 are left out
};

/// One <figure> with an inline <svg>. Colours are CSS variables (plot_style), so that it suits a
/// light and a dark page. Empty text when no series has a finite point.
std::string plot_figure(const Plot& plot);
/// The style sheet and the few lines of script (values under the pointer) that figures need, once a
/// page.
std::string plot_style();
std::string plot_script();

/// Round numbers that divide [low, high] into about `count` parts; the first is >= low, the last <=
/// high.
std::vector<double> nice_ticks(double low, double high, int count);
/// & < > " as entities.
std::string html_escape(const std::string& text);

}  // namespace minirl::rl

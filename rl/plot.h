// minirl rl/plot.h -- curves as SVG, without any library or network: for report.html.
#pragma once
#include <limits>
#include <string>
#include <vector>

#include "rl/html_text.h"

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
/// light and a dark page. Of more points than there are pixels, equal stretches are drawn as their
/// mean and the area from their smallest to their largest value. Empty text when no series has a
/// finite point.
std::string plot_figure(const Plot& plot);
/// The style sheet and the few lines of script (values at the pointer, a tap, or the arrow keys)
/// that figures need, once a page. Figures may come and go while the page is open.
std::string plot_style();
std::string plot_script();

/// Round numbers that divide [low, high] into about `count` parts; the first is >= low, the last <=
/// high.
std::vector<double> nice_ticks(double low, double high, int count);
}  // namespace minirl::rl

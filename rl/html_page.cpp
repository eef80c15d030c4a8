#include "rl/html_page.h"

#include <fmt/format.h>

#include "rl/plot.h"

namespace minirl::rl {
namespace {

constexpr const char* kStyle =
    R"(:root{color-scheme:light dark;--page:#fcfcfb;--panel:#fff;--text:#1c1f24;--dim:#626a76;--rule:#e2e4e8}
@media (prefers-color-scheme:dark){:root{--page:#14171b;--panel:#1b1f25;--text:#e7e9ec;--dim:#9aa3af;--rule:#2e343d}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:28px 20px 60px;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
h1{font-size:24px;margin:0 0 2px}h2{font-size:18px;margin:34px 0 8px}
.dim{color:var(--dim)}p{margin:8px 0;max-width:90ch}
.grid2{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:16px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:4px 18px 4px 0;vertical-align:top}
th{font-weight:600}.results td,.results th{border-bottom:1px solid var(--rule)}
.examples{width:100%}.examples .first td{border-top:1px solid var(--rule);padding-top:8px}
code,pre{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
details{margin-top:10px;border:1px solid var(--rule);border-radius:8px;padding:8px 14px;background:var(--panel)}summary{cursor:pointer}
)";

}  // namespace

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{} - minirl</title><style>{}{}</style>"
      "</head><body>{}<script>{}</script></body></html>\n",
      html_escape(title), kStyle, plot_style(), body, plot_script());
}

}  // namespace minirl::rl

#include "rl/html_page.h"

#include <fmt/format.h>

#include "rl/html_text.h"
#include "rl/plot.h"

namespace minirl::rl {
namespace {

constexpr const char* kStyle =
    R"(:root{color-scheme:light dark;--page:#fcfcfb;--panel:#fff;--text:#1c1f24;--dim:#5c6470;--rule:#e0e3e7;--focus:#1d4fb8;--warn:#fff3d6}
@media (prefers-color-scheme:dark){:root{--page:#14171b;--panel:#1b1f25;--text:#e7e9ec;--dim:#a0a9b5;--rule:#323944;--focus:#8fbaff;--warn:#3b2f12}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:28px 20px 60px;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
h1{font-size:24px;margin:0 0 2px;overflow-wrap:anywhere}h2{font-size:18px;margin:34px 0 8px}
a{color:var(--focus)}:focus-visible{outline:2px solid var(--focus);outline-offset:2px}
.dim{color:var(--dim)}p{margin:8px 0;max-width:90ch}.ctl{color:var(--dim);font-size:.85em}
.warn{background:var(--warn);border:1px solid var(--rule);border-radius:8px;padding:6px 12px;overflow-wrap:anywhere}
.grid2{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,350px),1fr));gap:16px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:4px 18px 4px 0;vertical-align:top}
th{font-weight:600}.results td,.results th{border-bottom:1px solid var(--rule)}
code,pre{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
details{margin-top:10px;border:1px solid var(--rule);border-radius:8px;padding:8px 14px;background:var(--panel)}summary{cursor:pointer}
select{font:inherit;padding:3px 6px;max-width:100%;background:var(--panel);color:var(--text);border:1px solid var(--dim);border-radius:6px}
@media (max-width:600px){body{padding:18px 12px 40px}th,td{padding-right:12px}}
)";

}  // namespace

std::string html_page(const std::string& title, const std::string& body, const std::string& style,
                      const std::string& script, bool live) {
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline';"
      "img-src data:;connect-src {};base-uri 'none';form-action 'none'\"><link rel=\"icon\" "
      "href=\"data:,\"><title>{} - minirl</title><style>{}{}{}</style></head><body>{}"
      "<script>{}{}</script></body></html>\n",
      live ? "'self'" : "'none'", html_visible(title), kStyle, plot_style(), style, body,
      plot_script(), script);
}

}  // namespace minirl::rl

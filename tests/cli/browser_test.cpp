// The page in a browser: phone and desktop, light and dark. Headless Chromium runs tests/cli/page_probe.js inside of the
// page and takes the pictures that lie in BUILD/screenshots afterwards.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>

#include "cli/run_binary.h"
#include "rl/report.h"
#include "rl/report_support.h"

namespace minirl {
namespace {

using namespace test;

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) { text.append(buffer.data(), n); }
  ::pclose(pipe);
  return text;
}

/// The browser's command, or nothing.
std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (!output_of(fmt::format("command -v {} 2>/dev/null", name)).empty()) { return name; }
  }
  return "";
}

struct Window {
  const char* name;
  int width, height;
  bool dark;
};

/// Opens the page in a frame of the window's size (a browser's own window cannot be as narrow as a phone) and returns what
/// the probe said.
std::string probe(const std::string& program, const std::filesystem::path& folder, std::string page, const Window& w, const std::string& name, const std::string& part) {
  // The probe listens before anything of the page runs; the page's policy allows inline scripts only.
  page.insert(page.find("<style>"), "<script>" + read_file(std::string(MINIRL_SOURCE_DIR) + "/tests/cli/page_probe.js") + "</script>");
  write_file_atomic(folder / "page.html", page);
  write_file_atomic(folder / "frame.html", fmt::format("<!doctype html><meta name=\"color-scheme\" content=\"light dark\"><style>body{{margin:0}}iframe{{border:0;display:block;width:{}px;height:{}px}}</style>"
                                                       "<pre id=\"said\"></pre><script>addEventListener('message',function(e){{said.textContent=e.data;said.hidden=true;}});</script><iframe src=\"page.html#{}\"></iframe>",
                                                       w.width, w.height, part));
  const std::filesystem::path pictures = std::filesystem::path(MINIRL_BUILD_DIR) / "screenshots";
  make_directory(pictures);
  const auto open = [&](const std::string& what) {
    return output_of(fmt::format("timeout 120 {} --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir='{}/profile' {} --window-size={},{} --virtual-time-budget=4000 {} 'file://{}/frame.html' 2>/dev/null", program, folder.string(),
                                 w.dark ? "--blink-settings=preferredColorScheme=0" : "", std::max(w.width, 500), w.height + 90, what, folder.string()));
  };
  open(fmt::format("--screenshot='{}/{}-{}-{}.png'", pictures.string(), name, part, w.name));
  const std::string dom = open("--dump-dom");
  const auto begin = dom.find("PROBED");
  return begin == std::string::npos ? "the probe said nothing: " + dom.substr(0, 400) : dom.substr(begin, dom.find("</pre>", begin) - begin);
}

}  // namespace

TEST_CASE("cli: the report works in a browser: phone and desktop, light and dark, keyboard and hostile completions") {
  const std::string program = browser();
  if (program.empty()) {
    MESSAGE("[SKIP] no Chromium is installed");
    return;
  }
  const MadeRun run("a run with a name that is longer than any phone is wide, without_a_place_to_break_it_anywhere");
  run.metrics(500, learning);
  run.evaluation(0, hostile_text() + std::string(5000, 'x'), 0.25);
  run.evaluation(500, hostile_text(), 0.75);
  run.trail(1, 30, "tok");
  run.trail(2, 30, hostile_text());
  const MadeRun other("other", "[run]\nseed = 2\n");
  other.metrics(400, learning);
  other.trail(1, 30, std::string(3000, 'W'));
  const std::string one = page_of({run.folder});
  const std::string two = page_of({run.folder, other.folder});
  const TemporaryDirectory folder;
  for (const Window& w : {Window{"phone-light", 390, 844, false}, Window{"phone-dark", 390, 844, true}, Window{"desktop-light", 1280, 900, false}, Window{"desktop-dark", 1280, 900, true}}) {
    CAPTURE(w.name);
    CHECK(probe(program, folder.path(), one, w, "one", "tokens") == "PROBED 0 faults\n");
    CHECK(probe(program, folder.path(), two, w, "seeds", "curves") == "PROBED 0 faults\n");
  }
}

TEST_CASE("cli: the probe of the page finds what it looks for") {
  const std::string program = browser();
  if (program.empty()) {
    MESSAGE("[SKIP] no Chromium is installed");
    return;
  }
  const MadeRun run;
  run.metrics(5, learning);
  run.trail(1, 30, "tok");
  std::string page = page_of({run.folder});
  page.insert(page.find("</main>"), "<p style=\"width:3000px;color:#ccc;background:#fff\">pale and wide</p><img src=\"https://example.org/x.png\"><script>window.harmed=1;undefined_function();</script>");
  const TemporaryDirectory folder;
  const std::string said = probe(program, folder.path(), page, {"broken", 390, 844, false}, "broken", "run");
  for (const char* fault : {"overflow by", "contrast 1.", "error: ", "policy: img-src", "was executed"}) { CHECK_MESSAGE(said.find(fault) != std::string::npos, said); }
}

}  // namespace minirl

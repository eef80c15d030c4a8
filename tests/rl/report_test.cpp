// The page about a run: complete, small, and harmless whatever the run holds.
#include "rl/report.h"

#include <doctest/doctest.h>

#include <fstream>

#include "data/unicode.h"
#include "rl/html_text.h"
#include "rl/report/trail_reader.h"
#include "rl/report_support.h"

namespace minirl::rl {
namespace {

using namespace test;
using report::RunView;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string section(const std::string& page, const std::string& id) {
  const auto begin = page.find("<section id=\"" + id + "\"");
  return begin == std::string::npos ? "" : page.substr(begin, page.find("</section>", begin) - begin);
}

/// Nothing of a page leads outside, and no text of the run became markup.
void check_harmless(const std::string& page) {
  for (const char* outside : {"http://", "https://", "<script src", "@import", "url("}) { CHECK_MESSAGE(!has(page, outside), outside); }
  CHECK(count_of(page, "<script") == count_of(page, "</script>"));
  CHECK_FALSE(has(page, "<img"));
  CHECK(data::unicode::is_valid(page));
  for (const char c : page) { REQUIRE((static_cast<unsigned char>(c) >= 0x20 || c == '\n')); }
  for (const char* hidden : {"\xe2\x80\xae", "\xe2\x80\xac", "\xe2\x80\x8b"}) { CHECK_FALSE(has(page, hidden)); }
}

void append(const std::filesystem::path& file, const std::string& text) { std::ofstream(file, std::ios::app | std::ios::binary) << text; }

}  // namespace

TEST_CASE("rl/report: text of a model stays text, and what hides is spelled out") {
  CHECK(html_escape("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  CHECK(has(html_visible(std::string("a\0b", 3)), ">\\x00<"));
  CHECK(has(html_visible("\xe2\x80\xae"), ">U+202E<"));
  CHECK(html_visible("\xff") == "\xef\xbf\xbd");
  CHECK(has(html_visible("a\nb"), "</span>\nb"));
  CHECK(html_visible("a\nb", 0, false) == "a\nb");
  CHECK(html_visible("\xd7\xa9") == "\xd7\xa9");  // a letter is a letter
  const std::string cut = html_visible(std::string(100000, 'x'), 50);
  CHECK(has(cut, "99950 more bytes"));
  CHECK(cut.size() < 150);
  CHECK_FALSE(has(html_visible("\xe2\x82\xac\xe2\x82\xac", 4), "\xef\xbf\xbd"));  // never cut inside of a character
  CHECK(script_json("\"</script>\"") == "\"\\u003c/script>\"");
}

TEST_CASE("rl/report: one run's page has every part, with its numbers") {
  const MadeRun run;
  run.metrics(40, learning);
  run.evaluation(0, "maybe 5", 0.25);
  run.evaluation(40, "surely 4", 0.75);
  run.trail(1, 3, "x");
  run.trail(40, 3, "y");
  const std::string page = page_of({run.folder});
  check_harmless(page);
  for (const char* id : {"run", "evaluation", "curves", "completions", "tokens", "semantics", "hashes", "cost", "sources"}) { CHECK_MESSAGE(!section(page, id).empty(), id); }
  for (const char* figure : {"Reward", "Held-out problems", "Response length", "Entropy", "Divergence, TV", "Divergence, KL", "Masked, by sign of A", "Gradient norm", "Throughput", "Update visibility"}) {
    CHECK_MESSAGE(has(section(page, "curves"), fmt::format("<b>{}</b>", figure)), figure);
  }
  CHECK(has(section(page, "evaluation"), "<b>0.750</b> <span class=\"dim\">[0.375, 1.000]"));
  CHECK(has(section(page, "evaluation"), "<b>+0.500</b>"));
  const std::string said = section(page, "completions");
  CHECK(has(said, "maybe 5"));
  CHECK(has(said, "surely 4"));
  CHECK(has(section(page, "semantics"), "drpo, anchor = &quot;rollout&quot;, delta = 0.2"));
  CHECK(has(section(page, "semantics"), "aggregation"));
  CHECK(has(section(page, "hashes"), "minirl 9.9"));
  CHECK(has(section(page, "cost"), "abacus"));
  CHECK(has(section(page, "cost"), "1 min 00 s"));  // 40 steps of 1.5 s
  CHECK(has(page, "<html lang=\"en\">"));
  CHECK(has(page, "<title>made - minirl</title>"));
  CHECK(has(page, "default-src 'none'"));
}

TEST_CASE("rl/report: a token shows its numbers, and its mask in words") {
  const MadeRun run;
  run.metrics(1, learning);
  run.trail(1, 3, "x");
  const std::string map = section(page_of({run.folder}), "tokens");
  CHECK(count_of(map, "<span class=\"t masked\" tabindex=\"-1\">x</span>") == 1);
  CHECK(count_of(map, "<span class=\"t given\" tabindex=\"0\">x</span>") == 1);  // one tab stop a completion
  CHECK(count_of(map, "tabindex=\"-1\"") == 3);
  const auto begin = map.find("application/json\">") + 18;
  const Json rows = Json::parse(map.substr(begin, map.find("</script>", begin) - begin));
  const auto at = map.find("class=\"words\">") + 14;
  const Json words = Json::parse(map.substr(at, map.find("</script>", at) - at));
  REQUIRE(rows.size() == 4);
  CHECK(words.at(rows[0][1][0].get<std::size_t>()) == "prompt: given");
  CHECK(words.at(rows[2][1][0].get<std::size_t>()) == "drpo: moving away and D > delta </script>");
  CHECK(rows[1] == Json({65, Json::array(), 0.5, 0.75, 1.5, 0.25, 0.0945, 0.25, 1.0, -0.25, 0.375, 0.01, 0.69}));
}

TEST_CASE("rl/report: whatever a policy says, the page stays a page") {
  const MadeRun run;
  run.metrics(3, learning);
  run.evaluation(0, hostile_text() + std::string(100000, 'x'), 0.5);
  run.evaluation(3, hostile_text(), 0.5);
  run.trail(1, 2, hostile_text());
  run.trail(2, 2, std::string(100000, '<'));
  write_file_atomic(run.folder / "env.json", "{\"starts\": [" + raw_json(hostile_text()) + "]}");
  const std::string page = page_of({run.folder});
  check_harmless(page);
  CHECK(has(page, "&lt;/script&gt;&lt;script&gt;window.harmed=1"));
  CHECK(has(page, "more bytes"));
  CHECK(page.size() < 200000);
}

TEST_CASE("rl/report: a hundred thousand steps and long completions make a small page that keeps the extremes") {
  const MadeRun run;
  run.metrics(100000, [](Index s) {
    Json row = learning(s);
    row["reward/mean"] = s == 77777 ? 0.125 : 0.5;
    return row;
  });
  for (Index s = 1; s <= 12; ++s) { run.trail(s, 4000, "token"); }
  const std::string page = page_of({run.folder});
  CHECK(page.size() < 3000000);
  const std::string curves = section(page, "curves");
  CHECK(has(curves, ",0.125,"));  // as the lower end of its stretch
  CHECK(has(page, "3700 more tokens"));
  CHECK(has(page, "6 of 12 recorded steps"));
  CHECK(has(page, "Step 12 "));  // the newest is among them
}

TEST_CASE("rl/report: what is missing, cut or damaged is told, and the rest is shown") {
  const MadeRun empty;
  const std::string nothing = page_of({empty.folder});
  check_harmless(nothing);
  CHECK(has(section(nothing, "run"), "metrics.jsonl is not there"));
  CHECK(has(section(nothing, "evaluation"), "no evaluation yet"));
  CHECK(has(section(nothing, "tokens"), "recorded no token trail"));

  const MadeRun run;
  run.metrics(0, learning);
  CHECK(has(page_of({run.folder}), "no step is finished yet"));
  run.metrics(5, learning);
  append(run.folder / "metrics.jsonl", "not JSON\n{\"kind\": \"train\", \"step\": 6, \"reward/me");
  make_directory(run.folder / "eval");
  write_file_atomic(run.folder / "eval/step-000000.json", "{\"step\": 0, \"pro");
  run.trail(1, 5, "x");
  std::filesystem::resize_file(run.folder / "tokens/step-000001.jsonl.zst", 40);
  write_file_atomic(run.folder / "ledger.jsonl", "{\"kind\":\"step\"}\n");
  const std::string page = page_of({run.folder});
  check_harmless(page);
  for (const char* note : {"not finished: step 5 of 40", "last line of metrics.jsonl has no end yet", "1 lines of metrics.jsonl cannot be read", "step-000000.json is left out", "ledger.jsonl is left out"}) {
    CHECK_MESSAGE(has(section(page, "run"), note), note);
  }
  CHECK(has(section(page, "tokens"), "class=\"warn\""));
  CHECK(has(section(page, "curves"), "<b>Reward</b>"));

  write_file_atomic(run.folder / "config.resolved.toml", "[algorithm]\nname = \"no such loss\"\n");
  CHECK(has(section(page_of({run.folder}), "run"), "config.resolved.toml is left out"));
  CHECK_THROWS_WITH_AS(page_of({run.folder / "eval"}), doctest::Contains("is not a run of minirl"), Error);
}

TEST_CASE("rl/report: a view follows a run that goes on, and one that was taken back") {
  const MadeRun run;
  run.metrics(3, learning);
  RunView view(run.folder);
  CHECK(view.refresh());
  CHECK(view.metrics().steps("train") == 3);
  CHECK_FALSE(view.refresh());
  append(run.folder / "metrics.jsonl", "{\"kind\": \"train\", \"step\": 4, \"rewa");
  view.refresh();
  CHECK(view.metrics().steps("train") == 3);
  append(run.folder / "metrics.jsonl", "rd/mean\": 0.5}\n");
  CHECK(view.refresh());
  CHECK(view.metrics().steps("train") == 4);
  CHECK(view.metrics().last("train", "reward/mean") == 0.5);
  CHECK(std::isnan(view.metrics().last("train", "policy/entropy")));  // not in that line
  run.metrics(2, learning);                                          // a resume forgot the steps after 2
  CHECK(view.refresh());
  CHECK(view.metrics().steps("train") == 2);
  CHECK(view.metrics().rows("train").steps.size() == 2);
  run.evaluation(0, "x", 0.5);
  CHECK(view.refresh());
  CHECK(view.evaluations().size() == 1);
  std::filesystem::remove(run.folder / "eval/step-000000.json");
  CHECK(view.refresh());
  CHECK(view.evaluations().empty());
}

TEST_CASE("rl/report: runs that differ only in their seed are one band, others are curves over each other") {
  const MadeRun one("one", "[run]\nseed = 1\n");
  const MadeRun two("two", "[run]\nseed = 2\n");
  const MadeRun other("other", "[run]\nseed = 3\n[train]\nlr = 1e-3\n");
  double shift = 0;
  for (const MadeRun* run : {&one, &two, &other}) {
    run->metrics(10, [&](Index s) {
      Json row = learning(s);
      row["policy/entropy"] = 2 + shift;
      return row;
    });
    shift += 1;
  }
  const auto values = [](const std::string& page) {
    const auto figure = page.find("<b>Entropy</b>");
    const auto begin = page.find("application/json\">", figure) + 18;
    return Json::parse(page.substr(begin, page.find("</script>", begin) - begin)).at("series");
  };
  const Json band = values(page_of({one.folder, two.folder}));
  REQUIRE(band.size() == 1);
  CHECK(band[0].at("y")[0] == 2.5);
  CHECK(band[0].at("low")[0] == 2);
  CHECK(band[0].at("high")[0] == 3);
  const Json both = values(page_of({one.folder, two.folder, other.folder}));
  REQUIRE(both.size() == 2);
  CHECK(both[0].at("name") == "one and 1 more seeds");
  CHECK(both[1].at("name") == "other");
  CHECK(both[1].at("y")[0] == 4);
  CHECK_FALSE(both[1].contains("low"));
}

}  // namespace minirl::rl

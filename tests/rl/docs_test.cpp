// The documentation and the code name the same formulas.
#include <regex>
#include <set>
#include <sstream>

#include <doctest/doctest.h>

#include "rl/presets.h"
#include "tests/rl/support.h"

namespace minirl::rl::test {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Every "(word.number)" in a text; "\tag{word.number}" counts as well.
std::set<std::string> labels(const std::string& text) {
  static const std::regex pattern(R"(\(([a-z]+\.[0-9]+'?)\)|\\tag\{([a-z]+\.[0-9]+'?)\})");
  std::set<std::string> out;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    out.insert((*it)[1].matched ? (*it)[1].str() : (*it)[2].str());
  }
  return out;
}

/// Only the pages of the RL mathematics.
std::string pages() {
  const std::filesystem::path docs = std::filesystem::path(MINIRL_SOURCE_DIR) / "docs";
  std::string all;
  for (const char* page : {"policy_loss", "advantages", "statistics"}) {
    all += read_text(docs / "math" / (std::string(page) + ".md"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(docs / "algorithms")) {
    all += read_text(entry.path());
  }
  return all;
}

}  // namespace

TEST_CASE("rl/docs: every formula that the RL mathematics cites is on a page") {
  const std::set<std::string> known = labels(pages());
  const std::set<std::string> ours{"pg",    "pgis", "ppo",   "dppo", "spo",   "drpo",
                                   "agg",   "adv",  "met",   "stat", "lr",    "kl",
                                   "corr",  "mask", "gspo",  "gmpo", "sapo",  "cppo",
                                   "cispo", "ipo",  "shape", "mini", "relax", "ent"};
  int cited = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(MINIRL_SOURCE_DIR) / "rl")) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") {
      continue;
    }
    for (const std::string& label : labels(read_text(entry.path()))) {
      if (ours.count(label.substr(0, label.find('.'))) == 0) {
        continue;
      }
      CAPTURE(entry.path().string());
      CAPTURE(label);
      CHECK(known.count(label) == 1);
      ++cited;
    }
  }
  CHECK(cited > 30);
}

TEST_CASE("rl/docs: every parameter of every loss stands on its page with its default") {
  for (const std::string& name : Algorithms::names()) {
    const AlgorithmInfo info = algorithm_info(name);
    const std::string page =
        read_text(std::filesystem::path(MINIRL_SOURCE_DIR) / "docs" / "algorithms" / info.page);
    CAPTURE(name);
    CHECK(page.find(fmt::format("`{}`", name)) != std::string::npos);
    for (const ParamSpec& spec : info.params) {
      CAPTURE(spec.name);
      const std::size_t at = page.find("| " + spec.name + " |");
      REQUIRE(at != std::string::npos);
      const std::string row = page.substr(at, page.find('\n', at) - at);
      CHECK(row.find(spec.fallback ? spelled(spec) : "must be set") != std::string::npos);
    }
  }
}

TEST_CASE("rl/docs: the list of algorithms names every loss and every preset") {
  const std::string list =
      read_text(std::filesystem::path(MINIRL_SOURCE_DIR) / "docs" / "algorithms" / "README.md");
  for (const std::string& name : algorithm_names()) {
    CAPTURE(name);
    CHECK(list.find(fmt::format("`{}`", name)) != std::string::npos);
    CHECK(list.find(fmt::format("({})", algorithm_info(name).page)) != std::string::npos);
  }
}

TEST_CASE("rl/docs: every preset stands on its page") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const std::string page =
        read_text(std::filesystem::path(MINIRL_SOURCE_DIR) / "docs" / "algorithms" / preset.page);
    CHECK(page.find(fmt::format("`{}`", preset.name)) != std::string::npos);
  }
}

}  // namespace minirl::rl::test

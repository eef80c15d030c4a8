// The code cites equations by label, e.g. (rms.3). Each label must stand on a page of docs/math or docs/algorithms.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "core/files.h"

namespace fs = std::filesystem;

namespace {

std::set<std::string> labels(const std::string& text) {
  // "(mm.1)", "(att.1-4)" and LaTeX's \tag{stat.1}; one or two digits, so that file names and versions are not meant.
  static const std::regex pattern(R"((?:\(|\\tag\{)([a-z]{2,6}\.[0-9]{1,2})(?=[-')},]))");
  std::set<std::string> out;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern); it != std::sregex_iterator(); ++it) { out.insert((*it)[1].str()); }
  return out;
}

std::string read_all(const std::vector<std::string>& folders, const std::set<std::string>& endings) {
  std::string all;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(MINIRL_SOURCE_DIR) / folder)) {
      if (entry.is_regular_file() && endings.count(entry.path().extension().string()) != 0) { all += minirl::read_file(entry.path()) + "\n"; }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("contracts/labels: every equation that the code cites stands in the documentation") {
  const auto cited = labels(read_all({"core", "kernels", "autograd", "model", "data", "rl", "cli"}, {".h", ".cpp"}));
  const auto written = labels(read_all({"docs"}, {".md"}));
  CHECK(cited.size() > 60);
  for (const std::string& label : cited) { CHECK_MESSAGE(written.count(label) != 0, label); }
}

TEST_CASE("contracts/labels: the check can fail") {
  CHECK(labels("as in (rms.3) and (att.1-4)") == std::set<std::string>{"rms.3", "att.1"});
  CHECK(labels("\\tag{stat.5}").count("stat.5") == 1);
  CHECK(labels("run(x.1)").empty());
}

// Who may include whom, read from every #include of the tree:
//   core <- kernels <- autograd <- model <- rl <- audit <- cli        core <- data <- rl
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = MINIRL_SOURCE_DIR;

const std::map<std::string, std::set<std::string>> kBelow = {
    {"core", {}},
    {"kernels", {"core"}},
    {"autograd", {"core", "kernels"}},
    {"model", {"core", "kernels", "autograd"}},
    {"data", {"core"}},
    {"rl", {"core", "kernels", "autograd", "model", "data"}},
    {"audit", {"core", "kernels", "autograd", "model", "data", "rl"}},
    {"cli", {"core", "kernels", "autograd", "model", "data", "rl", "audit"}},
};

/// Libraries that only some folders may see; a header that is not listed is free.
struct Library {
  std::string header;  // the beginning of its include path
  std::set<std::string> folders;
  std::string reason;
};
const std::vector<Library> kLibraries = {
    {"Eigen/", {"tests", "bench"}, "an oracle: its row results depend on the batch"},
    {"doctest/", {"tests"}, "tests only"},
    {"cblas", {}, "no library product (R9)"},
    {"mkl", {}, "no library product (R9)"},
    {"random", {"tests"}, "randomness is core/rng.h (R8); distributions differ between standard libraries"},
    {"immintrin.h", {"core", "kernels", "bench"}, "vectors are the business of kernels; core has the pause of a waiting thread"},
    {"cuda_runtime.h", {"kernels", "tests", "bench"}, "all CUDA lives in kernels/cuda"},
    {"dlfcn.h", {"kernels", "tests"}, "the CUDA plugin is all that is loaded at run time"},
    {"toml++/", {"core", "audit", "tests"}, "configuration is core/config.h; audit reads the lists of an experiment"},
    {"openssl/", {"core"}, "hashes are core/hash.h"},
    {"zstd.h", {"data"}, "compressed files are data/zstd_stream.h and data/parquet"},
    {"CLI/", {"cli"}, "the command line is cli"},
    {"httplib.h", {"cli"}, "minirl serve is cli/http_server.h"},
    {"nlohmann/", {"model", "data", "rl", "audit", "cli", "bench", "tests"}, "core, kernels and autograd read no files of others"},
    {"iostream", {"cli", "tests", "bench"}, "layers below the command line print nothing"},
};

struct Include {
  std::string from;  // path below the root
  int line;
  std::string path;
  bool quoted;
};

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

std::vector<std::string> sources() {
  std::vector<std::string> out;
  for (const char* folder : {"core", "kernels", "autograd", "model", "data", "rl", "audit", "cli", "tests", "bench"}) {
    if (!fs::exists(kRoot / folder)) { continue; }
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh") { out.push_back(fs::relative(entry.path(), kRoot)); }
    }
  }
  return out;
}

std::vector<Include> includes_of(const std::string& from) {
  std::vector<Include> out;
  std::ifstream in(kRoot / from);
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    const auto hash = text.find_first_not_of(" \t");
    if (hash == std::string::npos || text[hash] != '#') { continue; }
    const auto word = text.find("include", hash);
    if (word == std::string::npos) { continue; }
    const auto open = text.find_first_of("<\"", word);
    const auto close = open == std::string::npos ? open : text.find_first_of(">\"", open + 1);
    if (close != std::string::npos) { out.push_back({from, line, text.substr(open + 1, close - open - 1), text[open] == '"'}); }
  }
  return out;
}

/// Whether a file of folder `from` may include the project header `path`.
bool layer_allows(const std::string& from, const std::string& path) {
  const std::string to = folder_of(path);
  if (from == "tests" || from == "bench") { return to != "cli" || from == "tests"; }
  const auto below = kBelow.find(from);
  return below != kBelow.end() && (to == from || below->second.count(to) != 0);
}

bool library_allows(const std::string& from, const std::string& header) {
  for (const Library& library : kLibraries) {
    // "random" must not match "random_something.h".
    const bool whole = library.header.back() != '/' && header.find('/') == std::string::npos;
    if (header == library.header || (header.rfind(library.header, 0) == 0 && !(whole && library.header == "random"))) { return library.folders.count(from) != 0; }
  }
  return true;
}

}  // namespace

TEST_CASE("contracts/layering: a folder includes only itself and the folders below it") {
  int checked = 0;
  for (const std::string& source : sources()) {
    for (const Include& include : includes_of(source)) {
      if (!include.quoted) { continue; }
      CAPTURE(include.from);
      CAPTURE(include.line);
      CAPTURE(include.path);
      CHECK(include.path.find("..") == std::string::npos);
      if (include.path == "minirl_build_info.h") { continue; }  // made by CMake in the build folder
      const bool of_test = folder_of(source) == "tests" && fs::exists(kRoot / "tests" / include.path) && !fs::exists(kRoot / include.path);
      CHECK((of_test || fs::exists(kRoot / include.path)));  // includes are written from the root
      if (!of_test) { CHECK(layer_allows(folder_of(source), include.path)); }
      ++checked;
    }
  }
  CHECK(checked > 300);
}

TEST_CASE("contracts/layering: the rules are those of the design, and can fail") {
  CHECK(layer_allows("rl", "data/task.h"));
  CHECK(layer_allows("model", "kernels/matmul.h"));
  CHECK(layer_allows("kernels", "kernels/rows.h"));
  CHECK_FALSE(layer_allows("kernels", "autograd/tape.h"));
  CHECK_FALSE(layer_allows("model", "data/tokenizer.h"));
  CHECK_FALSE(layer_allows("data", "kernels/matmul.h"));
  CHECK_FALSE(layer_allows("core", "kernels/rows.h"));
  CHECK_FALSE(layer_allows("rl", "audit/replay.h"));
  CHECK_FALSE(layer_allows("audit", "cli/main.h"));
  CHECK_FALSE(layer_allows("model", "tests/model/tiny.h"));
  CHECK_FALSE(library_allows("rl", "Eigen/Dense"));
  CHECK_FALSE(library_allows("core", "random"));
  CHECK(library_allows("rl", "vector"));
  CHECK(library_allows("tests", "doctest/doctest.h"));
  for (const auto& [layer, below] : kBelow) {  // acyclic
    for (const std::string& lower : below) { CHECK(kBelow.at(lower).count(layer) == 0); }
  }
}

TEST_CASE("contracts/layering: libraries stay in the folders that own them") {
  for (const std::string& source : sources()) {
    for (const Include& include : includes_of(source)) {
      CAPTURE(include.from);
      CAPTURE(include.line);
      CAPTURE(include.path);
      if (!include.quoted) { CHECK(library_allows(folder_of(source), include.path)); }
    }
  }
}

TEST_CASE("contracts/layering: headers do not include each other in circles") {
  std::map<std::string, std::vector<std::string>> edges;
  for (const std::string& source : sources()) {
    for (const Include& include : includes_of(source)) {
      if (include.quoted) { edges[source].push_back(include.path); }
    }
  }
  std::map<std::string, int> state;  // 1 = on the path, 2 = done
  std::string circle;
  const std::function<void(const std::string&)> visit = [&](const std::string& file) {
    state[file] = 1;
    for (const std::string& next : edges[file]) {
      if (state[next] == 1) { circle = file + " -> " + next; }
      if (state[next] == 0) { visit(next); }
    }
    state[file] = 2;
  };
  for (const std::string& source : sources()) {
    if (state[source] == 0) { visit(source); }
  }
  CHECK(circle == "");
}

TEST_CASE("contracts/layering: a header is guarded and its source includes it first") {
  // A source of kernels/ is a variant for one instruction set; the functions of its header are in kernels/host/.
  for (const std::string& source : sources()) {
    CAPTURE(source);
    const fs::path path = kRoot / source;
    if (path.extension() == ".h") {
      std::ifstream in(path);
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      CHECK(text.find("#pragma once") != std::string::npos);
    } else if (path.extension() == ".cpp" && path.parent_path().filename() != "kernels" && fs::exists(fs::path(path).replace_extension(".h"))) {
      const auto all = includes_of(source);
      REQUIRE(!all.empty());
      CHECK(all.front().path == fs::path(source).replace_extension(".h").string());  // so the header needs nothing before it
    }
  }
}

TEST_CASE("contracts/layering: oracles are for tests, and data sees no tensors") {
  for (const std::string& source : sources()) {
    for (const Include& include : includes_of(source)) {
      CAPTURE(include.from);
      CAPTURE(include.line);
      if (include.path == "kernels/reference/rows.h") { CHECK(folder_of(source) == "tests"); }  // it calls the C library
      if (folder_of(source) == "data") {
        CHECK(include.path != "core/tensor.h");
        CHECK(include.path != "core/exec.h");
      }
    }
  }
}

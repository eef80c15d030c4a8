// The parquet reader against files of pyarrow (tests/reference/parquet_fixtures.py), and against
// damaged ones.
#include "data/parquet/parquet.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/rng.h"

namespace minirl::data {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kFolder =
    std::filesystem::path(MINIRL_SOURCE_DIR) / "tests/data/fixtures/parquet";

std::vector<Json> read(const std::string& bytes, bool all = true) {
  std::vector<Json> rows;
  read_parquet(
      bytes, "f.parquet",
      [all](const std::string& path) { return all || path.substr(0, 6) == "prompt"; },
      [&](Json&& row) { rows.push_back(std::move(row)); });
  return rows;
}

std::string fixture(const std::string& name) {
  return read_file(kFolder / (name + ".parquet"));
}

std::string error_of(const std::string& bytes) {
  try {
    read(bytes);
    return "";
  } catch (const Error& e) {
    CHECK(e.code() == Exit::data);
    return e.what();
  }
}

}  // namespace

TEST_CASE("data/parquet: every encoding, page version and codec of pyarrow gives the same rows") {
  const Json want = Json::parse(read_file(kFolder / "rows.json"));
  REQUIRE(want.size() == 24);
  for (const char* name : {"snappy_v1", "gzip_plain", "zstd_v2", "none_v2_plain", "small_pages",
                           "delta", "old_lists", "version_1", "large_string"}) {
    CAPTURE(name);
    const auto rows = read(fixture(name));
    REQUIRE(rows.size() == want.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CAPTURE(i);
      CHECK(rows[i] == want[i]);
    }
  }
  CHECK(read(fixture("empty")).empty());
}

TEST_CASE("data/parquet: only the columns that are asked for are read") {
  const Json want = Json::parse(read_file(kFolder / "rows.json"));
  const auto rows = read(fixture("zstd_v2"), false);
  REQUIRE(rows.size() == want.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i] == Json{{"prompt", want[i].at("prompt")}});
  }
}

TEST_CASE("data/parquet: what is not served is named") {
  const auto contains = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(error_of(fixture("brotli")), "compressed with brotli");
  contains(error_of(fixture("lz4")), "compressed with LZ4");
  contains(error_of("PAR1"), "not a parquet file");
  contains(error_of("PARE" + std::string(100, 'x')), "encrypted");
  const std::string good = fixture("snappy_v1");
  contains(error_of(good.substr(0, good.size() - 9)), "f.parquet");
  CHECK_THROWS_AS(read_parquet(
                      good, "f.parquet", [](const std::string&) { return false; }, [](Json&&) {}),
                  Error);
}

TEST_CASE("data/parquet: a damaged file is an error or rows, never a crash and never much memory") {
  rng::Random random(rng::Key::of(9, rng::Stream::test));
  int errors = 0;
  int tried = 0;
  for (const char* name :
       {"snappy_v1", "gzip_plain", "zstd_v2", "none_v2_plain", "small_pages", "delta"}) {
    const std::string good = fixture(name);
    for (std::size_t cut = 0; cut < good.size(); cut += 61) {
      CHECK_FALSE(error_of(good.substr(0, cut)).empty());
      CHECK_FALSE(error_of(good.substr(0, cut) + good.substr(good.size() - 8)).empty());
    }
    // Bytes anywhere, and mostly in the footer, where sizes and places are.
    const std::size_t footer = good.size() - std::min<std::size_t>(good.size(), 2500);
    for (int i = 0; i < 800; ++i, ++tried) {
      std::string bytes = good;
      for (auto n = 1 + random.below(4); n > 0; --n) {
        const bool low = random.below(2) == 0;
        const std::size_t at =
            low ? random.below(bytes.size()) : footer + random.below(bytes.size() - footer);
        bytes[at] = static_cast<char>(random.below(256));
      }
      errors += error_of(bytes).empty() ? 0 : 1;
    }
  }
  CHECK(tried == 4800);
  CHECK(errors > 1000);
}

}  // namespace minirl::data

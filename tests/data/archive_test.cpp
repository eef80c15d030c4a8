// Compressed files in pieces, and archives that stay in their folder.
#include "data/archive.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "data/zstd_stream.h"

namespace minirl::data {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "minirl-archive-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

std::string made(std::size_t size) {
  std::string out(size, '\0');
  unsigned state = 1;
  for (char& c : out) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 27);
  }
  return out;
}

void write_zstd(const fs::path& path, std::string_view text) {
  ZstdWriter out(path);
  out.write(text);
  out.commit();
}

int code_of_extract(const fs::path& archive, const fs::path& to) {
  make_directory(to);
  try {
    extract_archive(archive, to);
  } catch (const Error& e) {
    return static_cast<int>(e.code());
  }
  return 0;
}

/// The tar header at `at` with another name and its checksum.
void rename_member(std::string& tar, std::size_t at, const std::string& name) {
  for (std::size_t i = 0; i < 100; ++i) { tar[at + i] = i < name.size() ? name[i] : '\0'; }
  for (std::size_t i = 148; i < 156; ++i) { tar[at + i] = ' '; }
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) { sum += static_cast<unsigned char>(tar[at + i]); }
  const std::string digits = fmt::format("{:06o}", sum);
  for (std::size_t i = 0; i < 6; ++i) { tar[at + 148 + i] = digits[i]; }
  tar[at + 154] = '\0';
}

}  // namespace

TEST_CASE("data/zstd_stream: what was written in pieces is read in pieces; damage is told") {
  const Folder dir;
  const std::string text = made(3000001);
  {
    ZstdWriter out(dir.path / "x.zst");
    for (std::size_t begin = 0; begin < text.size(); begin += 70001) { out.write(std::string_view(text).substr(begin, 70001)); }
    CHECK_FALSE(fs::exists(dir.path / "x.zst"));
    out.commit();
  }
  CHECK(fs::file_size(dir.path / "x.zst") < text.size());
  CHECK(read_zstd_file(dir.path / "x.zst") == text);
  ZstdReader in(dir.path / "x.zst");
  CHECK(in.read(5) == text.substr(0, 5));
  CHECK(in.read(1 << 20) == text.substr(5, 1 << 20));
  CHECK_THROWS_AS(read_zstd_file(dir.path / "x.zst", 1000), Error);
  const std::string packed = read_file(dir.path / "x.zst");
  write_file_atomic(dir.path / "cut.zst", packed.substr(0, packed.size() - 3));
  CHECK_THROWS_WITH_AS(read_zstd_file(dir.path / "cut.zst"), doctest::Contains("cut short"), Error);
  std::string bad = packed;
  bad[packed.size() / 2] = static_cast<char>(bad[packed.size() / 2] ^ 1);
  write_file_atomic(dir.path / "bad.zst", bad);
  CHECK_THROWS_WITH_AS(read_zstd_file(dir.path / "bad.zst"), doctest::Contains("damaged"), Error);
  write_file_atomic(dir.path / "empty.zst", "");
  CHECK_THROWS_AS(read_zstd_file(dir.path / "empty.zst"), Error);
}

TEST_CASE("data/archive: files come back as they were, and equal files give equal archives") {
  const Folder dir;
  write_file_atomic(dir.path / "a", made(1537));
  write_file_atomic(dir.path / "b", "");
  write_file_atomic(dir.path / "c", made(512));
  const std::map<std::string, fs::path> members = {{"one/a.bin", dir.path / "a"}, {"b.txt", dir.path / "b"}, {"one/two/c", dir.path / "c"}};
  write_archive(dir.path / "x.tar.zst", members);
  write_archive(dir.path / "y.tar.zst", members);
  CHECK(read_file(dir.path / "x.tar.zst") == read_file(dir.path / "y.tar.zst"));
  CHECK(code_of_extract(dir.path / "x.tar.zst", dir.path / "out") == 0);
  for (const auto& [name, source] : members) { CHECK(read_file(dir.path / "out" / name) == read_file(source)); }
}

TEST_CASE("data/archive: names that leave the folder, links and damage are refused") {
  const Folder dir;
  write_file_atomic(dir.path / "a", "hello");
  write_archive(dir.path / "x.tar.zst", {{"a", dir.path / "a"}});
  const std::string tar = read_zstd_file(dir.path / "x.tar.zst");
  REQUIRE(tar.size() == 512 + 512 + 1024);
  for (const char* name : {"../evil", "/tmp/minirl-evil", "x/../../evil", "./a", ""}) {
    std::string changed = tar;
    rename_member(changed, 0, name);
    write_zstd(dir.path / "bad.tar.zst", changed);
    CAPTURE(name);
    CHECK(code_of_extract(dir.path / "bad.tar.zst", dir.path / "deep" / "out") == 2);
  }
  CHECK_FALSE(fs::exists(dir.path / "deep" / "evil"));
  std::string link = tar;
  link[156] = '2';
  rename_member(link, 0, "a");
  write_zstd(dir.path / "link.tar.zst", link);
  CHECK(code_of_extract(dir.path / "link.tar.zst", dir.path / "out") == 2);
  std::string flipped = tar;
  flipped[3] = 'x';
  write_zstd(dir.path / "sum.tar.zst", flipped);
  CHECK(code_of_extract(dir.path / "sum.tar.zst", dir.path / "out") == 2);
  write_zstd(dir.path / "cut.tar.zst", std::string_view(tar).substr(0, 514));
  CHECK(code_of_extract(dir.path / "cut.tar.zst", dir.path / "out") == 2);
  std::string good = tar;
  rename_member(good, 0, "b/c");
  write_zstd(dir.path / "good.tar.zst", good);
  CHECK(code_of_extract(dir.path / "good.tar.zst", dir.path / "out") == 0);
  CHECK(read_file(dir.path / "out" / "b" / "c") == "hello");
}

}  // namespace minirl::data

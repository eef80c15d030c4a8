// A weight file comes from anywhere: each fault is one clear error that names the file and, where there is one, the tensor.
#include "model/safetensors.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "model/temporary.h"

using namespace minirl;
using namespace minirl::test;

namespace {

std::string length(std::uint64_t n) { return {reinterpret_cast<const char*>(&n), 8}; }
std::string whole(const std::string& header, std::size_t data) { return length(header.size()) + header + std::string(data, '\0'); }
/// A header with one tensor 'a'.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}
/// A header with two F32 tensors 'a' and 'b'.
std::string two(const std::string& a, const std::string& b, int count_a = 2, int count_b = 2) {
  return fmt::format(R"({{"a":{{"dtype":"F32","shape":[{}],"data_offsets":{}}},"b":{{"dtype":"F32","shape":[{}],"data_offsets":{}}}}})", count_a, a, count_b, b);
}

struct Fault {
  std::string what;
  std::string bytes;
  std::vector<std::string> message;  // all of these are part of it
};

std::vector<Fault> faults() {
  const std::string good = one("\"F32\"", "[2]", "[0,8]");
  return {
      {"empty file", "", {"0 bytes"}},
      {"seven bytes", "1234567", {"7 bytes"}},
      {"no header", length(0), {"header is not JSON"}},
      {"header length 2^62", length(std::uint64_t{1} << 62) + good, {"header claims 4611686018427387904 bytes"}},
      {"header length 2^64 - 1", length(~std::uint64_t{0}) + good, {"header claims 18446744073709551615 bytes"}},
      {"header one byte longer than the file", length(good.size() + 1) + good, {"cut short"}},
      {"header cut", whole(good, 8).substr(0, 20), {"cut short"}},
      {"Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 8\n", {"Git LFS pointer", "git lfs pull"}},
      {"HTML page", "<!DOCTYPE html><html><body>404</body></html>", {"HTML"}},
      {"zip archive of PyTorch", std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00zip", 13), {"PyTorch archive"}},
      {"pickle of PyTorch", "\x80\x02}q\x01(X\x05model", {"PyTorch archive"}},
      {"text", "These are not the weights that you are looking for.", {"another kind of file"}},
      {"not JSON", whole("{\"a\": nonsense}", 0), {"header is not JSON"}},
      {"JSON cut short", whole(good.substr(0, good.size() - 1), 8), {"header is not JSON"}},
      {"something after the JSON", whole(good + "x", 8), {"header is not JSON"}},
      {"header not UTF-8", whole("{\"\xff\xfe\":1}", 0), {"header is not JSON"}},
      {"JSON list", whole("[1,2]", 0), {"not a JSON object"}},
      {"JSON nested a million times", whole(std::string(1000000, '['), 0), {"header is not JSON"}},
      {"two tensors of one name", whole(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16), {"'a'", "twice"}},
      {"one tensor with two shapes", whole(R"({"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,8]}})", 8), {"'a'", "'shape' is listed twice"}},
      {"tensors overlap", whole(two("[0,8]", "[4,12]"), 12), {"'b'", "overlaps"}},
      {"tensors are the same bytes", whole(two("[0,8]", "[0,8]"), 8), {"'b'", "overlaps"}},
      {"gap between tensors", whole(two("[0,8]", "[12,20]"), 20), {"'b'", "4 bytes before"}},
      {"gap before the first tensor", whole(one("\"F32\"", "[2]", "[4,12]"), 12), {"'a'", "4 bytes before"}},
      {"bytes after the last tensor", whole(good, 9), {"1 bytes follow"}},
      {"data without tensors", whole("{}", 4), {"4 bytes follow"}},
      {"data cut short", whole(good, 7), {"'a'", "cut short"}},
      {"offsets beyond any file", whole(one("\"F32\"", "[2]", "[18446744073709551608,18446744073709551615]"), 8), {"'a'", "outside"}},
      {"shape needs more bytes", whole(one("\"F32\"", "[3]", "[0,8]"), 8), {"'a'", "needs 12 bytes", "give 8"}},
      {"shape needs fewer bytes", whole(one("\"F32\"", "[1]", "[0,8]"), 8), {"'a'", "needs 4 bytes", "give 8"}},
      {"dtype needs other bytes", whole(one("\"BF16\"", "[2]", "[0,8]"), 8), {"'a'", "needs 4 bytes"}},
      {"shape product overflows to the right size", whole(one("\"F32\"", "[4611686018427387904,4,2]", "[0,8]"), 8), {"'a'", "larger than any file"}},
      {"shape product overflows to zero", whole(one("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0), {"'a'", "larger than any file"}},
      {"dimension above the largest index", whole(one("\"F32\"", "[0,9223372036854775808]", "[0,0]"), 0), {"'a'", "larger than any file"}},
      {"empty tensor whose other dimensions overflow", whole(one("\"U8\"", "[9223372036854775807,2,0]", "[0,0]"), 0), {"'a'", "larger than any file"}},
      {"unknown dtype", whole(one("\"F8_E4M3\"", "[8]", "[0,8]"), 8), {"'a'", "F8_E4M3"}},
      {"lower-case dtype", whole(one("\"f32\"", "[2]", "[0,8]"), 8), {"'a'", "f32"}},
      {"dtype not text", whole(one("32", "[2]", "[0,8]"), 8), {"'a'", "dtype"}},
      {"no dtype", whole(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8), {"'a'", "dtype"}},
      {"no shape", whole(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", 8), {"'a'", "shape"}},
      {"shape a number", whole(one("\"F32\"", "2", "[0,8]"), 8), {"'a'", "shape"}},
      {"no offsets", whole(R"({"a":{"dtype":"F32","shape":[2]}})", 8), {"'a'", "data_offsets"}},
      {"one offset", whole(one("\"F32\"", "[2]", "[0]"), 8), {"'a'", "data_offsets"}},
      {"three offsets", whole(one("\"F32\"", "[2]", "[0,4,8]"), 8), {"'a'", "data_offsets"}},
      {"tensor a number", whole(R"({"a":8})", 0), {"'a'"}},
      {"tensor null", whole(R"({"a":null})", 0), {"'a'"}},
      {"negative dimension", whole(one("\"F32\"", "[-2]", "[0,8]"), 8), {"'a'", "dimension -2"}},
      {"fractional dimension", whole(one("\"F32\"", "[2.0]", "[0,8]"), 8), {"'a'", "dimension 2.0"}},
      {"dimension as text", whole(one("\"F32\"", "[\"2\"]", "[0,8]"), 8), {"'a'", "dimension \"2\""}},
      {"offsets reversed", whole(one("\"F32\"", "[2]", "[8,0]"), 8), {"'a'", "reversed"}},
      {"negative offset", whole(one("\"F32\"", "[2]", "[-8,0]"), 8), {"'a'", "data_offsets"}},
      {"offset as text", whole(one("\"F32\"", "[2]", "[\"0\",8]"), 8), {"'a'", "data_offsets"}},
      {"five dimensions", whole(one("\"F32\"", "[1,1,1,1,2]", "[0,8]"), 8), {"'a'", "5 dimensions"}},
      {"metadata not text", whole(R"({"__metadata__":{"step":1}})", 0), {"__metadata__ 'step'"}},
      {"metadata a list", whole(R"({"__metadata__":["pt"]})", 0), {"__metadata__"}},
  };
}

/// The message of the error with exit code 2 that opening the path must give.
std::string refusal(const std::filesystem::path& path) {
  try {
    const SafetensorsFile file(path);
  } catch (const Error& e) {
    CHECK(e.code() == Exit::usage);
    return e.what();
  }
  FAIL("accepted");
  return "";
}

std::vector<std::pair<std::string, Tensor>> sample_tensors() {
  std::vector<std::uint32_t> bits = {0x80000000U, 0x7f800000U, 0xff800000U, 0x7fc01234U, 0xffc00001U, 1U, 0x3f800001U, 0x7f7fffffU};
  std::vector<float> odd(bits.size());
  std::memcpy(odd.data(), bits.data(), bits.size() * 4);  // -0, infinities, NaN payloads, a subnormal
  const std::vector<Bf16> halves = {{0x8000}, {0x7fc1}, {0x0001}};
  return {
      {"z.first", Tensor::from<float>({2, 4}, odd)},
      {"bf16", Tensor::from<Bf16>({3}, halves)},
      {"double", Tensor::from<double>({1, 1, 1, 2}, std::vector<double>{-0.0, 5e-324})},
      {"bytes", Tensor::from<std::uint8_t>({3}, std::vector<std::uint8_t>{0, 127, 255})},
      {"ids", Tensor::from<std::int32_t>({2}, std::vector<std::int32_t>{INT32_MIN, INT32_MAX})},
      {"steps", Tensor::from<std::int64_t>({1}, std::vector<std::int64_t>{INT64_MIN})},
      {"scalar", Tensor::from<float>({}, std::vector<float>{3})},
      {"empty", Tensor::empty({0, 7}, DType::f32)},
      {"name with \"quotes\", \\ and 世界\n", Tensor::from<float>({1}, std::vector<float>{1})},
  };
}

}  // namespace

TEST_CASE("model/safetensors: every malformed file is one clear error that names the file and the tensor") {
  const TemporaryDirectory directory;
  const auto table = faults();
  CHECK(table.size() >= 50);
  int index = 0;
  for (const Fault& fault : table) {
    CAPTURE(fault.what);
    const auto path = directory.path() / fmt::format("fault-{}.safetensors", index++);
    std::ofstream(path, std::ios::binary) << fault.bytes;
    const std::string message = refusal(path);
    CAPTURE(message);
    CHECK(message.find(path.string()) != std::string::npos);
    CHECK(message.find('\n') == message.find("\n  hint: "));  // one line, and perhaps one of advice
    for (const std::string& part : fault.message) { CHECK_MESSAGE(message.find(part) != std::string::npos, part); }
  }
}

TEST_CASE("model/safetensors: what is no regular file is refused at once") {
  const TemporaryDirectory directory;
  CHECK(refusal(directory.path() / "none.safetensors").find("No such file") != std::string::npos);
  CHECK(refusal(directory.path()).find("not a regular file") != std::string::npos);
  const auto pipe = directory.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal(pipe).find("not a regular file") != std::string::npos);
  CHECK(refusal("/dev/zero").find("not a regular file") != std::string::npos);
  const auto secret = directory.path() / "secret";
  std::ofstream(secret) << "x";
  ::chmod(secret.c_str(), 0);
  if (::geteuid() != 0) { CHECK(refusal(secret).find("Permission denied") != std::string::npos); }
}

TEST_CASE("model/safetensors: a header that could never be read back is not written") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "unreadable.safetensors";
  const std::string name(kMaxSafetensorsHeader, 'n');
  CHECK_THROWS_WITH_AS(write_safetensors(path, {{name, Tensor::zeros({1}, DType::f32)}}), doctest::Contains("could never be read back"), Error);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("model/safetensors: a header above the limit is refused before it is read") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "huge.safetensors";
  std::ofstream(path, std::ios::binary) << length(kMaxSafetensorsHeader + 1);
  std::filesystem::resize_file(path, kMaxSafetensorsHeader + 100);  // sparse
  CHECK(refusal(path).find("at most 100000000") != std::string::npos);
}

TEST_CASE("model/safetensors: what is written is read back to the bit") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "all.safetensors";
  const auto tensors = sample_tensors();
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"note", "naïve \"text\"\n"}};
  write_safetensors(path, tensors, metadata);
  const SafetensorsFile file(path);
  CHECK(file.metadata() == metadata);
  CHECK(file.entries().size() == tensors.size());
  for (const auto& entry : tensors) {
    const auto& name = entry.first;
    const Tensor& tensor = entry.second;
    CAPTURE(name);
    REQUIRE(file.contains(name));
    const Tensor got = file.read(name);
    CHECK(got.dtype() == tensor.dtype());
    CHECK(got.shape() == tensor.shape());
    CHECK((tensor.bytes() == 0 || std::memcmp(got.raw(), tensor.raw(), static_cast<std::size_t>(tensor.bytes())) == 0));
  }
  CHECK_FALSE(file.contains("z"));
  // Equal content gives equal files.
  write_safetensors(directory.path() / "again.safetensors", tensors, metadata);
  CHECK(read_file(directory.path() / "again.safetensors") == read_file(path));
  write_safetensors(directory.path() / "none.safetensors", {});
  CHECK(SafetensorsFile(directory.path() / "none.safetensors").entries().empty());
}

TEST_CASE("model/safetensors: files are laid out as the format says") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "all.safetensors";
  const auto tensors = sample_tensors();
  write_safetensors(path, tensors, {{"format", "pt"}});
  const std::string raw = read_file(path);
  std::uint64_t size = 0;
  std::memcpy(&size, raw.data(), 8);
  CHECK(size % 8 == 0);  // data starts aligned
  REQUIRE(raw.size() >= 8 + size);
  CHECK(raw[8] == '{');
  const auto header = nlohmann::ordered_json::parse(raw.substr(8, size));
  CHECK(header["__metadata__"]["format"] == "pt");
  std::size_t at = 0, next = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") { continue; }
    CHECK(name == tensors[next].first);  // in the order given
    CHECK(entry["data_offsets"][0] == at);
    at += static_cast<std::size_t>(tensors[next++].second.bytes());
    CHECK(entry["data_offsets"][1] == at);
  }
  CHECK(next == tensors.size());
  CHECK(raw.size() == 8 + size + at);
  CHECK(header["bf16"]["dtype"] == "BF16");
  CHECK(header["scalar"]["shape"] == nlohmann::ordered_json::array());
}

TEST_CASE("model/safetensors: headers whose length looks like text are files like any other") {
  // A header of 60 bytes begins with '<', one of 640 with the mark of a pickle.
  const TemporaryDirectory directory;
  for (const std::size_t size : {std::size_t{60}, std::size_t{316}, std::size_t{640}}) {
    std::string header = one("\"F32\"", "[2]", "[0,8]");
    header.resize(size, ' ');
    const auto path = directory.path() / fmt::format("{}.safetensors", size);
    std::ofstream(path, std::ios::binary) << whole(header, 8);
    CHECK(SafetensorsFile(path).read("a").numel() == 2);
  }
}

TEST_CASE("model/safetensors: tensors may lie in any order, and empty ones anywhere") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "order.safetensors";
  const std::string header = R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"none":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},)"
                             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"end":{"dtype":"I64","shape":[3,0],"data_offsets":[12,12]}})";
  const float values[] = {1, 2, 3};
  std::ofstream(path, std::ios::binary) << length(header.size()) << header << std::string(reinterpret_cast<const char*>(values), 12);
  const SafetensorsFile file(path);
  CHECK(file.read("a").data<float>()[0] == 1);
  CHECK(file.read("b").data<float>()[1] == 3);
  CHECK(file.read("none").numel() == 0);
  CHECK(file.read("end").shape() == Shape{3, 0});
}

TEST_CASE("model/safetensors: reading asks for what is there, and says what is not") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "all.safetensors";
  write_safetensors(path, sample_tensors());
  const SafetensorsFile file(path);
  CHECK_THROWS_WITH_AS(file.read("w"), doctest::Contains("no tensor 'w'"), Error);
  Tensor shape = Tensor::empty({4, 2}, DType::f32), dtype = Tensor::empty({2, 4}, DType::i32);
  CHECK_THROWS_WITH_AS(file.read_into("z.first", shape), doctest::Contains("'z.first' is f32 (2, 4), f32 (4, 2) is needed"), Error);
  CHECK_THROWS_WITH_AS(file.read_into("z.first", dtype), doctest::Contains("i32 (2, 4) is needed"), Error);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);  // while it is open
  CHECK_THROWS_WITH_AS(file.read(sample_tensors().back().first), doctest::Contains("cannot be read"), Error);
  CHECK_THROWS_AS(write_safetensors(path, {{"a", shape}, {"a", shape}}), Error);
}

TEST_CASE("model/safetensors: refused files leave no descriptor open") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "bad.safetensors";
  std::ofstream(path, std::ios::binary) << whole("{}", 4);
  const auto open_files = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()); };
  const auto before = open_files();
  for (int i = 0; i < 5; ++i) { refusal(path); }
  CHECK(open_files() == before);
}

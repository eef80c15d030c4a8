#include "data/parquet/codec.h"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include "data/parquet/thrift.h"

namespace minirl::data::parquet {
namespace {

// No format packs more than this many bytes into one (deflate: 1032; zstd and snappy are given the
// same, generous, bound), so a small file cannot ask for gigabytes.
constexpr std::size_t kBestRatio = 1 << 15;

std::string gunzip(std::string_view packed, std::size_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) {  // gzip or zlib header
    fail(Exit::runtime, "zlib could not be started");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(size);
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) {
    bad_file("a gzip page is damaged");
  }
  return out;
}

}  // namespace

std::string unpack(std::int32_t codec, std::string_view packed, std::size_t size) {
  if (codec != 0 && size / kBestRatio > packed.size()) {
    bad_file("a page claims to be compressed more than its format can");
  }
  switch (codec) {
    case 0:
      if (packed.size() != size) {
        bad_file("an uncompressed page has two sizes");
      }
      return std::string(packed);
    case 1: {
      std::size_t real = 0;
      std::string out;
      if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &real) || real != size ||
          !snappy::Uncompress(packed.data(), packed.size(), &out) || out.size() != size) {
        bad_file("a snappy page is damaged");
      }
      return out;
    }
    case 2:
      return size == 0 ? std::string() : gunzip(packed, size);
    case 6: {
      std::string out(size, '\0');
      const std::size_t got = ZSTD_decompress(out.data(), size, packed.data(), packed.size());
      if (ZSTD_isError(got) != 0U || got != size) {
        bad_file("a zstd page is damaged");
      }
      return out;
    }
    default:
      break;
  }
  static const char* const names[] = {"none",   "snappy", "gzip", "LZO",
                                      "brotli", "LZ4",    "zstd", "LZ4_RAW"};
  fail(Exit::data,
       fmt::format("pages are compressed with {}, which is not served",
                   codec >= 0 && codec < 8 ? names[codec] : "an unknown codec"),
       "write the file again with snappy, gzip, zstd or no compression");
}

}  // namespace minirl::data::parquet

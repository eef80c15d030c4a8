#include "data/archive.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "core/files.h"
#include "data/zstd_stream.h"

namespace minirl::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 512;
constexpr std::size_t kCopy = std::size_t{1} << 20;
constexpr std::uint64_t kOctalLimit = std::uint64_t{1} << 33;  // of 11 octal digits

// The header of POSIX ustar: offset and length of the fields that are used here.
struct Field {
  std::size_t offset, length;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12},
    kTime{136, 12}, kSum{148, 8}, kType{156, 1}, kMagic{257, 8};

void put(std::string& header, Field field, std::string_view text) {
  MINIRL_CHECK(text.size() <= field.length, "'{}' does not fit {} bytes", text, field.length);
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(field.offset));
}

unsigned checksum(const std::string& header) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kSum.offset && i < kSum.offset + kSum.length;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

std::string header_of(const std::string& name, std::uint64_t size) {
  std::string h(kBlock, '\0');
  put(h, kName, name);
  put(h, kMode, "0000644");
  put(h, kOwner, "0000000");
  put(h, kGroup, "0000000");
  if (size < kOctalLimit) {
    put(h, kSize, fmt::format("{:011o}", size));
  } else {  // as GNU tar: the top bit, then a big-endian number
    h[kSize.offset] = static_cast<char>(0x80);
    for (std::size_t i = 0; i < 8; ++i) {
      h[kSize.offset + 11 - i] = static_cast<char>((size >> (8 * i)) & 0xff);
    }
  }
  put(h, kTime, "00000000000");
  put(h, kType, "0");
  put(h, kMagic, std::string_view("ustar\00000", 8));
  put(h, kSum, fmt::format("{:06o}", checksum(h)));
  h[kSum.offset + 7] = ' ';
  return h;
}

std::uint64_t number(const std::string& header, Field field, const fs::path& path) {
  std::uint64_t value = 0;
  const auto at = [&](std::size_t i) {
    return static_cast<unsigned char>(header[field.offset + i]);
  };
  if ((at(0) & 0x80U) != 0) {
    for (std::size_t i = field.length - 8; i < field.length; ++i) {
      value = (value << 8) | at(i);
    }
    return value;
  }
  for (std::size_t i = 0; i < field.length && at(i) != 0 && at(i) != ' '; ++i) {
    if (at(i) < '0' || at(i) > '7') {
      fail(Exit::usage, fmt::format("'{}' is damaged: a header holds no number", path.string()));
    }
    value = value * 8 + (at(i) - '0');
  }
  return value;
}

void require_name(const std::string& name, const fs::path& path) {
  const fs::path p(name);
  bool good = !name.empty() && p.is_relative() && p.has_filename();
  for (const fs::path& part : p) {
    good = good && part != ".." && part != ".";
  }
  if (!good) {
    fail(Exit::usage,
         fmt::format("'{}' holds a member '{}', which would leave the folder", path.string(), name),
         "it was not written by minirl");
  }
}

}  // namespace

void write_archive(const fs::path& path, const std::map<std::string, fs::path>& members) {
  ZstdWriter out(path);
  std::string piece(kCopy, '\0');
  for (const auto& [name, source] : members) {
    std::ifstream in(source, std::ios::binary);
    if (!in) {
      const int error = errno;
      fail(Exit::runtime, file_error("read", source, error), file_hint(error));
    }
    const std::uint64_t size = fs::file_size(source);
    out.write(header_of(name, size));
    std::uint64_t copied = 0;
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
      const auto got = static_cast<std::size_t>(in.gcount());
      out.write(std::string_view(piece).substr(0, got));
      copied += got;
    }
    if (copied != size) {
      fail(Exit::runtime, fmt::format("'{}' changed while it was read", source.string()));
    }
    out.write(std::string((kBlock - size % kBlock) % kBlock, '\0'));
  }
  out.write(std::string(2 * kBlock, '\0'));
  out.commit();
}

void extract_archive(const fs::path& path, const fs::path& folder) {
  ZstdReader in(path);
  for (;;) {
    const std::string header = in.read(kBlock);
    if (header.size() != kBlock) {
      fail(Exit::usage, fmt::format("'{}' is cut short", path.string()), "copy it again");
    }
    if (header.find_first_not_of('\0') == std::string::npos) {
      return;
    }
    if (number(header, kSum, path) != checksum(header) ||
        header.compare(kMagic.offset, 5, "ustar") != 0) {
      fail(Exit::usage, fmt::format("'{}' is damaged, or no archive", path.string()),
           "copy it again");
    }
    const std::string name(header.data(), ::strnlen(header.data(), kName.length));
    require_name(name, path);
    const char type = header[kType.offset];
    if (type != '0' && type != '\0') {
      fail(Exit::usage, fmt::format("'{}' holds '{}', which is no plain file", path.string(), name),
           "it was not written by minirl");
    }
    make_directory((folder / name).parent_path());
    AtomicFile out(folder / name);
    const std::uint64_t size = number(header, kSize, path);
    for (std::uint64_t left = size; left > 0;) {
      const std::string piece =
          in.read(static_cast<std::size_t>(std::min<std::uint64_t>(left, kCopy)));
      if (piece.empty()) {
        fail(Exit::usage, fmt::format("'{}' is cut short inside of '{}'", path.string(), name),
             "copy it again");
      }
      out.write(piece);
      left -= piece.size();
    }
    out.commit();
    in.read(static_cast<std::size_t>((kBlock - size % kBlock) % kBlock));
  }
}

}  // namespace minirl::data

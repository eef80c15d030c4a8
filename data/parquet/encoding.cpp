#include "data/parquet/encoding.h"

#include <cstring>

#include "data/parquet/thrift.h"

namespace minirl::data::parquet {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 30;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  std::string_view take(std::size_t n) {
    if (n > left()) {
      bad_file("a page ends before its values");
    }
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  template <class T>
  T number() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto b = static_cast<std::uint8_t>(take(1)[0]);
      out |= static_cast<std::uint64_t>(b & 0x7F) << shift;
      if ((b & 0x80) == 0) {
        return out;
      }
    }
    bad_file("a number of a page has more than 64 bits");
  }
  std::int64_t zigzag() {
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// The index-th number of `width` bits, least significant bit first.
std::uint64_t packed_number(std::string_view bytes, std::size_t index, unsigned width) {
  std::uint64_t out = 0;
  const std::size_t first = index * width;
  for (unsigned got = 0; got < width;) {
    const std::size_t bit = first + got;
    const auto b = static_cast<std::uint8_t>(bytes[bit / 8]);
    const unsigned from = bit % 8;
    const unsigned taken = std::min(8U - from, width - got);
    out |= static_cast<std::uint64_t>((b >> from) & ((1U << taken) - 1U)) << got;
    got += taken;
  }
  return out;
}

}  // namespace

std::size_t read_hybrid(std::string_view bytes, int width, std::size_t count,
                        std::vector<std::uint32_t>& out) {
  if (width < 0 || width > 32) {
    bad_file("levels or indices of more than 32 bits");
  }
  Reader in(bytes);
  const auto w = static_cast<unsigned>(width);
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t head = in.varint();
    if ((head & 1) == 0) {  // a run of one number
      const std::uint64_t length = std::min<std::uint64_t>(head >> 1, count - done);
      if (length == 0) {
        bad_file("a run of length 0");
      }
      std::uint32_t value = 0;
      const std::string_view raw = in.take((w + 7) / 8);
      for (std::size_t i = 0; i < raw.size(); ++i) {
        value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(raw[i])) << (8 * i);
      }
      out.insert(out.end(), length, value);
      done += length;
    } else {  // groups of eight
      const std::uint64_t groups = head >> 1;
      if (groups == 0 || groups > (1U << 30) || groups * w > in.left()) {
        bad_file("a page ends before its values");
      }
      const std::string_view raw = in.take(groups * w);
      const std::size_t length = std::min<std::uint64_t>(groups * 8, count - done);
      for (std::size_t i = 0; i < length; ++i) {
        out.push_back(static_cast<std::uint32_t>(packed_number(raw, i, w)));
      }
      done += length;
    }
  }
  return in.at();
}

std::size_t read_plain(std::string_view bytes, Physical type, std::size_t count, Values& out) {
  Reader in(bytes);
  if (type == Physical::boolean) {
    const std::string_view raw = in.take((count + 7) / 8);
    for (std::size_t i = 0; i < count; ++i) {
      out.integers.push_back(static_cast<std::int64_t>(packed_number(raw, i, 1)));
    }
    return in.at();
  }
  for (std::size_t i = 0; i < count; ++i) {
    switch (type) {
      case Physical::int32:
        out.integers.push_back(in.number<std::int32_t>());
        break;
      case Physical::int64:
        out.integers.push_back(in.number<std::int64_t>());
        break;
      case Physical::real32:
        out.reals.push_back(static_cast<double>(in.number<float>()));
        break;
      case Physical::real64:
        out.reals.push_back(in.number<double>());
        break;
      case Physical::bytes: {
        const auto size = in.number<std::uint32_t>();
        out.texts.push_back(in.take(size));
        break;
      }
      default:
        bad_file("values of a type that is not served (INT96 or FIXED_LEN_BYTE_ARRAY)");
    }
  }
  return in.at();
}

std::size_t read_delta(std::string_view bytes, std::size_t count, std::vector<std::int64_t>& out) {
  Reader in(bytes);
  const std::uint64_t block = in.varint();
  const std::uint64_t minis = in.varint();
  const std::uint64_t total = in.varint();
  auto value = static_cast<std::uint64_t>(in.zigzag());  // wraps like the format does
  if (minis == 0 || minis > 512 || block == 0 || block > (1U << 20) || block % minis != 0 ||
      block / minis % 8 != 0 || total != count) {
    bad_file("a block of differences has an impossible shape");
  }
  if (count == 0) {
    return in.at();
  }
  out.push_back(static_cast<std::int64_t>(value));
  for (std::size_t done = 1; done < count;) {
    const auto smallest = static_cast<std::uint64_t>(in.zigzag());
    const std::string_view widths = in.take(minis);
    for (std::size_t m = 0; m < minis && done < count; ++m) {
      const unsigned width = static_cast<std::uint8_t>(widths[m]);
      if (width > 64) {
        bad_file("differences of more than 64 bits");
      }
      const std::size_t per = block / minis;
      const std::string_view raw = in.take(per / 8 * width);
      for (std::size_t i = 0; i < per && done < count; ++i, ++done) {
        value += smallest + packed_number(raw, i, width);
        out.push_back(static_cast<std::int64_t>(value));
      }
    }
  }
  return in.at();
}

void read_delta_length(std::string_view bytes, std::size_t count, Values& out) {
  std::vector<std::int64_t> lengths;
  Reader in(bytes);
  in.take(read_delta(bytes, count, lengths));
  for (const std::int64_t n : lengths) {
    if (n < 0) {
      bad_file("a text of negative length");
    }
    out.texts.push_back(in.take(static_cast<std::size_t>(n)));
  }
}

void read_delta_text(std::string_view bytes, std::size_t count, std::string& made, Values& out) {
  std::vector<std::int64_t> shared;
  const std::size_t used = read_delta(bytes, count, shared);
  Values suffixes;
  read_delta_length(bytes.substr(used), count, suffixes);
  std::vector<std::size_t> ends;
  std::size_t begin = 0;  // of the last text in `made`
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = made.size() - begin;
    if (shared[i] < 0 || static_cast<std::size_t>(shared[i]) > (i == 0 ? 0 : length)) {
      bad_file("a text begins with more of the last one than there is");
    }
    if (made.size() + suffixes.texts[i].size() + length > kLongestText) {
      bad_file("the texts of a page are longer than a page may be");
    }
    const std::string start = made.substr(begin, static_cast<std::size_t>(shared[i]));
    begin = made.size();
    made += start;
    made += suffixes.texts[i];
    ends.push_back(made.size());
  }
  begin = 0;
  for (const std::size_t end : ends) {
    out.texts.push_back(std::string_view(made).substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace minirl::data::parquet

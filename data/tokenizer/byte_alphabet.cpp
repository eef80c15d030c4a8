#include "data/tokenizer/byte_alphabet.h"

#include "data/unicode.h"

namespace minirl::data {
namespace {

constexpr char32_t kEnd = 0x144;  // behind the alphabet's last character

std::array<std::string, 256> make_alphabet() {
  std::array<std::string, 256> out;
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    unicode::append(out[b], printable ? b : next++);
  }
  return out;
}

std::array<int, kEnd> make_inverse() {
  std::array<int, kEnd> out;
  out.fill(-1);
  for (std::size_t b = 0; b < 256; ++b) {
    out[unicode::decode(byte_alphabet()[b], 0).point] = static_cast<int>(b);
  }
  return out;
}

}  // namespace

const std::array<std::string, 256>& byte_alphabet() {
  static const auto alphabet = make_alphabet();
  return alphabet;
}

std::optional<std::string> alphabet_bytes(std::string_view entry) {
  static const auto inverse = make_inverse();
  std::string out;
  for (std::size_t i = 0; i < entry.size();) {
    const unicode::Char c = unicode::decode(entry, i);
    const int byte = c.point < kEnd ? inverse[c.point] : -1;
    if (byte < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += c.length;
  }
  return out;
}

}  // namespace minirl::data

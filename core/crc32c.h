// minirl core/crc32c.h -- the CRC-32C checksum (Castagnoli), as TFRecord files use it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace minirl {

/// CRC-32C of bytes: reflected polynomial 0x82f63b78, initial and final inversion (RFC 3720, B.4).
inline std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) {
        c = (c & 1U) != 0 ? (c >> 1) ^ 0x82f63b78U : c >> 1;
      }
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (crc >> 8);
  }
  return ~crc;
}

}  // namespace minirl

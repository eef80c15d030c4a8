// minirl core/ulp.h -- how far apart two fp32 numbers are, counted in representable numbers.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace minirl {

/// 0 iff the bits are equal; neighbours are 1 apart, -0 and +0 too. A NaN is as far as can be from
/// everything but its own bits.
inline std::uint32_t ulp_distance(float a, float b) {
  const auto bits_a = std::bit_cast<std::uint32_t>(a);
  const auto bits_b = std::bit_cast<std::uint32_t>(b);
  if (bits_a == bits_b) {
    return 0;
  }
  if (a != a || b != b) {
    return std::numeric_limits<std::uint32_t>::max();
  }
  constexpr std::uint32_t kSign = 0x80000000U;
  const auto ordered = [](std::uint32_t bits) {
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  };
  const std::uint32_t x = ordered(bits_a);
  const std::uint32_t y = ordered(bits_b);
  return x > y ? x - y : y - x;
}

}  // namespace minirl

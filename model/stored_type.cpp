#include "model/stored_type.h"

#include <array>
#include <bit>
#include <cstring>

namespace minirl {
namespace {

struct Info {
  StoredType type;
  std::string_view name, torch;
  std::size_t size;
};
constexpr std::array<Info, 7> kTypes = {{{StoredType::F64, "F64", "float64", 8},
                                         {StoredType::F32, "F32", "float32", 4},
                                         {StoredType::F16, "F16", "float16", 2},
                                         {StoredType::BF16, "BF16", "bfloat16", 2},
                                         {StoredType::I64, "I64", "int64", 8},
                                         {StoredType::I32, "I32", "int32", 4},
                                         {StoredType::U8, "U8", "uint8", 1}}};

const Info& info(StoredType type) { return kTypes[static_cast<std::size_t>(type)]; }

// The double is rounded once: to odd in f32's bits, so that the second rounding (to 16 bits) cannot
// round the wrong way.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (back == value || value != value || (bits & 1U) != 0) {
    return nearest;
  }
  // An even neighbour was chosen: the odd one lies on the other side of the value.
  const bool away = (back > value) == (value > 0);  // rounded away from zero
  bits += away ? 0xffffffffU : 1U;
  return std::bit_cast<float>(bits);
}

template <class From>
float narrow(From value) {
  if constexpr (std::is_same_v<From, double>) {
    return round_to_odd(value);
  } else if constexpr (std::is_same_v<From, Bf16>) {
    return to_float(value);
  } else {
    return value;
  }
}

template <class From, class To>
To convert(From value) {
  if constexpr (std::is_same_v<From, Bf16>) {
    return static_cast<To>(to_float(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class To>
void decode_all(StoredType type, std::span<const std::byte> bytes, std::span<To> out) {
  MINIRL_CHECK(bytes.size() == out.size() * size_of(type), "{} bytes of {} for {} values",
               bytes.size(), name(type), out.size());
  const std::byte* in = bytes.data();
  const auto each = [&](auto value_at) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = value_at(i);
    }
  };
  switch (type) {
    case StoredType::F32:
      each([in](std::size_t i) { return static_cast<To>(load<float>(in + 4 * i)); });
      break;
    case StoredType::F64:
      each([in](std::size_t i) { return static_cast<To>(load<double>(in + 8 * i)); });
      break;
    case StoredType::BF16:
      each([in](std::size_t i) { return static_cast<To>(to_float(load<Bf16>(in + 2 * i))); });
      break;
    case StoredType::F16:
      each([in](std::size_t i) {
        return static_cast<To>(half_value(load<std::uint16_t>(in + 2 * i)));
      });
      break;
    default:
      MINIRL_CHECK(false, "{} holds no floating-point numbers", name(type));
  }
}

template <class From>
void encode_all(StoredType type, std::span<const From> values, std::span<std::byte> out) {
  MINIRL_CHECK(out.size() == values.size() * size_of(type), "{} bytes of {} for {} values",
               out.size(), name(type), values.size());
  std::byte* to = out.data();
  const std::size_t n = values.size();
  switch (type) {
    case StoredType::F32:
      for (std::size_t i = 0; i < n; ++i) {
        store(to + 4 * i, convert<From, float>(values[i]));
      }
      break;
    case StoredType::F64:
      for (std::size_t i = 0; i < n; ++i) {
        store(to + 8 * i, convert<From, double>(values[i]));
      }
      break;
    case StoredType::BF16:
      for (std::size_t i = 0; i < n; ++i) {
        store(to + 2 * i, to_bf16(narrow(values[i])));
      }
      break;
    case StoredType::F16:
      for (std::size_t i = 0; i < n; ++i) {
        store(to + 2 * i, half_bits(narrow(values[i])));
      }
      break;
    default:
      MINIRL_CHECK(false, "{} holds no floating-point numbers", name(type));
  }
}

}  // namespace

std::size_t size_of(StoredType type) { return info(type).size; }
std::string_view name(StoredType type) { return info(type).name; }
std::string_view torch_name(StoredType type) { return info(type).torch; }

std::optional<StoredType> stored_type_from_name(std::string_view name) {
  for (const Info& t : kTypes) {
    if (t.name == name) {
      return t.type;
    }
  }
  return std::nullopt;
}

bool is_floating(StoredType type) { return type <= StoredType::BF16; }

StoredType weights_type_from_name(std::string_view name) {
  if (name == "f32") {
    return StoredType::F32;
  }
  if (name == "bf16") {
    return StoredType::BF16;
  }
  if (name == "f16") {
    return StoredType::F16;
  }
  fail(Exit::usage, fmt::format("unknown type of weights '{}'", name), "known: f32, bf16, f16");
}

std::optional<DType> tensor_type(StoredType type) {
  switch (type) {
    case StoredType::F64:
      return DType::f64;
    case StoredType::F32:
      return DType::f32;
    case StoredType::BF16:
      return DType::bf16;
    case StoredType::I64:
      return DType::i64;
    case StoredType::I32:
      return DType::i32;
    case StoredType::U8:
      return DType::u8;
    default:
      return std::nullopt;
  }
}

StoredType stored_type(DType type) {
  switch (type) {
    case DType::f64:
      return StoredType::F64;
    case DType::f32:
      return StoredType::F32;
    case DType::bf16:
      return StoredType::BF16;
    case DType::i64:
      return StoredType::I64;
    case DType::i32:
      return StoredType::I32;
    default:
      return StoredType::U8;
  }
}

std::uint16_t half_bits(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(u >> 16 & 0x8000U);
  const std::uint32_t magnitude = u & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {  // NaN: quiet, with the upper bits of its payload
    return static_cast<std::uint16_t>(sign | 0x7e00U | (magnitude >> 13 & 0x3ffU));
  }
  if (magnitude >= 0x477ff000U) {  // 65520 and above round to infinity
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  if (magnitude < 0x38800000U) {  // below 2^-14: subnormal, in units of 2^-24
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) {  // below 2^-25
      return sign;
    }
    const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    const std::uint32_t shift = 126 - exponent;  // 14..24
    const std::uint32_t half = 1U << (shift - 1);
    const std::uint32_t rest = mantissa & ((1U << shift) - 1);
    std::uint32_t units = mantissa >> shift;
    units += (rest > half || (rest == half && (units & 1U) != 0)) ? 1U : 0U;
    return static_cast<std::uint16_t>(sign | units);
  }
  const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 0xffU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

void decode(StoredType type, std::span<const std::byte> bytes, std::span<float> out) {
  decode_all(type, bytes, out);
}
void decode(StoredType type, std::span<const std::byte> bytes, std::span<double> out) {
  decode_all(type, bytes, out);
}
void encode(StoredType type, std::span<const float> values, std::span<std::byte> out) {
  encode_all(type, values, out);
}
void encode(StoredType type, std::span<const double> values, std::span<std::byte> out) {
  encode_all(type, values, out);
}
void encode(StoredType type, std::span<const Bf16> values, std::span<std::byte> out) {
  encode_all(type, values, out);
}

}  // namespace minirl

// minirl model/stored_type.h -- element types of checkpoints on disk and their conversion. Arithmetic
// never sees them: F16 exists here only.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace minirl {

/// Types that minirl reads and writes, as the safetensors format spells them.
enum class StoredType : unsigned char { F64, F32, F16, BF16, I64, I32, U8 };

std::size_t size_of(StoredType type);
std::string_view name(StoredType type);
/// Types of the format that minirl does not read (F8_E4M3, I16, BOOL, ...) give none.
std::optional<StoredType> stored_type_from_name(std::string_view name);
bool is_floating(StoredType type);
/// "f32", "bf16", "f16" of a command line or configuration. Throws Error(usage).
StoredType weights_type_from_name(std::string_view name);
/// "float32", "bfloat16", ...: the torch_dtype of config.json.
std::string_view torch_name(StoredType type);

/// The type with the same bits; none for F16, which tensors do not have.
std::optional<DType> tensor_type(StoredType type);
StoredType stored_type(DType type);

/// IEEE half precision: round to nearest, ties to even; overflow gives infinity, NaN stays NaN.
std::uint16_t half_bits(float value);
float half_value(std::uint16_t bits);

/// Floating values of any stored type as f32 or f64; F64 to f32 is rounded to nearest. Sizes agree.
void decode(StoredType type, std::span<const std::byte> bytes, std::span<float> out);
void decode(StoredType type, std::span<const std::byte> bytes, std::span<double> out);
/// f32, f64 or bf16 values into bytes of a floating type, rounded to nearest, ties to even.
void encode(StoredType type, std::span<const float> values, std::span<std::byte> out);
void encode(StoredType type, std::span<const double> values, std::span<std::byte> out);
void encode(StoredType type, std::span<const Bf16> values, std::span<std::byte> out);

}  // namespace minirl

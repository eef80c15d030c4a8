// minirl data/parquet/codec.h -- compressed pages, through the libraries of their formats.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace minirl::data::parquet {

/// The `size` bytes that `packed` holds. Fails for a codec that is not served (snappy, gzip, zstd
/// and none are), for damaged data and when the result has another size.
std::string unpack(std::int32_t codec, std::string_view packed, std::size_t size);

}  // namespace minirl::data::parquet

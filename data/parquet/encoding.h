// minirl data/parquet/encoding.h -- how pages write levels and values. Every read is checked
// against the end of the page.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/parquet/metadata.h"

namespace minirl::data::parquet {

/// Values of a column: one of the three is used. Texts point into pages, or into `made`.
struct Values {
  std::vector<std::string_view> texts;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
};

/// RLE / bit-packed hybrid: `count` numbers of `width` bits (0 to 32). Returns the bytes used.
std::size_t read_hybrid(std::string_view bytes, int width, std::size_t count,
                        std::vector<std::uint32_t>& out);

std::size_t read_plain(std::string_view bytes, Physical type, std::size_t count, Values& out);

/// DELTA_BINARY_PACKED. Returns the bytes used.
std::size_t read_delta(std::string_view bytes, std::size_t count, std::vector<std::int64_t>& out);
/// DELTA_LENGTH_BYTE_ARRAY.
void read_delta_length(std::string_view bytes, std::size_t count, Values& out);
/// DELTA_BYTE_ARRAY; the texts are kept in `made`, which must live as long as they do.
void read_delta_text(std::string_view bytes, std::size_t count, std::string& made, Values& out);

}  // namespace minirl::data::parquet

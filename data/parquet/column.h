// minirl data/parquet/column.h -- one column of one row group: levels and values.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/parquet/encoding.h"
#include "data/parquet/metadata.h"

namespace minirl::data::parquet {

/// entries = values and nulls. definition[i] == the leaf's: entry i is the next value.
struct Column {
  std::vector<std::uint8_t> definition, repetition;
  Values values;
  std::vector<std::unique_ptr<std::string>> pages;  // what texts point into
};

Column read_column(std::string_view file, const Node& leaf, const Chunk& chunk);

}  // namespace minirl::data::parquet

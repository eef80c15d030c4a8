// minirl data/parquet/parquet.h -- rows of a parquet file as JSON objects. Served is what pyarrow
// and pandas write: plain, dictionary, RLE and DELTA encodings, both page versions, snappy, gzip,
// zstd or no compression, nested lists and structs. Everything in the file is checked before it is
// used.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace minirl::data {

/// Calls row(object) for every row, in order, with the columns whose dotted path ("reward_model.
/// ground_truth"; of a list's items "prompt.list.element.role") is wanted; one row group is in
/// memory at a time. Throws Exit::data that names the file and what is damaged or not served.
void read_parquet(std::string_view file, const std::string& name,
                  const std::function<bool(const std::string& path)>& wanted,
                  const std::function<void(nlohmann::json&&)>& row);

}  // namespace minirl::data

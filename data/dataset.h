// minirl data/dataset.h -- problems in files: JSONL or parquet, as plain {"prompt", "answer"} rows
// or in verl's layout. docs/data.md.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/example.h"

namespace minirl::data {

/// Rows of a file in order: row(object, "name:place"). JSONL (blank lines are passed over) or
/// parquet, told apart by its first bytes. Throws Exit::usage for a file that cannot be read.
/// `bad_line` gets JSONL lines that are not objects, with the reason; it may throw.
using RowFunction = std::function<void(nlohmann::json&& row, const std::string& where)>;
using BadLineFunction = std::function<void(const std::string& where, const std::string& why)>;
void for_each_row(const std::filesystem::path& path,
                  const std::function<bool(const std::string& column)>& wanted,
                  const RowFunction& row, const BadLineFunction& bad_line);

enum class OnBadRow : unsigned char { stop, skip };

struct DatasetOptions {
  std::string prompt_key = "prompt";  // a text, or a list of messages
  std::string answer_key = "answer";  // a text or a number; where it is missing,
                                      // reward_model.ground_truth
  OnBadRow on_bad_row = OnBadRow::stop;
};

struct Dataset {
  std::vector<Example> examples;         // in file order; id = position
  std::map<std::string, Index> skipped;  // reason -> rows (OnBadRow::skip)
  Index skipped_total() const;
};

/// Throws Exit::data ("file:line: what") for the first bad row unless rows may be skipped; for a
/// label
/// ("id" or extra_info.index) that is there twice always, and for a file without a usable row.
Dataset read_dataset(const std::filesystem::path& path, const DatasetOptions& options);

/// A number as a text that reads back to the same number: 18, 0.5.
std::string answer_text(const nlohmann::json& value);

}  // namespace minirl::data

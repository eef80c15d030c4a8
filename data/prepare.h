// minirl data/prepare.h -- published data sets as the files that the task jsonl reads: one row a
// problem, without instructions, without repetitions.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace minirl::data {

/// Names of the data sets that are known: aime, dapo-math, gsm8k, math.
std::vector<std::string> prepared_names();

struct PrepareOptions {
  std::string name;                                // one of prepared_names()
  std::vector<std::filesystem::path> inputs;       // JSONL or parquet
  std::vector<std::filesystem::path> eval_inputs;  // held-out problems from files of their own
  /// Without eval_inputs: so many problems, chosen by a hash of their texts, are held out; -1: all.
  Index eval_count = 0;
  bool skip_bad_rows = false;  // count rows that cannot be used instead of stopping at the first
  /// "" if a gold answer can be scored, else what is wrong with it.
  std::function<std::string(const std::string&)> gold_fault;
};

struct PreparedRow {
  std::string id, prompt, answer, source;
};

struct Prepared {
  std::vector<PreparedRow> train, eval;
  Index rows = 0;                        // read
  std::map<std::string, Index> dropped;  // reason -> rows
  std::map<std::string, Index> changed;  // what was done to rows that stayed -> rows
};

/// Throws Exit::usage or Exit::data ("file:line: what").
Prepared prepare(const PrepareOptions& options);

/// The problem without the instructions that published files put around it; `which` gets the names
/// of those found.
std::string strip_instructions(const std::string& text, std::vector<std::string>* which = nullptr);

/// One JSON object a line.
std::string to_jsonl(const std::vector<PreparedRow>& rows);

}  // namespace minirl::data

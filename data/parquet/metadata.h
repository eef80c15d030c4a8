// minirl data/parquet/metadata.h -- the footer of a parquet file and the headers of its pages.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace minirl::data::parquet {

enum class Physical : std::int32_t {
  boolean = 0,
  int32 = 1,
  int64 = 2,
  int96 = 3,
  real32 = 4,
  real64 = 5,
  bytes = 6,
  fixed_bytes = 7
};
enum class Repetition : std::int32_t { required = 0, optional = 1, repeated = 2 };

/// The schema as a tree. Levels count the optional and repeated (definition), or the repeated
/// (repetition) nodes from the root to here.
struct Node {
  std::string name, path;
  Repetition repetition = Repetition::required;
  Physical type = Physical::bytes;  // leaves
  bool is_list = false;             // its one child is what the list repeats
  int definition = 0, level = 0;
  int leaf = -1;  // index of the column
  std::vector<Node> children;
};

struct Chunk {  // one column of one row group
  std::int32_t type = 0, codec = 0;
  std::int64_t values = 0, begin = 0, bytes = 0;
};
struct RowGroup {
  std::int64_t rows = 0;
  std::vector<Chunk> chunks;  // by leaf
};
struct Metadata {
  Node root;
  int leaves = 0;
  std::int64_t rows = 0;
  std::vector<RowGroup> groups;
};

/// Reads the footer; all places and sizes are checked against the file.
Metadata read_metadata(std::string_view file);

struct Page {
  enum class Kind : std::int32_t { data = 0, index = 1, dictionary = 2, data_v2 = 3 };
  Kind kind = Kind::data;
  std::int64_t stored = 0, unpacked = 0;  // bytes
  std::int64_t values = 0;                // entries, nulls included
  std::int32_t encoding = 0, levels_encoding = 3;
  std::int64_t definition_bytes = 0, repetition_bytes = 0;  // data_v2
  bool compressed = true;
  std::size_t header_bytes = 0;
};
Page read_page_header(std::string_view bytes);

}  // namespace minirl::data::parquet

#include "data/parquet/parquet.h"

#include "core/error.h"
#include "data/parquet/column.h"
#include "data/parquet/metadata.h"
#include "data/parquet/thrift.h"
#include "data/unicode.h"

namespace minirl::data {
namespace {

using namespace parquet;
using Json = nlohmann::json;

// Leaves that nobody wants, and groups without any that somebody does, are cut off.
bool prune(Node& node, const std::function<bool(const std::string&)>& wanted) {
  if (node.leaf >= 0) {
    return wanted(node.path);
  }
  std::vector<Node> kept;
  for (Node& child : node.children) {
    if (prune(child, wanted)) {
      kept.push_back(std::move(child));
    }
  }
  node.children = std::move(kept);
  return !node.children.empty();
}

void list_leaves(const Node& node, std::vector<const Node*>& out) {
  if (node.leaf >= 0) {
    out.push_back(&node);
  }
  for (const Node& child : node.children) {
    list_leaves(child, out);
  }
}

// Puts the columns of a row group together to rows: every column is read entry by entry, levels say
// where lists begin and what is null (Dremel).
class Assembler {
 public:
  Assembler(const Node& root, std::vector<Column>& columns)
      : root_(root), columns_(columns), at_(columns.size()) {}

  Json row() {
    Json out = Json::object();
    for (const Node& child : root_.children) {
      out[child.name] = field(child);
    }
    return out;
  }
  bool finished() const {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (at_[c].entry != columns_[c].definition.size()) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Place {
    std::size_t entry = 0, value = 0;
  };

  static const Node& first_leaf(const Node& node) {
    const Node* n = &node;
    while (n->leaf < 0) {
      n = &n->children.front();
    }
    return *n;
  }
  std::size_t index(const Node& leaf) const { return static_cast<std::size_t>(leaf.leaf); }
  int definition(const Node& node) const {
    const std::size_t c = index(first_leaf(node));
    if (at_[c].entry >= columns_[c].definition.size()) {
      bad_file("columns of different lengths");
    }
    return columns_[c].definition[at_[c].entry];
  }
  bool repeats(const Node& node) const {
    const std::size_t c = index(first_leaf(node));
    return at_[c].entry < columns_[c].repetition.size() &&
           columns_[c].repetition[at_[c].entry] == node.level;
  }
  // Every column below has one entry for something that is not there.
  void pass(const Node& node) {
    if (node.leaf >= 0) {
      const Column& c = columns_[index(node)];
      Place& p = at_[index(node)];
      if (p.entry >= c.definition.size() || c.definition[p.entry] == node.definition) {
        bad_file("columns whose levels contradict each other");
      }
      ++p.entry;
    }
    for (const Node& child : node.children) {
      pass(child);
    }
  }

  Json field(const Node& node) {
    if (node.repetition == Repetition::required) {
      return value(node);
    }
    const bool there = definition(node) >= node.definition;
    if (node.repetition == Repetition::optional) {
      if (there) {
        return value(node);
      }
      pass(node);
      return nullptr;
    }
    Json out = Json::array();
    if (!there) {
      pass(node);
      return out;
    }
    do {
      out.push_back(value(node));
    } while (repeats(node));
    return out;
  }

  Json value(const Node& node) {
    if (node.leaf >= 0) {
      return leaf(node);
    }
    if (node.is_list) {
      const Node& repeated = node.children.front();
      Json items = field(repeated);
      const bool wrapped = repeated.leaf < 0 && repeated.children.size() == 1 &&
                           (repeated.name == "list" || repeated.name == "bag" ||
                            repeated.name == node.name + "_tuple");
      if (wrapped) {  // the usual three levels: list.element
        for (Json& item : items) {
          Json inner = std::move(item[repeated.children.front().name]);
          item = std::move(inner);
        }
      }
      return items;
    }
    Json out = Json::object();
    for (const Node& child : node.children) {
      out[child.name] = field(child);
    }
    return out;
  }

  Json leaf(const Node& node) {
    const Column& c = columns_[index(node)];
    Place& p = at_[index(node)];
    if (p.entry >= c.definition.size() || c.definition[p.entry] != node.definition) {
      bad_file("columns whose levels contradict each other");
    }
    ++p.entry;
    const std::size_t i = p.value++;
    if (node.type == Physical::bytes) {
      const std::string_view text = c.values.texts.at(i);
      if (!unicode::is_valid(text)) {
        bad_file("the column " + node.path + " holds bytes that are not UTF-8");
      }
      return std::string(text);
    }
    if (node.type == Physical::real32 || node.type == Physical::real64) {
      return c.values.reals.at(i);
    }
    if (node.type == Physical::boolean) {
      return c.values.integers.at(i) != 0;
    }
    return c.values.integers.at(i);
  }

  const Node& root_;
  std::vector<Column>& columns_;
  std::vector<Place> at_;
};

}  // namespace

void read_parquet(std::string_view file, const std::string& name,
                  const std::function<bool(const std::string& path)>& wanted,
                  const std::function<void(Json&&)>& row) {
  std::int64_t number = 0;
  bool reading = true;  // errors of `row` are not about the file
  try {
    Metadata meta = read_metadata(file);
    if (!prune(meta.root, wanted)) {
      bad_file("none of the columns that are needed is there");
    }
    std::vector<const Node*> leaves;
    list_leaves(meta.root, leaves);
    for (const RowGroup& group : meta.groups) {
      std::vector<Column> columns(static_cast<std::size_t>(meta.leaves));
      for (const Node* leaf : leaves) {
        const auto at = static_cast<std::size_t>(leaf->leaf);
        columns[at] = read_column(file, *leaf, group.chunks[at]);
      }
      Assembler rows(meta.root, columns);
      for (std::int64_t r = 0; r < group.rows; ++r, ++number) {
        Json object = rows.row();
        reading = false;
        row(std::move(object));
        reading = true;
      }
      if (!rows.finished()) {
        bad_file("a row group has more values than rows");
      }
    }
  } catch (const Error& error) {
    if (!reading) {
      throw;
    }
    fail(error.code(), fmt::format("'{}': {}", name, error.what()));
  }
}

}  // namespace minirl::data

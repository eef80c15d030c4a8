#include "data/parquet/metadata.h"

#include <cstring>

#include "data/parquet/thrift.h"

namespace minirl::data::parquet {
namespace {

using Type = ThriftReader::Type;

constexpr std::int64_t kLongestPage = std::int64_t{1} << 30;
constexpr int kDeepestSchema = 24;

struct Element {
  std::int32_t type = -1, repetition = 0, children = 0, converted = -1;
  bool logical_list = false;
  std::string name;
};

std::int32_t small(ThriftReader& in) {
  const std::int64_t v = in.integer();
  if (v < INT32_MIN || v > INT32_MAX) {
    bad_file("a number of the metadata does not fit into 32 bits");
  }
  return static_cast<std::int32_t>(v);
}

Element read_element(ThriftReader& in) {
  Element e;
  in.read_struct([&](std::int32_t id, Type type) {
    if (type == Type::i32 && (id == 1 || id == 3 || id == 5 || id == 6)) {
      (id == 1 ? e.type : id == 3 ? e.repetition : id == 5 ? e.children : e.converted) = small(in);
      return true;
    }
    if (id == 4 && type == Type::binary) {
      e.name = std::string(in.text());
      return true;
    }
    if (id == 10 && type == Type::structure) {
      in.read_struct([&](std::int32_t kind, Type) {
        e.logical_list |= kind == 3;
        return false;
      });
      return true;
    }
    return false;
  });
  return e;
}

class SchemaBuilder {
 public:
  explicit SchemaBuilder(const std::vector<Element>& elements) : elements_(elements) {}

  Node build() {
    if (elements_.empty() || elements_[0].children <= 0) {
      bad_file("the schema has no columns");
    }
    Node root = node(nullptr, 0);
    if (next_ != elements_.size()) {
      bad_file("the schema has more elements than its tree");
    }
    return root;
  }
  int leaves() const { return leaves_; }

 private:
  Node node(const Node* parent, int depth) {
    if (next_ >= elements_.size() || depth > kDeepestSchema) {
      bad_file("the schema's tree is not whole, or too deep");
    }
    const Element& e = elements_[next_++];
    Node out;
    out.name = e.name;
    if (parent != nullptr) {
      if (e.repetition < 0 || e.repetition > 2) {
        bad_file("the schema has an unknown repetition");
      }
      out.path = parent->path.empty() ? e.name : parent->path + "." + e.name;
      out.repetition = static_cast<Repetition>(e.repetition);
      out.definition = parent->definition + (out.repetition == Repetition::required ? 0 : 1);
      out.level = parent->level + (out.repetition == Repetition::repeated ? 1 : 0);
    }
    if (e.children > 0) {
      for (std::int32_t i = 0; i < e.children; ++i) {
        out.children.push_back(node(&out, depth + 1));
      }
      out.is_list = (e.converted == 3 || e.logical_list) && out.children.size() == 1 &&
                    out.children[0].repetition == Repetition::repeated;
    } else if (e.type < 0 || e.type > 7) {
      bad_file("the column " + out.path + " has no known type");
    } else {
      out.type = static_cast<Physical>(e.type);
      out.leaf = leaves_++;
    }
    return out;
  }

  const std::vector<Element>& elements_;
  std::size_t next_ = 0;
  int leaves_ = 0;
};

Chunk read_chunk(ThriftReader& in) {
  Chunk c;
  std::int64_t data = -1;
  std::int64_t dictionary = -1;
  bool elsewhere = false;
  in.read_struct([&](std::int32_t id, Type type) {
    if (id == 1 && type == Type::binary) {
      elsewhere = !in.text().empty();
      return true;
    }
    if (id != 3 || type != Type::structure) {
      return false;
    }
    in.read_struct([&](std::int32_t field, Type kind) {
      if (kind == Type::i32 && (field == 1 || field == 4)) {
        (field == 1 ? c.type : c.codec) = small(in);
        return true;
      }
      if (kind == Type::i64 && (field == 5 || field == 7 || field == 9 || field == 11)) {
        (field == 5   ? c.values
         : field == 7 ? c.bytes
         : field == 9 ? data
                      : dictionary) = in.integer();
        return true;
      }
      return false;
    });
    return true;
  });
  if (elsewhere) {
    bad_file("a column lies in another file, which is not served");
  }
  c.begin = dictionary > 0 && dictionary < data ? dictionary : data;
  if (c.values == 0) {  // of an empty table: there may be no place at all
    c.begin = 4, c.bytes = 0;
  }
  return c;
}

}  // namespace

Metadata read_metadata(std::string_view file) {
  constexpr std::string_view magic = "PAR1";
  if (file.size() < 12 || file.substr(0, 4) != magic || file.substr(file.size() - 4) != magic) {
    bad_file(file.substr(0, 4) == "PARE" ? "an encrypted parquet file"
                                         : "not a parquet file, or not all of one");
  }
  std::uint32_t size = 0;
  std::memcpy(&size, file.data() + file.size() - 8, 4);
  if (size > file.size() - 12) {
    bad_file("the footer is longer than the file");
  }
  ThriftReader in(file.substr(file.size() - 8 - size, size));
  std::vector<Element> elements;
  Metadata out;
  in.read_struct([&](std::int32_t id, Type type) {
    if (id == 2 && type == Type::list) {
      in.read_list(Type::structure, [&] { elements.push_back(read_element(in)); });
      return true;
    }
    if (id == 3 && type == Type::i64) {
      out.rows = in.integer();
      return true;
    }
    if (id == 4 && type == Type::list) {
      in.read_list(Type::structure, [&] {
        RowGroup group;
        in.read_struct([&](std::int32_t field, Type kind) {
          if (field == 1 && kind == Type::list) {
            in.read_list(Type::structure, [&] { group.chunks.push_back(read_chunk(in)); });
            return true;
          }
          if (field == 3 && kind == Type::i64) {
            group.rows = in.integer();
            return true;
          }
          return false;
        });
        out.groups.push_back(std::move(group));
      });
      return true;
    }
    return false;
  });
  SchemaBuilder schema(elements);
  out.root = schema.build();
  out.leaves = schema.leaves();
  const auto length = static_cast<std::int64_t>(file.size());
  const std::int64_t most = std::max(std::int64_t{1} << 24, 64 * length);
  for (const RowGroup& g : out.groups) {
    if (g.rows < 0 || g.rows > most || g.chunks.size() != static_cast<std::size_t>(out.leaves)) {
      bad_file("a row group has an impossible number of rows or columns");
    }
    for (const Chunk& c : g.chunks) {
      if (c.values < 0 || c.values > most || c.begin < 4 || c.bytes < 0 || c.begin > length ||
          c.bytes > length - c.begin) {
        bad_file("a column reaches beyond the file, or has an impossible number of values");
      }
    }
  }
  return out;
}

Page read_page_header(std::string_view bytes) {
  ThriftReader in(bytes);
  Page p;
  std::int32_t kind = -1;
  in.read_struct([&](std::int32_t id, Type type) {
    if (type == Type::i32 && id >= 1 && id <= 3) {
      const std::int32_t v = small(in);
      if (id == 1) {
        kind = v;
      } else {
        (id == 2 ? p.unpacked : p.stored) = v;
      }
      return true;
    }
    if (type != Type::structure || (id != 5 && id != 7 && id != 8)) {
      return false;
    }
    const bool v2 = id == 8;
    in.read_struct([&](std::int32_t field, Type inner) {
      if (v2 && field == 7 && (inner == Type::yes || inner == Type::no)) {
        p.compressed = inner == Type::yes;
        return true;
      }
      if (inner != Type::i32) {
        return false;
      }
      const std::int32_t v = small(in);
      if (field == 1) {
        p.values = v;
      } else if (field == (v2 ? 4 : 2)) {
        p.encoding = v;
      } else if (v2 && field == 5) {
        p.definition_bytes = v;
      } else if (v2 && field == 6) {
        p.repetition_bytes = v;
      } else if (id == 5 && (field == 3 || field == 4) && v != 3) {
        p.levels_encoding = v;
      }
      return true;
    });
    return true;
  });
  if (kind < 0 || kind > 3) {
    bad_file("a page of an unknown kind");
  }
  p.kind = static_cast<Page::Kind>(kind);
  p.header_bytes = in.position();
  if (p.stored < 0 || p.unpacked < 0 || p.unpacked > kLongestPage || p.values < 0 ||
      p.definition_bytes < 0 || p.repetition_bytes < 0 ||
      p.definition_bytes + p.repetition_bytes > std::min(p.stored, p.unpacked) ||
      static_cast<std::size_t>(p.stored) > bytes.size() - p.header_bytes) {
    bad_file("a page has an impossible size");
  }
  return p;
}

}  // namespace minirl::data::parquet

#include "data/parquet/column.h"

#include <bit>

#include "data/parquet/codec.h"
#include "data/parquet/thrift.h"

namespace minirl::data::parquet {
namespace {

enum Encoding : std::int32_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  delta_integers = 5,
  delta_length = 6,
  delta_text = 7,
  rle_dictionary = 8
};

std::size_t count_of(const Values& v) {
  return v.texts.size() + v.integers.size() + v.reals.size();
}

class ColumnReader {
 public:
  ColumnReader(std::string_view file, const Node& leaf, const Chunk& chunk)
      : bytes_(file.substr(static_cast<std::size_t>(chunk.begin),
                           static_cast<std::size_t>(chunk.bytes))),
        leaf_(leaf),
        chunk_(chunk) {}

  Column read() {
    if (chunk_.type != static_cast<std::int32_t>(leaf_.type)) {
      bad_file("a column has another type than the schema");
    }
    const auto total = static_cast<std::size_t>(chunk_.values);
    for (std::size_t at = 0; out_.definition.size() < total;) {
      if (at >= bytes_.size()) {
        bad_file("a column ends before its values");
      }
      const Page page = read_page_header(bytes_.substr(at));
      at += page.header_bytes;
      const std::string_view stored = bytes_.substr(at, static_cast<std::size_t>(page.stored));
      at += stored.size();
      if (page.kind == Page::Kind::dictionary) {
        read_dictionary(page, stored);
      } else if (page.kind != Page::Kind::index) {
        if (static_cast<std::size_t>(page.values) > total - out_.definition.size()) {
          bad_file("a page has more values than its column");
        }
        if (page.kind == Page::Kind::data_v2) {
          read_v2(page, stored);
        } else {
          read_v1(page, stored);
        }
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view keep(std::string bytes) {
    out_.pages.push_back(std::make_unique<std::string>(std::move(bytes)));
    return *out_.pages.back();
  }

  void read_dictionary(const Page& page, std::string_view stored) {
    if (page.encoding != plain && page.encoding != plain_dictionary) {
      bad_file("a dictionary in an encoding that is not served");
    }
    dictionary_ = Values{};
    const std::string_view bytes =
        keep(unpack(chunk_.codec, stored, static_cast<std::size_t>(page.unpacked)));
    read_plain(bytes, leaf_.type, static_cast<std::size_t>(page.values), dictionary_);
  }

  void append_levels(std::vector<std::uint8_t>& to, const std::vector<std::uint32_t>& levels,
                     int most) {
    for (const std::uint32_t v : levels) {
      if (v > static_cast<std::uint32_t>(most)) {
        bad_file("a level above that of its column");
      }
      to.push_back(static_cast<std::uint8_t>(v));
    }
  }
  // Levels of one kind from `bytes`; the kind that a column does not have is all zero.
  void read_levels(std::string_view bytes, int most, std::size_t count,
                   std::vector<std::uint8_t>& to) {
    if (most == 0) {
      to.insert(to.end(), count, 0);
      return;
    }
    std::vector<std::uint32_t> levels;
    read_hybrid(bytes, std::bit_width(static_cast<unsigned>(most)), count, levels);
    append_levels(to, levels, most);
  }

  void read_v1(const Page& page, std::string_view stored) {
    std::string_view bytes =
        keep(unpack(chunk_.codec, stored, static_cast<std::size_t>(page.unpacked)));
    if (page.levels_encoding != rle) {
      bad_file("levels in an encoding that is not served (BIT_PACKED)");
    }
    const auto count = static_cast<std::size_t>(page.values);
    const auto part = [&](int most, std::vector<std::uint8_t>& to) {
      std::uint32_t size = 0;
      if (most > 0) {  // 4 bytes of length come first
        if (bytes.size() < 4) {
          bad_file("a page ends before its levels");
        }
        for (unsigned i = 0; i < 4; ++i) {
          size |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
        }
        bytes.remove_prefix(4);
        if (size > bytes.size()) {
          bad_file("a page ends before its levels");
        }
      }
      read_levels(bytes.substr(0, size), most, count, to);
      bytes.remove_prefix(size);
    };
    part(leaf_.level, out_.repetition);
    part(leaf_.definition, out_.definition);
    read_values(page, bytes, count);
  }

  void read_v2(const Page& page, std::string_view stored) {
    const auto repetition = static_cast<std::size_t>(page.repetition_bytes);
    const auto definition = static_cast<std::size_t>(page.definition_bytes);
    const auto count = static_cast<std::size_t>(page.values);
    read_levels(stored.substr(0, repetition), leaf_.level, count, out_.repetition);
    read_levels(stored.substr(repetition, definition), leaf_.definition, count, out_.definition);
    stored.remove_prefix(repetition + definition);
    const std::size_t size = static_cast<std::size_t>(page.unpacked) - repetition - definition;
    read_values(page, keep(unpack(page.compressed ? chunk_.codec : 0, stored, size)), count);
  }

  void read_values(const Page& page, std::string_view bytes, std::size_t entries) {
    std::size_t count = 0;
    for (std::size_t i = out_.definition.size() - entries; i < out_.definition.size(); ++i) {
      count += out_.definition[i] == leaf_.definition ? 1U : 0U;
    }
    const std::size_t before = count_of(out_.values);
    switch (page.encoding) {
      case plain:
        read_plain(bytes, leaf_.type, count, out_.values);
        break;
      case plain_dictionary:
      case rle_dictionary:
        read_indices(bytes, count);
        break;
      case rle:
        read_booleans(bytes, count);
        break;
      case delta_integers:
        if (leaf_.type != Physical::int32 && leaf_.type != Physical::int64) {
          bad_file("differences of something else than whole numbers");
        }
        read_delta(bytes, count, out_.values.integers);
        break;
      case delta_length:
      case delta_text:
        if (leaf_.type != Physical::bytes) {
          bad_file("an encoding of texts for something else");
        }
        if (page.encoding == delta_length) {
          read_delta_length(bytes, count, out_.values);
        } else {
          out_.pages.push_back(std::make_unique<std::string>());
          read_delta_text(bytes, count, *out_.pages.back(), out_.values);
        }
        break;
      default:
        bad_file(fmt::format("values in the encoding {}, which is not served", page.encoding));
    }
    if (count_of(out_.values) - before != count) {
      bad_file("a page has another number of values than its levels say");
    }
  }

  void read_indices(std::string_view bytes, std::size_t count) {
    if (count == 0) {
      return;
    }
    if (bytes.empty()) {
      bad_file("a page ends before its values");
    }
    const int width = static_cast<std::uint8_t>(bytes[0]);
    std::vector<std::uint32_t> indices;
    read_hybrid(bytes.substr(1), width, count, indices);
    const std::size_t size = count_of(dictionary_);
    for (const std::uint32_t i : indices) {
      if (i >= size) {
        bad_file("a value beyond the dictionary");
      }
      if (!dictionary_.texts.empty()) {
        out_.values.texts.push_back(dictionary_.texts[i]);
      } else if (!dictionary_.integers.empty()) {
        out_.values.integers.push_back(dictionary_.integers[i]);
      } else {
        out_.values.reals.push_back(dictionary_.reals[i]);
      }
    }
  }

  void read_booleans(std::string_view bytes, std::size_t count) {
    if (leaf_.type != Physical::boolean || bytes.size() < 4) {
      bad_file("runs of something else than true and false");
    }
    std::vector<std::uint32_t> values;
    read_hybrid(bytes.substr(4), 1, count, values);
    out_.values.integers.insert(out_.values.integers.end(), values.begin(), values.end());
  }

  std::string_view bytes_;
  const Node& leaf_;
  const Chunk& chunk_;
  Column out_;
  Values dictionary_;
};

}  // namespace

Column read_column(std::string_view file, const Node& leaf, const Chunk& chunk) {
  return ColumnReader(file, leaf, chunk).read();
}

}  // namespace minirl::data::parquet

#include "data/parquet/thrift.h"

namespace minirl::data::parquet {

void bad_file(const std::string& what) {
  fail(Exit::data, what);
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t b = read_byte();
    out |= static_cast<std::uint64_t>(b & 0x7F) << shift;
    if ((b & 0x80) == 0) {
      return out;
    }
  }
  bad_file("a number of the metadata has more than 64 bits");
}

ThriftReader::ListHead ThriftReader::list_head() {
  const std::uint8_t head = read_byte();
  const std::uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
  if (count > bytes_.size() - at_) {  // every item takes a byte or more
    bad_file("a list of metadata is longer than the file");
  }
  return {static_cast<Type>(head & 0x0F), count};
}

std::string_view ThriftReader::text() {
  const std::uint64_t size = varint();
  if (size > bytes_.size() - at_) {
    bad_file("a text of the metadata is longer than the file");
  }
  const std::string_view out = bytes_.substr(at_, size);
  at_ += size;
  return out;
}

void ThriftReader::skip(Type type) {
  enter();
  switch (type) {
    case yes:
    case no:
      break;
    case byte:
      read_byte();
      break;
    case i16:
    case i32:
    case i64:
      varint();
      break;
    case real:
      for (int i = 0; i < 8; ++i) {
        read_byte();
      }
      break;
    case binary:
      text();
      break;
    case list:
    case set: {
      const auto [item, count] = list_head();
      for (std::uint64_t i = 0; i < count; ++i) {
        if (item == yes || item == no) {
          read_byte();  // a flag inside of a list takes a byte
        } else {
          skip(item);
        }
      }
      break;
    }
    case map: {
      const std::uint64_t count = varint();
      if (count > bytes_.size() - at_) {
        bad_file("a map of metadata is longer than the file");
      }
      const std::uint8_t types = count > 0 ? read_byte() : std::uint8_t{0};
      for (std::uint64_t i = 0; i < count; ++i) {
        skip(static_cast<Type>(types >> 4));
        skip(static_cast<Type>(types & 0x0F));
      }
      break;
    }
    case structure:
      read_struct([](std::int32_t, Type) { return false; });
      break;
    default:
      bad_file(fmt::format("metadata has a value of the unknown type {}", static_cast<int>(type)));
  }
  --depth_;
}

}  // namespace minirl::data::parquet

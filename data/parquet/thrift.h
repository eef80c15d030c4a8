// minirl data/parquet/thrift.h -- Thrift's compact protocol, read only: the metadata of parquet
// files. Every read is checked against the end of the buffer.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace minirl::data::parquet {

/// Thrown inside of the reader; read_parquet() adds the file's name.
[[noreturn]] void bad_file(const std::string& what);

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  enum Type : std::uint8_t {
    stop = 0,
    yes = 1,
    no = 2,
    byte = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    real = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12
  };

  /// Calls field(id, type) for every field of a struct; what `field` returns false for is skipped.
  template <class Field>
  void read_struct(const Field& field) {
    enter();
    for (std::int32_t id = 0;;) {
      const std::uint8_t head = read_byte();
      const auto type = static_cast<Type>(head & 0x0F);
      if (type == stop) {
        break;
      }
      const int delta = head >> 4;
      id = delta != 0 ? id + delta : static_cast<std::int32_t>(integer());
      if (!field(id, type)) {
        skip(type);
      }
    }
    --depth_;
  }
  /// Calls item() for every item of a list; the type must be `wanted`.
  template <class Item>
  void read_list(Type wanted, const Item& item) {
    const auto [type, count] = list_head();
    if (count > 0 && type != wanted) {
      bad_file("a list of metadata has another type than it should have");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      item();
    }
  }
  std::int64_t integer() {  // i16, i32, i64
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }
  std::string_view text();
  void skip(Type type);
  /// Bytes read so far.
  std::size_t position() const { return at_; }

 private:
  struct ListHead {
    Type type;
    std::uint64_t count;
  };
  void enter() {
    if (++depth_ > 32) {
      bad_file("metadata is nested too deeply");
    }
  }
  std::uint8_t read_byte() {
    if (at_ >= bytes_.size()) {
      bad_file("metadata ends too early");
    }
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t varint();
  ListHead list_head();

  std::string_view bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace minirl::data::parquet

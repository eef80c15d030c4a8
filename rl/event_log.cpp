#include "rl/event_log.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/crc32c.h"
#include "core/files.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";
// Keys of protocol buffers: (field << 3) | wire type.
constexpr char kEventWallTime = 0x09;  // 1, fixed64
constexpr char kEventStep = 0x10;      // 2, varint
constexpr char kEventVersion = 0x1a;   // 3, bytes
constexpr char kEventSummary = 0x2a;   // 5, bytes
constexpr char kSummaryValue = 0x0a;   // 1, bytes
constexpr char kValueTag = 0x0a;       // 1, bytes
constexpr char kValueSimple = 0x15;    // 2, fixed32

template <class T>
void put_fixed(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>((value >> (8 * i)) & 0xffU);
  }
}

template <class T>
T get_fixed(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>((value & 0x7fU) | 0x80U);
  }
  out += static_cast<char>(value);
}

void put_bytes(std::string& out, char key, std::string_view bytes) {
  out += key;
  put_varint(out, bytes.size());
  out += bytes;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::string event_head(double wall_time) {
  std::string out(1, kEventWallTime);
  put_fixed(out, std::bit_cast<std::uint64_t>(wall_time));
  return out;
}

// Reads what this file wrote, and fails on anything else.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  std::optional<std::string_view> take(std::size_t n) {
    if (n > rest_.size()) {
      return std::nullopt;
    }
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    return std::nullopt;
  }
  std::optional<std::string_view> bytes() {
    const auto n = varint();
    return n ? take(*n) : std::nullopt;
  }

 private:
  std::string_view rest_;
};

struct Parsed {
  double wall_time = 0;
  Index step = 0;
  bool version = false;
  std::vector<std::pair<std::string, float>> values;
};

std::optional<std::pair<std::string, float>> parse_value(std::string_view data) {
  Reader in(data);
  std::pair<std::string, float> out;
  while (!in.done()) {
    const char key = in.take(1)->front();
    if (key == kValueTag) {
      const auto tag = in.bytes();
      if (!tag) {
        return std::nullopt;
      }
      out.first = *tag;
    } else if (key == kValueSimple) {
      const auto bits = in.take(4);
      if (!bits) {
        return std::nullopt;
      }
      out.second = std::bit_cast<float>(get_fixed<std::uint32_t>(*bits));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<Parsed> parse_event(std::string_view data) {
  Reader in(data);
  Parsed out;
  while (!in.done()) {
    const char key = in.take(1)->front();
    if (key == kEventWallTime) {
      const auto bits = in.take(8);
      if (!bits) {
        return std::nullopt;
      }
      out.wall_time = std::bit_cast<double>(get_fixed<std::uint64_t>(*bits));
    } else if (key == kEventStep) {
      const auto step = in.varint();
      if (!step) {
        return std::nullopt;
      }
      out.step = static_cast<Index>(*step);
    } else if (key == kEventVersion) {
      out.version = in.bytes().has_value();
    } else if (key == kEventSummary) {
      const auto summary = in.bytes();
      if (!summary) {
        return std::nullopt;
      }
      Reader values(*summary);
      while (!values.done()) {
        const char field = values.take(1)->front();
        const auto body = values.bytes();
        const auto value = field == kSummaryValue && body ? parse_value(*body) : std::nullopt;
        if (!value) {
          return std::nullopt;
        }
        out.values.push_back(*value);
      }
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Frames up to the first that is cut off or damaged.
std::vector<std::string_view> frames(std::string_view content) {
  std::vector<std::string_view> out;
  Reader in(content);
  while (!in.done()) {
    const auto length = in.take(8);
    const auto length_crc = in.take(4);
    if (!length || !length_crc || masked_crc(*length) != get_fixed<std::uint32_t>(*length_crc)) {
      break;
    }
    const auto data = in.take(get_fixed<std::uint64_t>(*length));
    const auto data_crc = in.take(4);
    if (!data || !data_crc || masked_crc(*data) != get_fixed<std::uint32_t>(*data_crc)) {
      break;
    }
    out.push_back(*data);
  }
  return out;
}

}  // namespace

std::string encode_version(double wall_time) {
  std::string out = event_head(wall_time);
  put_bytes(out, kEventVersion, "brain.Event:2");
  return out;
}

std::string encode_event(double wall_time, Index step, const TaggedValues& values) {
  std::string summary;
  for (const auto& [tag, value] : values) {
    std::string body;
    put_bytes(body, kValueTag, tag);
    body += kValueSimple;
    put_fixed(body, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    put_bytes(summary, kSummaryValue, body);
  }
  std::string out = event_head(wall_time);
  out += kEventStep;
  put_varint(out, static_cast<std::uint64_t>(step));
  put_bytes(out, kEventSummary, summary);
  return out;
}

std::string tfrecord(std::string_view data) {
  std::string out;
  put_fixed(out, static_cast<std::uint64_t>(data.size()));
  const std::uint32_t length_crc = masked_crc(out);
  put_fixed(out, length_crc);
  out += data;
  put_fixed(out, masked_crc(data));
  return out;
}

bool is_event_file(const fs::path& path) {
  return path.filename().string().starts_with(kPrefix);
}

void EventLog::keep_only(const std::function<bool(std::string_view, Index)>& keep) const {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    if (is_event_file(entry.path())) {
      files.push_back(entry.path());
    }
  }
  for (const fs::path& path : files) {
    const std::string content = read_file(path);
    std::string kept;
    for (const std::string_view data : frames(content)) {
      const auto event = parse_event(data);
      if (!event) {
        continue;
      }
      if (event->version) {
        kept += tfrecord(data);
        continue;
      }
      TaggedValues values;
      for (const auto& [tag, value] : event->values) {
        if (keep(tag, event->step)) {
          values.emplace_back(tag, static_cast<double>(value));
        }
      }
      if (!values.empty()) {
        kept += tfrecord(encode_event(event->wall_time, event->step, values));
      }
    }
    if (kept != content) {
      write_file_atomic(path, kept);
    }
  }
}

void EventLog::append(const std::string& record) {
  const std::string frame = tfrecord(record);
  errno = 0;
  if (std::fwrite(frame.data(), 1, frame.size(), file_.get()) != frame.size() ||
      std::fflush(file_.get()) != 0) {
    const int error = errno;
    fail(Exit::runtime, file_error("append to", path_, error), file_hint(error));
  }
}

void EventLog::write(double wall_time, Index step, const TaggedValues& values) {
  if (file_ == nullptr) {
    for (int n = 0; path_.empty() || fs::exists(path_); ++n) {
      path_ = folder_ / fmt::format("{}{:.0f}.{}.minirl", kPrefix, wall_time, n);
    }
    file_.reset(std::fopen(path_.c_str(), "abe"));
    if (file_ == nullptr) {
      const int error = errno;
      fail(Exit::runtime, file_error("open", path_, error), file_hint(error));
    }
    append(encode_version(wall_time));
  }
  append(encode_event(wall_time, step, values));
}

}  // namespace minirl::rl

// TensorBoard event files, read back by a decoder of our own that shares nothing with the writer.
#include "rl/event_log.h"

#include <cstring>
#include <map>

#include <doctest/doctest.h>

#include "core/crc32c.h"
#include "core/files.h"
#include "model/temporary.h"

namespace minirl::rl {
namespace {

namespace fs = std::filesystem;

// CRC-32C bit by bit, most literal form.
std::uint32_t slow_crc(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
    }
  }
  return crc ^ 0xffffffffU;
}

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;
  std::map<std::string, float> values;
};

// Any protocol buffer: fields by number, length-delimited ones as bytes, the others as raw bits.
using Fields = std::vector<std::pair<std::uint64_t, std::string>>;
Fields fields(const std::string& data) {
  Fields out;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(data.at(at++));
      v |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) {
        return v;
      }
    }
  };
  while (at < data.size()) {
    const std::uint64_t key = varint();
    std::string body;
    switch (key & 7) {
      case 0: {
        const std::uint64_t v = varint();
        body.assign(reinterpret_cast<const char*>(&v), 8);
        break;
      }
      case 1:
        body = data.substr(at, 8);
        at += 8;
        break;
      case 5:
        body = data.substr(at, 4);
        at += 4;
        break;
      case 2: {
        const std::uint64_t n = varint();
        body = data.substr(at, n);
        REQUIRE(body.size() == n);
        at += n;
        break;
      }
      default:
        FAIL("wire type " << (key & 7));
    }
    out.emplace_back(key >> 3, body);
  }
  return out;
}

template <class T>
T bits(const std::string& bytes) {
  T v{};
  REQUIRE(bytes.size() >= sizeof v);
  std::memcpy(&v, bytes.data(), sizeof v);
  return v;
}

std::vector<Event> read_events(const fs::path& path) {
  const std::string all = read_file(path);
  std::vector<Event> out;
  for (std::size_t at = 0; at < all.size();) {
    const auto length = bits<std::uint64_t>(all.substr(at, 8));
    const auto masked = [&](const std::string& s) {
      const std::uint32_t crc = slow_crc(s);
      return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
    };
    CHECK(bits<std::uint32_t>(all.substr(at + 8, 4)) == masked(all.substr(at, 8)));
    const std::string data = all.substr(at + 12, length);
    REQUIRE(data.size() == length);
    CHECK(bits<std::uint32_t>(all.substr(at + 12 + length, 4)) == masked(data));
    at += 16 + length;
    Event e;
    for (const auto& [number, body] : fields(data)) {
      if (number == 1) {
        e.wall_time = bits<double>(body);
      } else if (number == 2) {
        e.step = bits<std::int64_t>(body);
      } else if (number == 3) {
        e.version = body;
      } else {
        REQUIRE(number == 5);
        for (const auto& [one, value] : fields(body)) {
          REQUIRE(one == 1);
          std::string tag;
          float simple = 0;
          for (const auto& [part, content] : fields(value)) {
            if (part == 1) {
              tag = content;
            } else {
              REQUIRE(part == 2);
              simple = bits<float>(content);
            }
          }
          CHECK(e.values.emplace(tag, simple).second);
        }
      }
    }
    out.push_back(e);
  }
  return out;
}

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_event_file(entry.path())) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("rl/event_log: CRC-32C of the published vectors") {
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);  // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  CHECK(crc32c("") == 0U);
  CHECK(slow_crc("minirl") == crc32c("minirl"));
}

TEST_CASE("rl/event_log: an independent decoder reads every step, tag, value and time") {
  const minirl::test::TemporaryDirectory dir;
  {
    EventLog log(dir.path());
    CHECK(event_files(dir.path()).empty());  // nothing is made before there is something to say
    log.write(1700000000.25, 1, {{"train/loss", 0.5}, {"reward/mean", -1e-30}});
    log.write(1700000001.5, 300,
              {{"train/loss", std::nan("")}, {"a long tag " + std::string(200, 'x'), 3e8}});
  }
  const auto files = event_files(dir.path());
  REQUIRE(files.size() == 1);
  const auto events = read_events(files[0]);
  REQUIRE(events.size() == 3);
  CHECK(events[0].version == "brain.Event:2");
  CHECK(events[1].wall_time == 1700000000.25);
  CHECK(events[1].step == 1);
  CHECK(events[1].values.at("train/loss") == 0.5F);
  CHECK(events[1].values.at("reward/mean") == -1e-30F);
  CHECK(events[2].step == 300);
  CHECK(events[2].values.at("train/loss") != events[2].values.at("train/loss"));
  CHECK(events[2].values.at("a long tag " + std::string(200, 'x')) == 3e8F);
}

TEST_CASE("rl/event_log: a resumed run has no step twice, and half a record does no harm") {
  const minirl::test::TemporaryDirectory dir;
  const auto steps = [](EventLog& log, Index begin, Index end, double value) {
    for (Index s = begin; s <= end; ++s) {
      log.write(1700000000, s, {{"train/loss", value}, {"eval/avg_at_k", value}});
    }
  };
  {
    EventLog log(dir.path());
    steps(log, 1, 5, 1);
  }
  const fs::path first = event_files(dir.path()).at(0);
  const std::string whole = read_file(first);
  write_file_atomic(first, whole.substr(0, whole.size() - 7));  // killed while writing step 5
  {
    EventLog log(dir.path());
    log.keep_only([](std::string_view tag, Index step) {
      return step <= 3 && (tag != "eval/avg_at_k" || step < 3);
    });
    steps(log, 4, 6, 2);
  }
  REQUIRE(event_files(dir.path()).size() == 2);
  std::map<std::string, std::map<std::int64_t, float>> seen;
  for (const auto& file : event_files(dir.path())) {
    for (const Event& e : read_events(file)) {
      for (const auto& [tag, value] : e.values) {
        CHECK(seen[tag].emplace(e.step, value).second);
      }
    }
  }
  CHECK(seen["train/loss"] ==
        std::map<std::int64_t, float>{{1, 1}, {2, 1}, {3, 1}, {4, 2}, {5, 2}, {6, 2}});
  CHECK(seen["eval/avg_at_k"] ==
        std::map<std::int64_t, float>{{1, 1}, {2, 1}, {4, 2}, {5, 2}, {6, 2}});
  const std::string before = read_file(first);
  EventLog(dir.path()).keep_only([](std::string_view, Index) { return true; });
  CHECK(read_file(first) == before);
}

}  // namespace minirl::rl

// minirl rl/event_log.h -- the metrics as TensorBoard event files (docs/formats.md): TFRecord
// frames around hand-encoded Event messages with scalar summaries. No other library writes or reads
// them.
#pragma once
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace minirl::rl {

using TaggedValues = std::vector<std::pair<std::string, double>>;

/// One event: the scalars of a step. Field numbers are those of TensorFlow's event.proto and
/// summary.proto; values are fp32 there.
std::string encode_event(double wall_time, Index step, const TaggedValues& values);
/// The first record of a file.
std::string encode_version(double wall_time);
/// length, masked CRC-32C of the length, data, masked CRC-32C of the data; little-endian.
std::string tfrecord(std::string_view data);

class EventLog {
 public:
  /// A file of this process below `folder`, made at the first event: TensorBoard reads all files of
  /// a folder as one run.
  explicit EventLog(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Removes events of former files for which `keep(tag, step)` is false, so that a resumed run
  /// writes no step twice; records that a killed process left unfinished go too. Files are replaced
  /// atomically, and only if something is removed.
  void keep_only(const std::function<bool(std::string_view tag, Index step)>& keep) const;

  /// Appends the scalars of a step, at `wall_time` (seconds since 1970).
  void write(double wall_time, Index step, const TaggedValues& values);

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  void append(const std::string& record);
  std::filesystem::path folder_;
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// "events.out.tfevents." and what follows: a file of an EventLog?
bool is_event_file(const std::filesystem::path& path);

}  // namespace minirl::rl

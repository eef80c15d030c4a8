// minirl audit/replay.h -- a step of a run once more, from what its folder (or a bundle) holds, and
// every hash of the ledger compared.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace minirl::audit {

struct ReplayOptions {
  Index step = 0;  // train step, from 1; of a bundle: 0, it knows its own
  // Sequence of the step (line of its rollout file) and token of the completion, both from 0.
  std::optional<std::pair<Index, Index>> token;
  std::filesystem::path
      bundle;  // write what another machine needs to check the step; empty: do not
  std::function<int()> interrupted;
  std::function<void(const std::string&)> note;  // told what is being done
};

struct ReplayReport {
  struct Part {
    Index step = 0;
    std::string name;  // "gradients of update 2"
    std::string recorded, computed;
    bool same() const { return recorded == computed; }
  };
  Index step = 0;
  std::string origin;              // "checkpoint step-000002"
  std::vector<Part> parts;         // of all steps that were made again, in order
  std::vector<std::string> notes;  // what could not be compared
  std::string first_difference;    // in words; empty: none
  std::vector<std::string> token;  // lines of the token's trail, as JSON
};

/// `source`: the folder of a run, or a bundle; neither is written to. Starts at the newest whole
/// checkpoint before the step, or at the beginning. Throws Error(usage) where the step has no line
/// in the ledger or the data files of the run are not there.
ReplayReport replay(const std::filesystem::path& source, const ReplayOptions& options);

std::string replay_text(const ReplayReport& report);
std::string replay_json(const ReplayReport& report);

/// "12,3"
std::pair<Index, Index> parse_token_place(const std::string& text);

}  // namespace minirl::audit

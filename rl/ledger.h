// minirl rl/ledger.h -- ledger.jsonl: one line a step with the hash of everything that went into it
// and came out of it, each line sealed with the hash of the line before (docs/formats.md).
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build_info.h"
#include "core/files.h"
#include "rl/checkpoint.h"

namespace minirl::rl {

/// The state from which a chain begins.
struct LedgerStart {
  Phase phase = Phase::train;
  Index step = 0;  // finished steps of that phase
  std::string optimizer, weights;
  std::vector<std::pair<std::string, Index>> parameters;  // name and number of values, in order
};

/// What a step was made of and what it made; hashes of rl/ledger_hash.h, 64 hexadecimal digits.
struct LedgerStep {
  Phase phase = Phase::train;
  Index step = 0;  // finished steps of that phase, from 1
  std::string examples;
  std::string rollouts, rewards, advantages;  // train only; empty: none
  std::vector<std::string> gradients;         // one an update, before clipping
  std::string optimizer, weights;             // after the step
  std::vector<Index> bf16_changed;  // values of each parameter whose bf16 form the step changed
};

/// A line as it stands in the file.
struct LedgerLine {
  std::size_t number = 0;     // from 1
  bool start = false;         // "genesis", not "step"
  std::string config, build;  // results hash of the configuration; hash of the build
  NamedValues build_info;     // of a genesis line
  std::vector<std::pair<std::string, Index>> parameters;  // of a genesis line
  LedgerStep values;  // of a genesis line: phase, step, optimizer and weights only
  std::string previous, hash;
};
/// Throws Error(mismatch) "ledger.jsonl line 3: ..." where the line is not one of a ledger or its
/// seal does not fit its text. The chain is not looked at: check_chain() does.
LedgerLine parse_ledger_line(const std::string& text, std::size_t number);
/// All lines. Throws as above; a last line without its end counts as a fault too.
std::vector<LedgerLine> read_ledger(const std::filesystem::path& path);
/// Throws Error(mismatch) at the first line that does not follow from the one before: its hash, its
/// step. A chain that was begun anew (a second genesis) is no fault; the steps that have no line
/// for it are returned in words.
std::vector<std::string> check_chain(const std::vector<LedgerLine>& lines);
/// The line of a step, if there is one.
const LedgerLine* find_step(const std::vector<LedgerLine>& lines, Phase phase, Index step);
/// "pretraining step 3", "step 3"
std::string step_words(Phase phase, Index step);

class Ledger {
 public:
  /// Opens or creates the file; a last line that a killed process left unfinished is removed. Lines
  /// that nobody can read are kept: to judge them is the business of `minirl verify ledger`.
  Ledger(std::filesystem::path path, std::string config_hash, NamedValues build);

  /// Forgets the steps after `progress`: a resumed run makes them again.
  void rewind(const Progress& progress);
  /// Call before the first step of a process. Writes the genesis line of a new file; otherwise the
  /// last line must be about the very state that goes on: throws Error(mismatch) where its weights
  /// or moments have other hashes. Where lines are missing the chain is begun anew, which stays
  /// visible.
  void start(const LedgerStart& start);
  void add(const LedgerStep& step);
  /// Waits for the disk.
  void sync();

 private:
  void write(std::string body);
  std::filesystem::path path_;
  std::string config_, last_hash_;
  NamedValues build_;
  std::optional<LedgerLine> last_;
  std::unique_ptr<AppendFile> file_;
};

}  // namespace minirl::rl

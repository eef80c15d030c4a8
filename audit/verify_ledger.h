// minirl audit/verify_ledger.h -- the ledger of a run against everything else that the run left
// behind.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace minirl::audit {

struct LedgerCheck {
  std::size_t lines = 0;
  std::size_t steps = 0;           // with a line
  std::size_t configurations = 0;  // lines whose configuration is that of config.resolved.toml
  std::size_t rollouts = 0;        // rollout files that have the hashes of their line
  std::size_t checkpoints = 0;     // weights and moments that have the hashes of their line
  std::vector<std::string> not_checked;  // in words
  std::string first_difference;          // "ledger.jsonl line 7 (step 3): ..."; empty: none
};

/// Reads the folder of a run, line by line; stops at the first difference. Throws Error(usage)
/// where the folder is no run or has no ledger.
LedgerCheck verify_ledger(const std::filesystem::path& run);

std::string ledger_check_text(const LedgerCheck& check);
std::string ledger_check_json(const LedgerCheck& check);

}  // namespace minirl::audit

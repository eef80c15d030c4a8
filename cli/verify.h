// minirl cli/verify.h -- sub-commands of `minirl verify`: each adds itself from its own file.
#pragma once
#include "cli/commands.h"
#include "core/registry.h"

namespace minirl::cli {

/// Adds one sub-command ("reward", "parity", ...) under `verify`; it sets chosen.run when it is
/// called, and its run returns Exit::mismatch where a verification finds a difference.
struct VerifyCommand {
  void (*add)(CLI::App& verify, Chosen& chosen) = nullptr;
};
/// VerifyCommands::add("name", {&function}) in a file of cli/ registers one.
using VerifyCommands = Registry<VerifyCommand>;

}  // namespace minirl::cli

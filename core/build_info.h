// minirl core/build_info.h -- what this binary is and where it runs: for `minirl version` and
// env.json.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace minirl {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

/// version, commit ("unknown" outside of a git checkout; "+" marks local changes), compiler, flags,
/// build type.
NamedValues build_info();
/// Versions of the libraries that core was compiled with.
NamedValues core_libraries();
/// operating system, processor, cores, memory, instruction sets: of the machine, not of the build.
NamedValues machine_info();

/// Resident memory of this process now and at its largest, in bytes; 0 where unknown.
long long resident_bytes();
long long resident_bytes_max();
/// "2026-01-31T12:34:56Z"
std::string utc_now();

}  // namespace minirl

// minirl tests/emulator/faults.h -- kernels with one fault each, which the emulator must find, and their correct twins.
#pragma once
#include <string>
#include <vector>

namespace emulator {

struct Planted {
  const char* name;
  /// Runs the correct kernel or the one with the fault and returns its output.
  std::vector<float> (*run)(bool faulty);
  // What a build says about the fault; empty: it cannot see it. "order": nothing, but the output depends on the
  // order of threads.
  std::string plain, address, race;
};
std::vector<Planted> planted_faults();

}  // namespace emulator

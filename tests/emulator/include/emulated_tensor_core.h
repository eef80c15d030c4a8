// minirl tests/emulator/include/emulated_tensor_core.h -- tensor-core products, matrix loads and asynchronous copies
// (kernels/cuda/tensor_core.cuh). Products add in the order of k in fp32; a device may round otherwise.
#pragma once
#include <cstdint>

#include "tests/emulator/engine.h"

namespace emulator {

void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, const char* file = __builtin_FILE(),
         int line = __builtin_LINE());

template <bool transposed>
void load_matrices(std::uint32_t (&r)[4], const std::uint16_t* row, const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// The copy happens as late as is allowed, at the wait, so that a missing wait shows.
void copy_async(void* shared, const void* device);
void end_copies();
void wait_copies(int open);

}  // namespace emulator

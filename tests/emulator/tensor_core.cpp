#include <emulated_tensor_core.h>

#include <cstring>

#include "tests/emulator/race.h"
#include "tests/emulator/thread.h"

namespace emulator {
namespace {

struct Product {
  float* d;
  std::uint32_t a[4], b[2];
};

float half(std::uint32_t pair, int which) {
  const std::uint32_t bits = which == 0 ? pair << 16 : pair & 0xffff0000U;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void multiply(void* const* lanes, std::uint32_t) {
  float a[16][16], b[16][8];
  for (int l = 0; l < 32; ++l) {
    const auto& p = *static_cast<const Product*>(lanes[l]);
    const int g = l / 4, q = 2 * (l % 4);
    for (int h = 0; h < 2; ++h) {
      a[g][q + h] = half(p.a[0], h);
      a[g + 8][q + h] = half(p.a[1], h);
      a[g][q + 8 + h] = half(p.a[2], h);
      a[g + 8][q + 8 + h] = half(p.a[3], h);
      b[q + h][g] = half(p.b[0], h);
      b[q + 8 + h][g] = half(p.b[1], h);
    }
  }
  for (int l = 0; l < 32; ++l) {
    float* d = static_cast<const Product*>(lanes[l])->d;
    for (int i = 0; i < 4; ++i) {
      const int row = l / 4 + i / 2 * 8, column = 2 * (l % 4) + i % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k) { sum += a[row][k] * b[k][column]; }
      d[i] += sum;
    }
  }
}

struct Load {
  const std::uint16_t* row;
  std::uint32_t* r;
};

template <bool transposed>
void load(void* const* lanes, std::uint32_t) {
  for (int i = 0; i < 4; ++i) {
    std::uint16_t m[8][8];
    for (int row = 0; row < 8; ++row) { std::memcpy(m[row], static_cast<const Load*>(lanes[8 * i + row])->row, sizeof m[row]); }
    for (int l = 0; l < 32; ++l) {
      const int g = l / 4, q = 2 * (l % 4);
      const std::uint32_t low = transposed ? m[q][g] : m[g][q], high = transposed ? m[q + 1][g] : m[g][q + 1];
      static_cast<const Load*>(lanes[l])->r[i] = low | high << 16;
    }
  }
}

Thread& self() { return *const_cast<Thread*>(running_thread()); }

void require_alignment(const void* at, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(at) % 16 != 0) { fault(std::string("misaligned: ") + what + " needs an address that is a multiple of 16"); }
}

}  // namespace

void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, const char* file, int line) {
  static constexpr WarpOperation operation{"mma", multiply, false};
  Product p{d, {a[0], a[1], a[2], a[3]}, {b0, b1}};
  warp_operation(operation, 0xffffffffU, &p, {file, line});
}

template <bool transposed>
void load_matrices(std::uint32_t (&r)[4], const std::uint16_t* row, const char* file, int line) {
  static constexpr WarpOperation operation{"ldmatrix", load<transposed>, false};
  require_alignment(row, "ldmatrix");
  race::access(row, 16, false, __builtin_return_address(0));
  Load l{row, r};
  warp_operation(operation, 0xffffffffU, &l, {file, line});
}
template void load_matrices<false>(std::uint32_t (&)[4], const std::uint16_t*, const char*, int);
template void load_matrices<true>(std::uint32_t (&)[4], const std::uint16_t*, const char*, int);

void copy_async(void* shared, const void* device) {
  require_alignment(shared, "cp.async");
  require_alignment(device, "cp.async");
  self().copies.push_back({shared, device, self().copy_group, __builtin_return_address(0)});
}

void end_copies() { ++self().copy_group; }

void wait_copies(int open) {
  Thread& t = self();
  std::vector<AsyncCopy> later;
  for (const AsyncCopy& copy : t.copies) {
    if (copy.group + static_cast<std::uint32_t>(open) >= t.copy_group) {
      later.push_back(copy);
      continue;
    }
    race::access(copy.from, 16, false, copy.code);
    race::access(copy.to, 16, true, copy.code);
    std::memcpy(copy.to, copy.from, 16);
  }
  t.copies.swap(later);
}

}  // namespace emulator

// minirl core/index.h -- the type of sizes and offsets.
#pragma once
#include <cstdint>

namespace minirl {
using Index = std::int64_t;  // element counts are multiplied in Index; `int` is for small counts
}

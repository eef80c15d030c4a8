// minirl rl/verifier/extract.h -- the answer in a completion.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rl/verifier/verify.h"

namespace minirl::rl::verifier {

struct Extracted {
  std::vector<std::string_view> parts;  // one answer; several: boxes that are joined
  std::string_view why;                 // if empty: what is missing
};

Extracted extract(std::string_view completion, Extraction how);

}  // namespace minirl::rl::verifier

// minirl rl/verifier/word_list.h -- membership in a short list of words.
#pragma once
#include <algorithm>
#include <array>
#include <string_view>

namespace minirl::rl::verifier {

template <std::size_t N>
bool any_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace minirl::rl::verifier

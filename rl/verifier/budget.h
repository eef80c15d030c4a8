// minirl rl/verifier/budget.h -- bounded cost by counted work, the same on every machine.
#pragma once
#include <cstdint>
#include <string_view>

namespace minirl::rl::verifier {

/// Thrown inside the verifier only; verify() and its callers see "undecided" with this reason.
struct Stop {
  std::string_view why;
};

/// One unit is 50 to 150 ns of an ordinary core: a verdict ends within about 20 ms.
class Budget {
 public:
  static constexpr std::int64_t kUnits = 100'000;
  void spend(std::int64_t units) {
    if (units > left_) {  // refused before it is done
      left_ = 0;
      throw Stop{"too much work"};
    }
    left_ -= units;
  }
  std::int64_t spent() const { return kUnits - left_; }

 private:
  std::int64_t left_ = kUnits;
};

inline constexpr std::size_t kLongestAnswer = 16384;  // bytes of an answer that is parsed
inline constexpr int kDeepest = 120;                  // nesting of an answer
inline constexpr std::size_t kMostDigits = 6000;      // digits of one literal
inline constexpr unsigned kMostBits = 24'000;         // of an exact numerator or denominator
inline constexpr std::size_t kMostTokens = 8192;

}  // namespace minirl::rl::verifier

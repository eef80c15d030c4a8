// libFuzzer target of the answer verifier. The first byte chooses the gold, or, with its high bit,
// where the input is cut into gold and answer. Checks beyond the sanitizers': bounded work,
// symmetry of "right", no thrown exception.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rl/verifier/budget.h"
#include "rl/verifier/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace minirl::rl::verifier;
  static constexpr std::string_view kGolds[] = {
      "5", "\\frac{1}{2}",  "x^2+1",   "\\sqrt{2}", "(0,1]", "1,2", "\\pm 3", "x=4", "\\text{even}",
      "C", "30\\text{ cm}", "\\sin x", "204_5",     "x<3",   "2^n", "7:32"};
  if (size == 0) {
    return 0;
  }
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string_view gold = kGolds[data[0] % 16];
  std::string_view answer = input;
  if (data[0] >= 128) {
    const std::size_t cut = input.size() * (data[0] - 128U) / 128;
    gold = input.substr(0, cut);
    answer = input.substr(cut);
  }
  const Verdict forth = compare(gold, answer);
  if (forth.work > Budget::kUnits) {
    std::abort();
  }
  if (forth.outcome == Outcome::right && compare(answer, gold).outcome == Outcome::wrong) {
    std::abort();
  }
  verify(gold, input, data[0] % 2 == 0 ? Extraction::boxed : Extraction::answer_line);
  return 0;
}

// The named graders against what their originals were observed to answer.
#include <string>

#include <doctest/doctest.h>

#include "rl/reward.h"

namespace minirl::rl {

TEST_CASE("rl/graders: every observed verdict of the original graders is reproduced") {
  struct Row {
    const char* text;
    const char* gold;
    double boxed;
    const char* boxed_extracted;
    double dapo;
    const char* dapo_extracted;
    double hendrycks;
  };
  const Row rows[] = {
#include "rl/graders_vectors.inc"
  };
  const auto& boxed = Rewards::find("reward", "math_boxed");
  const auto& dapo = Rewards::find("reward", "math_dapo");
  const auto& hendrycks = Rewards::find("reward", "hendrycks");
  for (const Row& row : rows) {
    INFO("'" << std::string(row.text) << "' for '" << std::string(row.gold) << "'");
    CHECK(boxed.score(row.gold, row.text).score == row.boxed);
    CHECK(boxed.score(row.gold, row.text).extracted == row.boxed_extracted);
    CHECK(dapo.score(row.gold, row.text).score == row.dapo);
    const std::string pred = dapo.score(row.gold, row.text).answered
                                 ? dapo.score(row.gold, row.text).extracted
                                 : "[INVALID]";
    CHECK(pred == row.dapo_extracted);
    CHECK(hendrycks.score(row.gold, row.text).score == row.hendrycks);
  }
}

}  // namespace minirl::rl

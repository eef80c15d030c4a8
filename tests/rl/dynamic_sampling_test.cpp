#include "rl/dynamic_sampling.h"

#include <vector>

#include <doctest/doctest.h>

#include "tests/rl/support.h"

namespace minirl::rl::test {

TEST_CASE(
    "rl/dynamic_sampling: groups with one score are dropped and counted by kind, the rest kept in "
    "order until full") {
  DynamicSampling sampling({.prompts = 2});
  CHECK_FALSE(sampling.offer(std::vector<double>{1, 1, 1}));
  CHECK_FALSE(sampling.offer(std::vector<double>{0, 0, 0}));
  CHECK_FALSE(sampling.offer(std::vector<double>{.5, .5}));
  CHECK(sampling.offer(std::vector<double>{1, 0, 0}));
  CHECK_FALSE(sampling.full());
  sampling.end_batch();
  CHECK(sampling.offer(std::vector<double>{0, 1}));
  CHECK(sampling.full());
  CHECK_FALSE(sampling.offer(std::vector<double>{0, 1}));
  sampling.end_batch();
  CHECK(sampling.kept() == 2);
  CHECK(sampling.offered() == 6);
  CHECK(sampling.all_high() == 1);
  CHECK(sampling.all_low() == 1);
  CHECK(sampling.all_same() == 1);
  CHECK(sampling.surplus() == 1);
}

TEST_CASE(
    "rl/dynamic_sampling: scores within the tolerance are the same; a group of one is dropped "
    "unless asked for") {
  DynamicSampling sampling({.prompts = 9});
  CHECK_FALSE(sampling.offer(std::vector<double>{.1, .1 + 1e-7}));
  CHECK(sampling.offer(std::vector<double>{.1, .1 + 1e-5}));
  CHECK_FALSE(sampling.offer(std::vector<double>{1}));
  DynamicSampling single({.prompts = 9, .max_batches = 1, .tolerance = 1e-6, .keep_single = true});
  CHECK(single.offer(std::vector<double>{1}));
}

TEST_CASE(
    "rl/dynamic_sampling: it gives up after the stated number of batches and says what to change") {
  const auto message = [](double score) {
    DynamicSampling sampling({.prompts = 2, .max_batches = 3});
    try {
      for (int i = 0; i < 3; ++i) {
        sampling.offer(std::vector<double>{score, score});
        sampling.end_batch();
      }
    } catch (const Error& e) {
      CHECK(e.code() == Exit::data);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK(message(1).find("too easy") != std::string::npos);
  CHECK(message(0).find("too hard") != std::string::npos);
  CHECK(message(0).find("0 of 2 prompts") != std::string::npos);
  DynamicSampling patient({.prompts = 1, .max_batches = 0});
  for (int i = 0; i < 50; ++i) {
    CHECK_NOTHROW(patient.end_batch());
  }
}

}  // namespace minirl::rl::test

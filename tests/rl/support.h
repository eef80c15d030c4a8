// Shared by the tests of the RL mathematics: the vectors, tokens of exact probabilities, random
// numbers.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "rl/algorithm_registry.h"

namespace minirl::rl::test {

using Json = nlohmann::json;

inline Json read_json(const std::string& path) {
  std::ifstream in(path);
  return Json::parse(in);
}
inline const Json& vectors() {
  static const Json json =
      read_json(std::string(MINIRL_SOURCE_DIR) + "/tests/reference/vectors/policy_losses.json");
  return json;
}

/// |got - want| relative to the larger of |want| and 1.
inline bool near(double got, double want, double tolerance) {
  return std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want));
}
inline bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Parameters as plain values: {{"delta", .2}}.
using Settings = std::map<std::string, Scalar>;
inline std::unique_ptr<Algorithm> make(std::string_view name, const Settings& settings) {
  ParamMap params;
  for (const auto& [key, value] : settings) {
    params[key] = ParamValue{value, "test"};
  }
  return make_algorithm(name, params);
}
/// A default as the pages write it.
inline std::string spelled(const ParamSpec& spec) {
  const Scalar value = with_word(spec.range, *spec.fallback);
  if (const auto* number = std::get_if<double>(&value)) {
    return fmt::format("{}", *number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  return to_toml(value);
}

inline TokenResult evaluate_one(const Algorithm& algorithm, const TokenInput& token) {
  TokenResult out;
  algorithm.evaluate_tokens(std::span(&token, 1), std::span(&out, 1));
  return out;
}

/// The score-function form's loss value of a detached weight: g log pi (pg.2).
inline double score_function_loss(const TokenResult& result, const TokenInput& token) {
  return result.dlogp * token.log_pi;
}

/// A small counter-based generator (splitmix64), so that tests do not depend on the standard
/// library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }  // (0, 1)
  double between(double low, double high) { return low + (high - low) * uniform(); }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }

 private:
  std::uint64_t state_;
};

}  // namespace minirl::rl::test

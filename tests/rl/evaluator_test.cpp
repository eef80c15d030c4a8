// maj@k and what an evaluation says about itself.
#include "rl/evaluator.h"

#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "data/task.h"
#include "rl/model_support.h"
#include "rl/trainer.h"

namespace minirl::rl {
namespace {

Rollout vote(const std::string& answer, bool right, bool stopped = true) {
  Rollout r;
  r.verdict = {right ? 1.0 : 0.0, !answer.empty(), answer, ""};
  r.stopped = stopped;
  return r;
}

Group group(std::vector<Rollout> rollouts) {
  Group g;
  g.rollouts = std::move(rollouts);
  return g;
}

}  // namespace

TEST_CASE("rl/evaluator: the most frequent answer counts, equal values vote together") {
  constexpr auto zero = TruncatedReward::zero;
  CHECK(majority_right(group({vote("4", true), vote("4", true), vote("5", false)}), zero) == 1);
  CHECK(majority_right(group({vote("4", true), vote("5", false), vote("5", false)}), zero) == 0);
  CHECK(majority_right(group({vote("4", true), vote("5", false)}), zero) == 0.5);
  CHECK(majority_right(group({vote("4", true), vote("5", false), vote("6", false)}), zero) ==
        doctest::Approx(1.0 / 3));
  // 1/2 and 0.5 are one wrong answer of two votes.
  CHECK(majority_right(group({vote("4", true), vote("\\frac{1}{2}", false), vote("0.5", false)}),
                       zero) == 0);
  CHECK(majority_right(group({vote("", false), vote("", false), vote("4", true)}), zero) == 1);
  CHECK(majority_right(group({vote("", false)}), zero) == 0);
  // A sample that was cut off votes only where it could be rewarded.
  const Group cut = group({vote("4", true), vote("5", false, false), vote("5", false, false)});
  CHECK(majority_right(cut, zero) == 1);
  CHECK(majority_right(cut, TruncatedReward::keep) == 0);
}

TEST_CASE(
    "rl/evaluator: every problem and sample counts once, whatever the batch; settings are as "
    "used") {
  ModelConfig shape = test::tiny_model();
  shape.vocab_size = 261;
  const auto model = make_decoder(shape, DType::f32, 1);
  const auto tokenizer = data::byte_tokenizer();
  const auto task = data::make_task("arithmetic");
  const auto problems = task->eval_examples(11);  // not a multiple of anything
  Config config;
  config.eval.samples = 3;
  config.eval.temperature = 1.2;
  config.eval.top_p = 0.8;
  config.eval.top_k = -1;
  config.rollout.max_new_tokens = 6;
  const data::PromptFormat format(*tokenizer, {});
  EvalOptions options = eval_options(config, *tokenizer, format);
  CHECK(options.sampling.top_k == 0);
  const Exec exec{.threads = 2};
  std::string first;
  for (const Index batch : {1, 4, 64}) {
    options.sampling.max_batch = batch;
    const EvalResult r = evaluate(*model, *tokenizer, problems, options, exec);
    CHECK(r.groups.size() == 11);
    std::set<std::vector<Token>> different;
    Index rollouts = 0;
    for (const Group& g : r.groups) {
      for (const Rollout& x : g.rollouts) {
        ++rollouts;
        different.insert(x.ids);
        CHECK(x.text.find("<|endoftext|>") == std::string::npos);  // what rewards see
      }
    }
    CHECK(rollouts == 33);
    CHECK(different.size() > 20);  // samples of one problem have keys of their own
    std::string text = eval_json(r, 0);
    first = first.empty() ? text : first;
    CHECK(text == first);
    const auto doc = nlohmann::json::parse(text);
    CHECK(doc.at("sampling").at("temperature") == 1.2);
    CHECK(doc.at("sampling").at("top_p") == 0.8);
    CHECK(doc.at("sampling").at("filtered") == true);
    CHECK(doc.at("verifier").at("name") == "boxed");
    CHECK(doc.at("pass_at").size() == 3);  // 1, 2, 3
    CHECK(doc.at("rows").size() == 11);
  }
  options.sampling.greedy = true;
  const auto greedy =
      nlohmann::json::parse(eval_json(evaluate(*model, *tokenizer, problems, options, exec), 0));
  CHECK(greedy.at("sampling").at("greedy") == true);
  CHECK(greedy.at("sampling").at("filtered") == false);
  CHECK(greedy.at("duplicate_frac").get<double>() > 0.5);
}

TEST_CASE("rl/evaluator: filtered samples carry the log-probabilities of the whole distribution") {
  ModelConfig shape = test::tiny_model();
  shape.vocab_size = 261;
  const auto model = make_decoder(shape, DType::f32, 1);
  const auto tokenizer = data::byte_tokenizer();
  const std::vector<data::Example> one = {{0, "37+48=?\n", "85"}};
  GenerateOptions options;
  options.group_size = 4;
  options.key = rng::Key::of(3, rng::Stream::test);
  options.sampling.max_new_tokens = 8;
  options.sampling.vocabulary = tokenizer->vocab_size();
  options.sampling.top_k = 1;
  const Exec exec{.threads = 1};
  const auto filtered = generate_groups(*model, *tokenizer, one, options, exec);
  options.sampling.top_k = 0;
  options.sampling.greedy = true;
  const auto greedy = generate_groups(*model, *tokenizer, one, options, exec);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(filtered[0].rollouts[i].ids == greedy[0].rollouts[i].ids);  // top-1 is greedy
    CHECK(filtered[0].rollouts[i].logp == greedy[0].rollouts[i].logp);
    CHECK(filtered[0].rollouts[i].logp[0] < 0);
  }
}

TEST_CASE("rl/evaluator: an evaluation that is interrupted has no result, not one of what was finished") {
  ModelConfig shape = test::tiny_model();
  shape.vocab_size = 261;
  const auto model = make_decoder(shape, DType::f32, 1);
  const auto tokenizer = data::byte_tokenizer();
  const auto problems = data::make_task("arithmetic")->eval_examples(4);
  Config config;
  config.eval.samples = 2;
  config.rollout.max_new_tokens = 20;
  const data::PromptFormat format(*tokenizer, {});
  const EvalOptions options = eval_options(config, *tokenizer, format);
  int polls = 0;
  CHECK_THROWS_AS(evaluate(*model, *tokenizer, problems, options, Exec{}, [&] { return ++polls > 5; }), Error);
  CHECK(polls > 5);
}

}  // namespace minirl::rl

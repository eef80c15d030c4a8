#include "audit/speed.h"

#include <doctest/doctest.h>

#include "audit/machine_peak.h"

namespace minirl {
namespace {

ModelConfig shape() {
  ModelConfig c;
  c.vocab_size = 40;
  c.hidden_size = 8;
  c.num_layers = 3;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_dim = 6;
  c.ffn_size = 10;
  return c;
}

}  // namespace

TEST_CASE("audit/speed: useful operations are two a weight of every product and four an element of query and key") {
  const ModelConfig c = shape();
  double weights = 0;
  const auto model = make_decoder(c, DType::f32, 1);
  for (const Param& p : model->params().all()) {
    if (p.value.shape().rank == 2) { weights += static_cast<double>(p.value.numel()); }  // the tied table is the head
  }
  CHECK(audit::forward_flop(c, 0) == 2 * weights);
  CHECK(audit::forward_flop(c, 5) - audit::forward_flop(c, 0) == 4.0 * 3 * 24 * 5);
  CHECK(audit::decode_bytes(c, 7, 0) == 4 * weights);
  CHECK(audit::decode_bytes(c, 7, 5) - audit::decode_bytes(c, 7, 0) == 4.0 * 2 * 3 * 12 * 7 * 5);
}

TEST_CASE("audit/speed: the middle half of an odd number of values") {
  const audit::Spread s = audit::spread_of({5, 1, 4, 2, 3});
  CHECK(s.median == 3);
  CHECK(s.low == 2);
  CHECK(s.high == 4);
  CHECK_THROWS_AS(audit::spread_of({}), Error);
}

TEST_CASE("audit/speed: a step trains, and the loss is that of the text before it") {
  const auto model = make_decoder(shape(), DType::f32, 1);
  audit::TrainSpeed training(*model, 3, 5);
  CHECK(training.tokens() == 15);
  CHECK(training.flop() == 3 * audit::forward_flop(shape(), 3) * 15);
  const double before = training.loss({});
  CHECK(before > 0);
  const std::string weights = model->params().hash();
  for (int i = 0; i < 20; ++i) { training.step({}); }
  CHECK(model->params().hash() != weights);
  CHECK(training.loss({}) < before);
}

TEST_CASE("audit/speed: sampling makes the tokens that it counts") {
  const auto model = make_decoder(shape(), DType::f32, 1);
  audit::SampleSpeed one(*model, 3, 2, 4);
  CHECK(one.tokens() == 12);
  one.run({});
  audit::SampleSpeed group = audit::SampleSpeed::group(*model, 5, 2, 4);
  CHECK(group.tokens() == 20);
  group.run({});
}

TEST_CASE("audit/machine_peak: a machine computes and reads") {
  CHECK(audit::fma_peak(1) > 0);
  CHECK(audit::read_bandwidth(1) > 0);
  int calls = 0;
  CHECK(audit::measure_seconds(0, [&] { ++calls; }) >= 0);
  CHECK(calls >= 7);
}

}  // namespace minirl

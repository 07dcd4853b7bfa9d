#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/induction/measure.hpp"
#include "core/induction/trainer.hpp"
#include "support/tiny_induction.hpp"

using namespace attnlab;
using testing::tiny_rule;
using testing::tiny_shape;

TEST_CASE(
    "measure: an untrained model scores like uniform attention and the same for any number of threads") {
  Generator rng(466);
  const ModelWeights<float> weights{tiny_shape()};  // zero projections: attention is uniform over the visible
  const std::vector<RepeatedSequence> sequences = draw_sequences(rng, tiny_rule(), 9);
  ThreadPool one_thread(1);
  ThreadPool three_threads(3);
  const Evaluation one = evaluate(tiny_shape(), weights, sequences, one_thread);
  const Evaluation three = evaluate(tiny_shape(), weights, sequences, three_threads);
  double expected = 0.0;
  for (int t = 1; t < 16; ++t) expected += 1.0 / (t + 1);
  CHECK(std::abs(one.heads[1][1].previous_token - expected / 15) < 1e-6);
  CHECK(std::abs(one.repeated_loss - std::log(8.0)) < 1e-6);
  CHECK(one.repeated_loss == three.repeated_loss);
  CHECK(one.best(&HeadScores::prefix_matching, 0) == three.best(&HeadScores::prefix_matching, 0));
}

TEST_CASE("measure: scores of a hand-made sequence follow their definitions") {
  ModelShape shape = tiny_shape();
  shape.seq_len = 5;
  shape.num_layers = 1;
  shape.num_heads = 1;
  // Period 2: tokens 3 5 3 5 3; uniform attention gives each of t + 1 visible positions 1 / (t + 1).
  const RepeatedSequence sequence{{3, 5, 3, 5, 3}, 2};
  ThreadPool pool(1);
  const Evaluation result = evaluate(shape, ModelWeights<float>{shape}, std::vector{sequence}, pool);
  const HeadScores scores = result.heads[0][0];
  CHECK(std::abs(scores.previous_token - (1.0 / 2 + 1.0 / 3 + 1.0 / 4 + 1.0 / 5) / 4) < 1e-6);
  // t = 2 may look at 1; t = 3 at 2; t = 4 at 1 and 3.
  CHECK(std::abs(scores.prefix_matching - (1.0 / 3 + 1.0 / 4 + 2.0 / 5) / 3) < 1e-6);
  CHECK(std::abs(scores.strict_induction - (1.0 / 3 + 1.0 / 4 + 1.0 / 5) / 3) < 1e-6);
}

TEST_CASE("measure: losses up to the first repeated token count as first and those after it as repeated") {
  Generator rng(466);
  const ModelWeights<float> weights = random_weights(tiny_shape(), rng);
  const RepeatedSequence sequence = draw_sequence(rng, tiny_rule());
  AttentionOnlyModel<float> model(tiny_shape());
  model.forward(weights, sequence.tokens);
  // The token at index `period` is the first of the copy: nothing before it tells that a copy begins.
  double first = 0.0, repeated = 0.0;
  const std::size_t last = sequence.tokens.size() - 1;
  for (std::size_t token = 1; token <= last; ++token)
    (token <= sequence.period ? first : repeated) += model.losses()[token - 1];
  ThreadPool pool(1);
  const Evaluation result = evaluate(tiny_shape(), weights, std::vector{sequence}, pool);
  CHECK(std::abs(result.first_loss - first / static_cast<double>(sequence.period)) < 1e-12);
  CHECK(std::abs(result.repeated_loss - repeated / static_cast<double>(last - sequence.period)) < 1e-12);
}

TEST_CASE("measure: silencing every head changes the predictions and no sequences are refused") {
  Generator rng(466);
  const ModelWeights<float> weights = random_weights(tiny_shape(), rng);
  const std::vector<RepeatedSequence> sequences = draw_sequences(rng, tiny_rule(), 4);
  ThreadPool pool(2);
  const Evaluation all = evaluate(tiny_shape(), weights, sequences, pool);
  const Evaluation silenced = evaluate(tiny_shape(), weights, sequences, pool, {{true, true}, {true, true}});
  CHECK(all.repeated_loss != silenced.repeated_loss);
  CHECK_THROWS_AS(evaluate(tiny_shape(), weights, {}, pool), Error);
}

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/induction/record.hpp"
#include "core/induction/trainer.hpp"
#include "support/tiny_induction.hpp"

using namespace attnlab;
using testing::tiny_rule;
using testing::tiny_shape;

namespace {

std::vector<double> curve(std::size_t threads, std::size_t steps) {
  Generator rng(466);
  ModelWeights<float> weights = random_weights(tiny_shape(), rng);
  ThreadPool pool(threads);
  Trainer trainer(tiny_shape(), tiny_rule(), {.batch = 10}, std::move(weights), rng, pool);
  std::vector<double> losses;
  for (std::size_t i = 0; i < steps; ++i) losses.push_back(trainer.step());
  return losses;
}

}  // namespace

TEST_CASE("trainer: the curve has the same bits for any number of threads") {
  const std::vector<double> one = curve(1, 30);
  CHECK(one == curve(2, 30));
  CHECK(one == curve(3, 30));
}

TEST_CASE("trainer: the loss starts above a guess and falls below it") {
  const std::vector<double> losses = curve(1, 200);
  CHECK(losses.front() > std::log(8.0));
  double late = 0.0;
  for (std::size_t i = 190; i < 200; ++i) late += losses[i] / 10;
  CHECK(late < 0.95 * std::log(8.0));
}

TEST_CASE("trainer: sequences of another length than the model's are refused") {
  Generator rng(1);
  SequenceRule rule = tiny_rule();
  rule.seq_len = 20;
  ThreadPool pool(1);
  CHECK_THROWS_AS(Trainer(tiny_shape(), rule, {}, random_weights(tiny_shape(), rng), rng, pool), Error);
}

TEST_CASE("record: a run is measured at the start at every stride and at the end") {
  Generator rng(466);
  ThreadPool pool(1);
  ModelWeights<float> weights = random_weights(tiny_shape(), rng);
  Trainer trainer(tiny_shape(), tiny_rule(), {.batch = 4}, std::move(weights), rng, pool);
  const std::vector<RepeatedSequence> sequences = draw_sequences(rng, tiny_rule(), 4);
  std::size_t told = 0;
  const std::vector<RecordPoint> record =
      train_and_record(trainer, tiny_shape(), 7, 3, sequences, pool, [&](const RecordPoint&) { ++told; });
  REQUIRE(record.size() == 4);
  CHECK(told == 4);
  const std::vector<std::size_t> steps{0, 3, 6, 7};
  for (std::size_t i = 0; i < 4; ++i) CHECK(record[i].step == steps[i]);
  CHECK(first_step_below(record, 100.0) == 0);
  CHECK_FALSE(first_step_below(record, 0.0).has_value());
  CHECK(first_step_matching(record, 1, 0.0) == 0);
  CHECK_FALSE(first_step_matching(record, 1, 1.0).has_value());
}

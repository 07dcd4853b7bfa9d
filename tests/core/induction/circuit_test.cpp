#include <doctest/doctest.h>

#include "core/induction/circuit.hpp"
#include "core/induction/measure.hpp"

using namespace attnlab;

namespace {

std::vector<RepeatedSequence> distinct_sequences() {
  Generator rng(466);
  return draw_sequences(rng, {.distinct = true}, 32);
}

}  // namespace

TEST_CASE("induction circuit: two layers set by hand copy with certainty") {
  const HandSetModel circuit = induction_circuit(64, 64);
  ThreadPool pool(1);
  const Evaluation result = evaluate(circuit.shape, circuit.weights, distinct_sequences(), pool);
  CHECK(result.repeated_accuracy == 1.0);
  CHECK(result.repeated_loss < 1e-6);
  CHECK(result.heads[0][0].previous_token > 0.9999);
  CHECK(result.heads[1][0].prefix_matching > 0.9999);
}

TEST_CASE("induction circuit: without the previous-token head nothing is matched or copied") {
  const HandSetModel control = induction_circuit(64, 64, false);
  ThreadPool pool(1);
  const Evaluation result = evaluate(control.shape, control.weights, distinct_sequences(), pool);
  CHECK(result.heads[0][0].prefix_matching < 0.1);
  CHECK(result.repeated_accuracy < 0.2);
}

TEST_CASE("induction circuit: silencing the previous-token head destroys it") {
  const HandSetModel circuit = induction_circuit(64, 64);
  ThreadPool pool(1);
  const Evaluation result =
      evaluate(circuit.shape, circuit.weights, distinct_sequences(), pool, {{true}, {false}});
  CHECK(result.repeated_accuracy < 0.2);
}

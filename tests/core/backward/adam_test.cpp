#include <array>
#include <cmath>

#include <doctest/doctest.h>

#include "core/backward/adam.hpp"
#include "core/error.hpp"

using namespace attnlab;

TEST_CASE("Adam: the first step has the length of the learning rate whatever the gradient's size") {
  std::array<double, 3> weights{1.0, 1.0, 1.0};
  const std::array<double, 3> gradient{1e-3, -5.0, 0.0};
  Adam<double> adam(3);
  adam.step({.learning_rate = 0.1}, gradient, weights);
  CHECK(std::abs(weights[0] - 0.9) < 1e-5);
  CHECK(std::abs(weights[1] - 1.1) < 1e-8);
  CHECK(weights[2] == 1.0);
}

TEST_CASE("Adam: the second step follows the formula") {
  std::array<double, 1> weights{0.0};
  Adam<double> adam(1);
  const AdamOptions options{.learning_rate = 0.1, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8};
  adam.step(options, std::array{2.0}, weights);
  adam.step(options, std::array{-1.0}, weights);
  // m = 0.9 * 0.2 - 0.1 = 0.08, v = 0.98 * 0.08 + 0.02 = 0.0984; corrected by 0.19 and 0.0396.
  const double second = 0.1 * (0.08 / 0.19) / (std::sqrt(0.0984 / 0.0396) + 1e-8);
  CHECK(std::abs(weights[0] - (-0.1 - second)) < 1e-9);
}

TEST_CASE("Adam: another number of weights is refused") {
  std::array<double, 2> weights{};
  Adam<double> adam(3);
  CHECK_THROWS_AS(adam.step({}, std::array{1.0, 2.0}, weights), Error);
}

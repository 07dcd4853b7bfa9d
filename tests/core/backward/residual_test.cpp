#include <cmath>

#include <doctest/doctest.h>

#include "core/backward/residual.hpp"
#include "core/error.hpp"
#include "support/gradients.hpp"

using namespace attnlab;

TEST_CASE(
    "residual stack: gradients of every weight agree with finite differences with pre-norm and post-norm") {
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    for (const ActivationKind activation : {ActivationKind::relu, ActivationKind::gelu}) {
      StackShape shape{.num_layers = 2, .seq_len = 4, .d_model = 6, .d_hidden = 7, .num_heads = 2};
      shape.placement = placement;
      shape.activation = activation;
      shape.causal = activation == ActivationKind::gelu;
      StackWeights<double> weights(shape);
      StackWeights<double> gradient(shape);
      gradient.values.assign(gradient.values.size(), 0.0);
      TestNumbers numbers;
      for (double& weight : weights.values) weight += 0.7 * numbers.next();
      Arena<double> arena;
      const View<double> input = arena.take(4, 6), d_output = arena.take(4, 6);
      numbers.fill(input);
      numbers.fill(d_output);
      ResidualStack<double> stack(shape);
      const auto loss = [&] { return inner_product(stack.forward(weights, input), d_output); };
      loss();
      const View<const double> d_input = stack.backward(weights, d_output, gradient);
      const View<double> d_input_copy = arena.take(4, 6);
      copy(d_input, d_input_copy);
      CHECK(worst_gradient_error(input, d_input_copy, loss) <= 1e-6);
      const std::size_t count = weights.values.size();
      CHECK(worst_gradient_error({weights.values.data(), 1, count, count},
                                 {gradient.values.data(), 1, count, count}, loss) <= 1e-6);
    }
  }
}

TEST_CASE("residual stack: post-norm outputs are normalised whatever the weights") {
  StackShape shape{.num_layers = 3, .seq_len = 2, .d_model = 8, .d_hidden = 8, .num_heads = 1};
  shape.placement = NormPlacement::post;
  StackWeights<double> weights(shape);
  Arena<double> arena;
  const View<double> input = arena.take(2, 8);
  TestNumbers numbers;
  numbers.fill(input);
  ResidualStack<double> stack(shape);
  const View<const double> output = stack.forward(weights, input);
  CHECK(std::abs(inner_product(output, output) / 16 - 1.0) < 1e-3);
}

TEST_CASE("residual stack: heads that do not divide the width are refused") {
  StackShape shape{.num_layers = 1, .seq_len = 2, .d_model = 6, .d_hidden = 6, .num_heads = 4};
  CHECK_THROWS_WITH_AS(StackWeights<double>{shape}, "4 heads do not divide a width of 6", Error);
}

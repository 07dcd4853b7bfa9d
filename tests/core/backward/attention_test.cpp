#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "core/backward/attention.hpp"
#include "core/backward/multi_head.hpp"
#include "support/gradients.hpp"

using namespace attnlab;

namespace {

constexpr double tolerance = 1e-6;

/// One head's arrays, filled with numbers without pattern.
struct Head {
  Head(std::size_t n, std::size_t head_dim) {
    for (View<double>* view : {&query, &key, &value, &output, &d_query, &d_key, &d_value, &d_output})
      *view = arena.take(n, head_dim);
    weights = arena.take(n, n);
    d_scores = arena.take(n, n);
    TestNumbers numbers;
    for (const View<double>& view : {query, key, value, d_output}) numbers.fill(view);
  }

  Arena<double> arena;
  View<double> query, key, value, output, d_query, d_key, d_value, d_output, weights, d_scores;
};

}  // namespace

TEST_CASE("backward attention: weights of the visible sum to one and the hidden are exactly zero") {
  for (const std::size_t n : {1, 5, 16, 23}) {
    Head head(n, 4);
    attention_forward(head.query, head.key, head.value, {.causal = true}, head.weights, head.output);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        if (j > i) CHECK(head.weights(i, j) == 0.0);
        sum += head.weights(i, j);
      }
      CHECK(std::abs(sum - 1.0) < 1e-14);
    }
    for (std::size_t c = 0; c < 4; ++c) CHECK(head.output(0, c) == head.value(0, c));
  }
}

TEST_CASE("backward attention: output agrees with the plain loop") {
  const std::size_t n = 7;
  Head head(n, 3);
  attention_forward(head.query, head.key, head.value, {.causal = true, .alibi_slope = 0.25}, head.weights,
                    head.output);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> weight(i + 1);
    double sum = 0.0;
    for (std::size_t j = 0; j <= i; ++j) {
      double score = 0.0;
      for (std::size_t c = 0; c < 3; ++c) score += head.query(i, c) * head.key(j, c);
      weight[j] = std::exp(score / std::sqrt(3.0) - 0.25 * static_cast<double>(i - j));
      sum += weight[j];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      double expected = 0.0;
      for (std::size_t j = 0; j <= i; ++j) expected += weight[j] / sum * head.value(j, c);
      CHECK(std::abs(head.output(i, c) - expected) < 1e-14);
    }
  }
}

TEST_CASE("backward attention: gradients of query key and value agree with finite differences") {
  for (const bool causal : {true, false}) {
    for (const double slope : {0.0, 0.5}) {
      Head head(19, 3);
      const AttentionRule rule{causal, slope};
      const auto loss = [&] {
        attention_forward(head.query, head.key, head.value, rule, head.weights, head.output);
        return inner_product(head.output, head.d_output);
      };
      loss();
      attention_backward(head.query, head.key, head.value, head.weights, head.d_output, head.d_scores,
                         head.d_query, head.d_key, head.d_value);
      CHECK(worst_gradient_error(head.query, head.d_query, loss) <= tolerance);
      CHECK(worst_gradient_error(head.key, head.d_key, loss) <= tolerance);
      CHECK(worst_gradient_error(head.value, head.d_value, loss) <= tolerance);
    }
  }
}

TEST_CASE("backward attention: the gradient check notices a softmax without its coupling") {
  Head head(6, 3);
  const auto loss = [&] {
    attention_forward(head.query, head.key, head.value, {}, head.weights, head.output);
    return inner_product(head.output, head.d_output);
  };
  loss();
  attention_backward(head.query, head.key, head.value, head.weights, head.d_output, head.d_scores,
                     head.d_query, head.d_key, head.d_value);
  head.d_query(3, 1) *= 1.001;
  CHECK(worst_gradient_error(head.query, head.d_query, loss) > 100 * tolerance);
}

TEST_CASE("backward attention: a visible NaN stays where it can be seen") {
  Head head(5, 3);
  head.key(3, 0) = std::numeric_limits<double>::quiet_NaN();
  attention_forward(head.query, head.key, head.value, {.causal = true}, head.weights, head.output);
  CHECK_FALSE(std::isnan(head.output(2, 0)));
  CHECK(std::isnan(head.output(3, 0)));
  CHECK(std::isnan(head.output(4, 0)));
}

TEST_CASE("backward attention: ALiBi slopes of eight heads are halves of halves") {
  for (std::size_t head = 0; head < 8; ++head)
    CHECK(alibi_slope(head, 8) == std::ldexp(1.0, -static_cast<int>(head) - 1));
}

TEST_CASE("multi-head attention: gradients of every weight and both inputs agree with finite differences") {
  const std::size_t n = 5;
  const std::size_t d = 8;
  for (const bool rope : {false, true}) {
    for (const bool shared_input : {false, true}) {
      Arena<double> arena;
      TestNumbers numbers;
      MultiHeadRule<double> rule;
      rule.num_heads = 2;
      rule.alibi = !rope;
      if (rope) {
        rule.rope_cosine = arena.take(n, 2);
        rule.rope_sine = arena.take(n, 2);
        rope_angles(10.0, rule.rope_cosine, rule.rope_sine);
      }
      const auto weights_of = [&] {
        return MultiHeadWeights<double>{arena.take(d, d), arena.take(d, d), arena.take(d, d),
                                        arena.take(d, d)};
      };
      const MultiHeadWeights<double> weights = weights_of();
      const MultiHeadWeights<double> gradient = weights_of();
      const MultiHeadCache<double> cache(arena, n, d, 2);
      const View<double> x = arena.take(n, d), dx = arena.take(n, d), y = arena.take(n, d),
                         dy = arena.take(n, d);
      const View<double> values_from = shared_input ? x : arena.take(n, d);
      const View<double> d_values_from = shared_input ? dx : arena.take(n, d);
      for (const View<double>& view :
           {weights.query, weights.key, weights.value, weights.output, x, values_from, dy})
        numbers.fill(view);
      const auto loss = [&] {
        multi_head_forward<double>(rule, weights, x, values_from, cache, y);
        return inner_product(y, dy);
      };
      loss();
      multi_head_backward<double>(rule, weights, x, values_from, cache, dy, dx, d_values_from, gradient);
      CHECK(worst_gradient_error(x, dx, loss) <= tolerance);
      CHECK(worst_gradient_error(values_from, d_values_from, loss) <= tolerance);
      CHECK(worst_gradient_error(weights.query, gradient.query, loss) <= tolerance);
      CHECK(worst_gradient_error(weights.key, gradient.key, loss) <= tolerance);
      CHECK(worst_gradient_error(weights.value, gradient.value, loss) <= tolerance);
      CHECK(worst_gradient_error(weights.output, gradient.output, loss) <= tolerance);
    }
  }
}

TEST_CASE("multi-head attention: rotated queries and keys depend on the distance alone") {
  Arena<double> arena;
  const View<double> cosine = arena.take(9, 3), sine = arena.take(9, 3);
  rope_angles(10000.0, cosine, sine);
  CHECK(cosine(0, 2) == 1);
  CHECK(std::abs(cosine(8, 1) - std::cos(8 / std::cbrt(10000.0))) < 1e-14);
  CHECK(std::abs(sine(8, 1) - std::sin(8 / std::cbrt(10000.0))) < 1e-14);
  const View<double> query = arena.take(9, 6), key = arena.take(9, 6);
  TestNumbers numbers;
  numbers.fill(first_rows(query, 1));
  numbers.fill(first_rows(key, 1));
  for (std::size_t t = 1; t < 9; ++t) {
    for (std::size_t c = 0; c < 6; ++c) {
      query(t, c) = query(0, c);
      key(t, c) = key(0, c);
    }
  }
  rope_forward(cosine, sine, query);
  rope_forward(cosine, sine, key);
  const auto score = [&](std::size_t i, std::size_t j) {
    double sum = 0.0;
    for (std::size_t c = 0; c < 6; ++c) sum += query(i, c) * key(j, c);
    return sum;
  };
  CHECK(std::abs(score(8, 5) - score(3, 0)) < 1e-14);
  CHECK(std::abs(score(8, 5) - score(8, 6)) > 1e-3);
}

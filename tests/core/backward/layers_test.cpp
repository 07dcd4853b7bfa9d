#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "core/backward/layers.hpp"
#include "core/backward/product.hpp"
#include "core/backward/rows.hpp"
#include "core/error.hpp"
#include "support/gradients.hpp"

using namespace attnlab;

namespace {

constexpr double tolerance = 1e-6;

}  // namespace

TEST_CASE("product: transposes and scale agree with the plain loop and a wrong shape is refused") {
  Arena<double> arena;
  TestNumbers numbers;
  const View<double> a = arena.take(3, 5);
  const View<double> b = arena.take(7, 5);
  const View<double> result = arena.take(3, 7);
  numbers.fill(a);
  numbers.fill(b);
  const std::uint64_t before = multiply_adds_done();
  multiply(a, transposed(b), result, 2);
  multiply_add(a, transposed(b), result, 1);
  CHECK(multiply_adds_done() - before == 2 * 3 * 7 * 5);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      double expected = 0.0;
      for (std::size_t k = 0; k < 5; ++k) expected += 3 * a(i, k) * b(j, k);
      CHECK(std::abs(result(i, j) - expected) < 1e-14);
    }
  }
  CHECK_THROWS_WITH_AS(multiply(a, b, result),
                       "product of [3, 5] and [7, 5] into [3, 7]: the shapes do not fit", Error);
}

TEST_CASE("rows: the exponential without libm keeps six digits, flushes to zero and passes NaN on") {
  for (int step = 0; step <= 6350; ++step) {
    const float x = -0.0137F * static_cast<float>(step);
    const double expected = std::exp(static_cast<double>(x));
    CAPTURE(x);
    CHECK(std::abs(exp_nonpositive(x) - expected) <= 2e-7 * expected);
  }
  CHECK(exp_nonpositive(0.0F) == 1.0F);
  CHECK(exp_nonpositive(-88.0F) == 0.0F);
  CHECK(exp_nonpositive(-1e30F) == 0.0F);
  CHECK(std::isnan(exp_nonpositive(std::nanf(""))));
}

TEST_CASE("rows: sums and maxima of every length up to 40 agree with the plain loop") {
  TestNumbers numbers;
  for (std::size_t count = 1; count <= 40; ++count) {
    std::vector<double> row(count);
    double sum = 0.0;
    double largest = -2.0;
    for (double& value : row) {
      value = numbers.next();
      sum += value * value;
      largest = std::max(largest, value);
    }
    CAPTURE(count);
    CHECK(std::abs(row_dot(row.data(), row.data(), count) - sum) < 1e-14);
    CHECK(row_maximum(row.data(), count) == largest);
  }
}

TEST_CASE("linear: gradients agree with finite differences") {
  Arena<double> arena;
  TestNumbers numbers;
  const View<double> x = arena.take(4, 3), w = arena.take(3, 5), y = arena.take(4, 5), dy = arena.take(4, 5);
  const View<double> dx = arena.take(4, 3), dw = arena.take(3, 5);
  for (const View<double>& v : {x, w, dy}) numbers.fill(v);
  const auto loss = [&] {
    linear_forward(x, w, y);
    return inner_product(y, dy);
  };
  linear_backward(x, w, dy, dx, dw);
  CHECK(worst_gradient_error(x, dx, loss) <= tolerance);
  CHECK(worst_gradient_error(w, dw, loss) <= tolerance);
  linear_backward(x, w, dy, dx, dw);  // gradients add up: twice is double
  const auto twice = [&] { return 2 * loss(); };
  CHECK(worst_gradient_error(w, dw, twice) <= tolerance);
}

TEST_CASE("layer norm: rows have mean 0 and deviation 1 and gradients agree with finite differences") {
  Arena<double> arena;
  TestNumbers numbers;
  const View<double> x = arena.take(3, 19), y = arena.take(3, 19), dy = arena.take(3, 19),
                     dx = arena.take(3, 19);
  const View<double> gain = arena.take(1, 19), bias = arena.take(1, 19);
  const View<double> d_gain = arena.take(1, 19), d_bias = arena.take(1, 19);
  const NormCache<double> cache{arena.take(3, 19), arena.take(1, 3)};
  for (const View<double>& v : {x, gain, bias, dy}) numbers.fill(v);
  const auto loss = [&] {
    layer_norm_forward(x, gain, bias, cache, y);
    return inner_product(y, dy);
  };
  loss();
  double sum = 0.0;
  double square = 0.0;
  for (std::size_t j = 0; j < 19; ++j) {
    sum += cache.normalised(1, j);
    square += cache.normalised(1, j) * cache.normalised(1, j);
  }
  CHECK(std::abs(sum) < 1e-13);
  CHECK(std::abs(square / 19 - 1.0) < 1e-4);  // epsilon takes a little
  layer_norm_backward(cache, gain, dy, dx, d_gain, d_bias);
  CHECK(worst_gradient_error(x, dx, loss) <= tolerance);
  CHECK(worst_gradient_error(gain, d_gain, loss) <= tolerance);
  CHECK(worst_gradient_error(bias, d_bias, loss) <= tolerance);
}

TEST_CASE("rms norm: rows have root mean square 1 and gradients agree with finite differences") {
  Arena<double> arena;
  TestNumbers numbers;
  const View<double> x = arena.take(3, 19), y = arena.take(3, 19), dy = arena.take(3, 19),
                     dx = arena.take(3, 19);
  const View<double> gain = arena.take(1, 19), d_gain = arena.take(1, 19);
  const NormCache<double> cache{arena.take(3, 19), arena.take(1, 3)};
  for (const View<double>& v : {x, gain, dy}) numbers.fill(v);
  const auto loss = [&] {
    rms_norm_forward(x, gain, cache, y);
    return inner_product(y, dy);
  };
  loss();
  CHECK(std::abs(inner_product(cache.normalised, cache.normalised) / 57 - 1.0) < 1e-4);
  rms_norm_backward(cache, gain, dy, dx, d_gain);
  CHECK(worst_gradient_error(x, dx, loss) <= tolerance);
  CHECK(worst_gradient_error(gain, d_gain, loss) <= tolerance);
}

TEST_CASE("activation: gradients of relu and gelu agree with finite differences") {
  Arena<double> arena;
  TestNumbers numbers;
  for (const ActivationKind kind : {ActivationKind::relu, ActivationKind::gelu}) {
    const View<double> x = arena.take(5, 6), y = arena.take(5, 6), dy = arena.take(5, 6),
                       dx = arena.take(5, 6);
    for (const View<double>& v : {x, dy}) numbers.fill(v);
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        x(i, j) += x(i, j) > 0 ? 0.01 : -0.01;  // relu has no derivative at 0
    const auto loss = [&] {
      activation_forward(kind, x, y);
      return inner_product(y, dy);
    };
    activation_backward(kind, x, dy, dx);
    CHECK(worst_gradient_error(x, dx, loss) <= tolerance);
  }
}

TEST_CASE("activation: gelu of 1 is the normal distribution at 1") {
  std::array<double, 1> x{1.0};
  std::array<double, 1> y{};
  activation_forward(ActivationKind::gelu, {x.data(), 1, 1, 1}, View<double>{y.data(), 1, 1, 1});
  CHECK(std::abs(y[0] - 0.8413447460685429) < 1e-15);
}

TEST_CASE("embedding: a token that comes twice collects both gradients") {
  Arena<double> arena;
  TestNumbers numbers;
  const std::vector<int> tokens{2, 0, 2};
  const View<double> table = arena.take(4, 3), y = arena.take(3, 3), dy = arena.take(3, 3);
  const View<double> d_table = arena.take(4, 3);
  for (const View<double>& v : {table, dy}) numbers.fill(v);
  const auto loss = [&] {
    embedding_forward(tokens, table, y);
    return inner_product(y, dy);
  };
  embedding_backward(tokens, dy, d_table);
  CHECK(worst_gradient_error(table, d_table, loss) <= tolerance);
  CHECK(std::abs(d_table(2, 1) - dy(0, 1) - dy(2, 1)) < 1e-15);
}

TEST_CASE(
    "cross-entropy: equal logits cost ln of the vocabulary and gradients agree with finite differences") {
  Arena<double> arena;
  TestNumbers numbers;
  const View<double> z = arena.take(3, 21), p = arena.take(3, 21), dz = arena.take(3, 21);
  const std::vector<int> targets{5, no_target, 20};
  std::vector<double> losses(3);
  cross_entropy_forward(z, targets, p, losses);
  CHECK(std::abs(losses[0] - std::log(21.0)) < 1e-14);
  CHECK(losses[1] == 0.0);
  numbers.fill(z);
  const auto loss = [&] {
    cross_entropy_forward(z, targets, p, losses);
    return 0.25 * (losses[0] + losses[1] + losses[2]);
  };
  loss();
  cross_entropy_backward(p, targets, 0.25, dz);
  CHECK(worst_gradient_error(z, dz, loss) <= tolerance);
  CHECK(dz(1, 3) == 0.0);
}

TEST_CASE("cross-entropy: logits a thousand apart give a finite loss") {
  std::array<float, 2> z{1000.0F, 0.0F};
  std::array<float, 2> p{};
  std::vector<double> losses(1);
  const std::vector<int> targets{1};
  cross_entropy_forward({z.data(), 1, 2, 2}, targets, View<float>{p.data(), 1, 2, 2}, losses);
  CHECK(losses[0] == 1000.0);
}

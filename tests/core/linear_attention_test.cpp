#include "core/linear_attention.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

namespace {

// The definition with a full weight matrix.
Matrix by_weights(const Matrix& query, const Matrix& key, const Matrix& value, const Mask& mask) {
  Matrix output = zeros(query.shape(0), value.shape(1));
  const auto feature = [](double x) { return x > 0 ? x + 1 : std::exp(x); };
  for (std::size_t i = 0; i < query.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < key.shape(0); ++j) {
      if (!mask(i, j)) continue;
      double weight = 0;
      for (std::size_t c = 0; c < key.shape(1); ++c) weight += feature(query(i, c)) * feature(key(j, c));
      sum += weight;
      for (std::size_t c = 0; c < value.shape(1); ++c) output(i, c) += weight * value(j, c);
    }
    for (std::size_t c = 0; c < value.shape(1); ++c) output(i, c) /= sum;
  }
  return output;
}

}  // namespace

TEST_CASE("linear attention: the running sums agree with the full weight matrix") {
  const Matrix query = scattered(7, 3, 1);
  const Matrix key = scattered(7, 3, 2);
  const Matrix value = scattered(7, 2, 3);
  CHECK(difference(linear_attention(query, key, value, true),
                   by_weights(query, key, value, causal_mask(7, 7))) == "");
  CHECK(difference(linear_attention(query, key, value, false),
                   by_weights(query, key, value, full_mask(7, 7))) == "");
}

TEST_CASE("linear attention: alignment with more keys than queries and the other way round") {
  const Matrix key = scattered(5, 3, 2);
  const Matrix value = scattered(5, 2, 3);
  const Matrix few = scattered(2, 3, 1);
  CHECK(difference(linear_attention(few, key, value, true), by_weights(few, key, value, causal_mask(2, 5))) ==
        "");
  CHECK(difference(linear_attention(few, key, value, true, CausalAlign::top_left),
                   by_weights(few, key, value, causal_mask(2, 5, CausalAlign::top_left))) == "");
  const Matrix many = linear_attention(scattered(7, 3, 1), key, value, true);
  CHECK(difference(row_of(many, 1), std::vector<double>{0, 0}) == "");
  CHECK(many(2, 0) != 0);
}

TEST_CASE("linear attention: a tiny denominator is still the right one") {
  for (const double far : {-40.0, -400.0, -2000.0}) {
    const Matrix output = linear_attention(Matrix{{0}}, Matrix{{far}, {far + 1}}, Matrix{{1}, {3}}, false);
    CHECK(std::abs(output(0, 0) - (1 + 3 * std::exp(1.0)) / (1 + std::exp(1.0))) < 1e-12);
  }
}

TEST_CASE("linear attention: a causal query never touches later values") {
  const Matrix output =
      linear_attention(zeros(2, 1), zeros(2, 1), Matrix{{1}, {testing::not_a_number}}, true);
  CHECK(output(0, 0) == 1);
}

TEST_CASE(
    "low-rank attention: the identity projection is full attention and the sequence axis is projected") {
  const Matrix query = scattered(4, 3, 1);
  const Matrix key = scattered(3, 3, 2);
  const Matrix value = scattered(3, 2, 3);
  const Matrix identity{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  CHECK(difference(low_rank_attention(query, key, value, identity, identity).output,
                   attention(query, key, value).output) == "");
  const Matrix projection{{1, 0.5, 0}, {0, 0.5, 1}};
  const Attention narrow = low_rank_attention(query, key, value, projection, projection);
  CHECK(narrow.weights.shape(1) == 2);
  CHECK(difference(narrow.output,
                   attention(query, matmul(projection, key), matmul(projection, value)).output) == "");
  const Matrix other{{0, 1, 0}, {2, 0, 1}};
  CHECK(difference(low_rank_attention(query, key, value, projection, other).output,
                   attention(query, matmul(projection, key), matmul(other, value)).output) == "");
  CHECK_THROWS_AS(low_rank_attention(query, key, value, zeros(2, 4), zeros(2, 4)), Error);
}

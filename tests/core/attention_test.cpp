#include "core/attention.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::infinity;
using testing::not_a_number;
using testing::scattered;

namespace {

// The definition in plain loops, without any care for overflow.
Attention plain_attention(const Matrix& query, const Matrix& key, const Matrix& value, const Mask& mask) {
  Attention plain{zeros(query.shape(0), key.shape(0)), zeros(query.shape(0), key.shape(0)),
                  zeros(query.shape(0), value.shape(1)), zeros(query.shape(0))};
  for (std::size_t i = 0; i < query.shape(0); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < key.shape(0); ++j) {
      double product = 0;
      for (std::size_t c = 0; c < query.shape(1); ++c) product += query(i, c) * key(j, c);
      plain.scores(i, j) = mask(i, j) ? product / std::sqrt(static_cast<double>(key.shape(1))) : -infinity;
      sum += std::exp(plain.scores(i, j));
    }
    plain.lse(i) = std::log(sum);
    for (std::size_t j = 0; j < key.shape(0); ++j) {
      plain.weights(i, j) = std::exp(plain.scores(i, j)) / sum;
      for (std::size_t c = 0; c < value.shape(1); ++c)
        plain.output(i, c) += plain.weights(i, j) * value(j, c);
    }
  }
  return plain;
}

}  // namespace

TEST_CASE("attention: agrees with plain loops with and without a mask") {
  for (const std::size_t num_queries : {1U, 5U, 17U}) {
    const Matrix query = scattered(num_queries, 6, 1);
    const Matrix key = scattered(19, 6, 2);
    const Matrix value = scattered(19, 3, 3);
    AttentionOptions options;
    for (const Mask& mask : {full_mask(num_queries, 19), causal_mask(num_queries, 19)}) {
      options.mask = mask;
      const Attention got = attention(query, key, value, options);
      const Attention want = plain_attention(query, key, value, mask);
      CHECK(difference(got.scores, want.scores) == "");
      CHECK(difference(got.weights, want.weights) == "");
      CHECK(difference(got.output, want.output) == "");
      CHECK(difference(got.lse, want.lse) == "");
    }
  }
}

TEST_CASE("attention: what a mask hides is never touched") {
  Matrix key{{1, 0}, {not_a_number, infinity}, {0, 1}};
  Matrix value{{1}, {not_a_number}, {3}};
  AttentionOptions options;
  options.mask = padding_mask(2, {true, false, true});
  const Matrix query{{1, 0}, {0, 0}};
  const Attention seen = attention(query, key, value, options);
  key(1, 0) = key(1, 1) = value(1, 0) = 0;
  const Attention clean = attention(query, key, value, options);
  CHECK(difference(seen.output, clean.output, 0) == "");
  CHECK(difference(seen.weights, clean.weights, 0) == "");
  CHECK(seen.weights(0, 1) == 0);
  CHECK(seen.scores(0, 1) == -infinity);
}

TEST_CASE("attention: a query without a key gives zeros and a bias of -inf hides") {
  AttentionOptions options;
  options.bias = Matrix{{0, -infinity}, {-infinity, -infinity}};
  const Attention got =
      attention(scattered(2, 2, 1), scattered(2, 2, 2), Matrix{{4, 1}, {not_a_number, 5}}, options);
  CHECK(difference(got.output, Matrix{{4, 1}, {0, 0}}) == "");
  CHECK(difference(got.weights, Matrix{{1, 0}, {0, 0}}) == "");
  CHECK(got.lse(1) == -infinity);
}

TEST_CASE("attention: no keys at all give zeros") {
  const Attention got = attention(scattered(2, 2, 1), zeros(0, 2), zeros(0, 3));
  CHECK(difference(got.output, zeros(2, 3)) == "");
  CHECK(got.weights.shape(1) == 0);
}

TEST_CASE("attention: scores beyond the range of double are still compared") {
  AttentionOptions options;
  options.scale = 1;
  const Matrix value{{1}, {2}};
  CHECK(attention(Matrix{{1e200}}, Matrix{{1e200}, {1}}, value, options).output(0, 0) == 1);
  CHECK(attention(Matrix{{-1e200}}, Matrix{{1e200}, {2e200}}, value, options).output(0, 0) == 1);
  const Attention tied = attention(Matrix{{1e200}}, Matrix{{1e200}, {1e200}}, Matrix{{1}, {3}}, options);
  CHECK(difference(tied.weights, Matrix{{0.5, 0.5}}) == "");
  CHECK(tied.output(0, 0) == 2);
  // inf - inf in double: the exact dot products are 0 and 1e200.
  const Attention cancelled =
      attention(Matrix{{1e200, 1e200}}, Matrix{{1e200, -1e200}, {1, 0}}, value, options);
  CHECK(cancelled.output(0, 0) == 2);
}

TEST_CASE("attention: a NaN in a query stays in its own row") {
  const Attention got =
      attention(Matrix{{1, 2}, {not_a_number, 0}}, Matrix{{1, 0}, {0, 1}}, Matrix{{1}, {2}});
  CHECK(std::abs(got.output(0, 0) - 1.6697615493266569) < 1e-15);
  CHECK(std::isnan(got.output(1, 0)));
}

TEST_CASE("attention: permuted tokens give permuted outputs without a mask") {
  const Matrix x = scattered(5, 4, 7);
  const std::vector<std::size_t> order{3, 1, 4, 0, 2};
  Matrix shuffled = x;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t c = 0; c < 4; ++c) shuffled(i, c) = x(order[i], c);
  }
  const Attention straight = attention(x, x, x);
  const Attention permuted = attention(shuffled, shuffled, shuffled);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(difference(row_of(permuted.output, i), row_of(straight.output, order[i])) == "");
  }
}

TEST_CASE("attention: shapes that do not fit are refused by name") {
  CHECK_THROWS_WITH_AS(attention(zeros(2, 3), zeros(2, 4), zeros(2, 4)),
                       "query [2, 3] and key [2, 4] need rows of equal width", Error);
  CHECK_THROWS_WITH_AS(attention(zeros(2, 3), zeros(2, 3), zeros(3, 3)),
                       "key [2, 3] and value [3, 3] need the same number of rows", Error);
  AttentionOptions options;
  options.mask = full_mask(1, 2);
  CHECK_THROWS_WITH_AS(attention(zeros(2, 3), zeros(2, 3), zeros(2, 3), options),
                       "mask: shape [1, 2] where [queries, keys] = [2, 2] was expected", Error);
}

TEST_CASE("attention: blocks of any size give the output and lse of the full matrix") {
  const Matrix query = scattered(7, 4, 1);
  const Matrix key = scattered(9, 4, 2);
  const Matrix value = scattered(9, 3, 3);
  AttentionOptions options;
  options.bias = scattered(7, 9, 4);
  options.keep_gain = full_mask(7, 9);
  (*options.keep_gain)(3, 2) = 0;
  for (const bool masked : {false, true}) {
    if (masked) options.mask = causal_mask(7, 9, CausalAlign::top_left);
    const Attention whole = attention(query, key, value, options);
    for (const std::size_t queries : {1U, 2U, 7U, 100U}) {
      for (const std::size_t keys : {1U, 2U, 4U, 9U, 100U}) {
        const Attention blocked = blocked_attention(query, key, value, {queries, keys}, options);
        CHECK(difference(blocked.output, whole.output) == "");
        CHECK(difference(blocked.lse, whole.lse) == "");
      }
    }
  }
  CHECK_THROWS_WITH_AS(blocked_attention(query, key, value, {0, 1}),
                       "blocks of 0 queries or keys cover nothing: give at least 1", Error);
}

TEST_CASE("attention: blocks survive hidden blocks and very low or overflowing scores") {
  AttentionOptions options;
  options.scale = 1;
  options.mask = Mask{{false, false, true, true}, {false, false, false, false}};
  const Matrix key{{not_a_number}, {1}, {-1000}, {-1001}};
  const Matrix value{{not_a_number}, {1}, {5}, {7}};
  for (const std::size_t keys : {1U, 2U, 3U}) {
    const Attention got = blocked_attention(Matrix{{1}, {1}}, key, value, {1, keys}, options);
    CHECK(std::abs(got.output(0, 0) - (5 + 7 * std::exp(-1.0)) / (1 + std::exp(-1.0))) < 1e-12);
    CHECK(got.output(1, 0) == 0);
    CHECK(got.lse(1) == -infinity);
    const Attention far =
        blocked_attention(Matrix{{1e200}}, Matrix{{1}, {-1e200}, {1e200}}, Matrix{{1}, {2}, {3}}, {1, keys});
    CHECK(far.output(0, 0) == 3);
  }
}

TEST_CASE("soft_lookup: the temperature divides and zero takes the first best key") {
  const Matrix query{{1, 2}};
  const Matrix keys{{1, 0}, {0, 1}, {1, 1}, {1, 1}};
  const Matrix values{{10}, {20}, {40}, {80}};
  const Matrix three{{1, 0}, {0, 1}, {1, 1}};
  const SoftLookup warm = soft_lookup(query, three, Matrix{{10}, {20}, {40}}, 0.5);
  CHECK(difference(warm.weights, Matrix{{0.015876239976466765, 0.11731042782619837, 0.8668133321973349}}) ==
        "");
  CHECK(difference(warm.output, Matrix{{37.17750424418203}}) == "");
  CHECK(difference(soft_lookup(query, keys, values, 0).weights, Matrix{{0, 0, 1, 0}}, 0) == "");
  CHECK(soft_lookup(query, keys, values, 0).output(0, 0) == 40);
  CHECK(soft_lookup(query, keys, values, 1e-3).output(0, 0) == 60);
  CHECK(soft_lookup(query, three, Matrix{{1}, {2}, {3}}, 1e-320).output(0, 0) == 3);
  CHECK_THROWS_WITH_AS(soft_lookup(query, keys, values, -1),
                       "temperature -1 is negative: give zero or a positive one", Error);
}

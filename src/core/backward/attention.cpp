#include "core/backward/attention.hpp"

#include <algorithm>
#include <cmath>

#include "core/backward/product.hpp"
#include "core/backward/rows.hpp"

namespace attnlab {
namespace {

/// Far below any score, but finite: no infinity is ever subtracted from another. Its exponential is exactly
/// 0.
template <class Real>
inline constexpr Real hidden_score = static_cast<Real>(-1e30);

template <class Real>
Real score_scale(std::size_t head_dim) {
  return 1 / std::sqrt(static_cast<Real>(head_dim));
}

template <class Real>
void subtract_distance(std::type_identity_t<Real> slope, View<Real> scores) {
  for (std::size_t i = 0; i < scores.rows; ++i)
    for (std::size_t j = 0; j < scores.columns; ++j)
      scores(i, j) -= slope * static_cast<Real>(i > j ? i - j : j - i);
}

}  // namespace

// Attention of one head, with n rows of head_dim columns:
//
//   S = Q K^T / sqrt(head_dim)      scores    [n, n]
//   A = softmax of each row of S    weights   [n, n], 0 where hidden
//   Z = A V                         output    [n, head_dim]
//
// Backwards, from dZ. The two products are linear layers, in which both factors are inputs:
//
//   dV = A^T dZ                     a value collects from every query that looked at it
//   dA = dZ V^T                     looking more at j pays as far as v_j points along dZ
//
// The softmax couples the weights of a row, because they share their sum. With dA_ij / dS_ik = A_ij ([j = k]
// - A_ik):
//
//   dS_ij = A_ij (dA_ij - sum_k A_ik dA_ik)
//
// in words: a score rises when its weight pays more than the row's average, and a hidden one (A = 0) never
// moves. And the scores are a product again:
//
//   dQ = dS K / sqrt(head_dim)      dK = dS^T Q / sqrt(head_dim)

template <class Real>
void attention_forward(ConstView<Real> query, ConstView<Real> key, ConstView<Real> value,
                       const AttentionRule& rule, View<Real> weights, View<Real> output) {
  multiply(query, transposed(key), weights, score_scale<Real>(query.columns));
  if (rule.alibi_slope != 0.0) subtract_distance(static_cast<Real>(rule.alibi_slope), weights);
  const std::size_t n = weights.columns;
  for (std::size_t i = 0; i < weights.rows; ++i) {
    Real* row = weights.row(i);
    const std::size_t visible = rule.causal ? i + 1 : n;
    // Whole groups of lanes are faster than an exact count; what is hidden in the last group becomes 0 by
    // itself.
    const std::size_t computed = std::min(n, (visible + num_lanes - 1) / num_lanes * num_lanes);
    std::fill(row + visible, row + computed, hidden_score<Real>);
    softmax_row(row, computed);
    std::fill(row + computed, row + n, Real{0});
  }
  multiply(weights, value, output);
}

template <class Real>
void attention_backward(ConstView<Real> query, ConstView<Real> key, ConstView<Real> value,
                        ConstView<Real> weights, ConstView<Real> d_output, View<Real> d_scores,
                        View<Real> d_query, View<Real> d_key, View<Real> d_value) {
  multiply_add(transposed(weights), d_output, d_value);

  multiply(d_output, transposed(value), d_scores);  // dA, until the loop turns it into dS
  const std::size_t n = weights.columns;
  for (std::size_t i = 0; i < weights.rows; ++i) {
    const Real* a = weights.row(i);
    Real* ds = d_scores.row(i);
    const Real average = row_dot<Real>(a, ds, n);
    for (std::size_t j = 0; j < n; ++j) ds[j] = a[j] * (ds[j] - average);
  }

  multiply_add(d_scores, key, d_query, score_scale<Real>(query.columns));
  multiply_add(transposed(d_scores), query, d_key, score_scale<Real>(query.columns));
}

// Rotary positions: each pair of columns turns by an angle that grows with the position,
//   (a, b) -> (a cos - b sin, a sin + b cos), and backwards (da, db) -> (da cos + db sin, -da sin + db cos).

template <class Real>
void rope_angles(double base, View<Real> cosine, View<Real> sine) {
  for (std::size_t t = 0; t < cosine.rows; ++t) {
    for (std::size_t pair = 0; pair < cosine.columns; ++pair) {
      const double exponent = -static_cast<double>(pair) / static_cast<double>(cosine.columns);
      const double angle = static_cast<double>(t) * std::pow(base, exponent);
      cosine(t, pair) = static_cast<Real>(std::cos(angle));
      sine(t, pair) = static_cast<Real>(std::sin(angle));
    }
  }
}

namespace {

template <class Real>
void rotate(ConstView<Real> cosine, ConstView<Real> sine, std::type_identity_t<Real> direction,
            View<Real> matrix) {
  for (std::size_t t = 0; t < matrix.rows; ++t) {
    for (std::size_t column = 0; column + 1 < matrix.columns; column += 2) {
      const std::size_t pair = column / 2 % cosine.columns;
      const Real c = cosine(t, pair);
      const Real s = direction * sine(t, pair);
      const Real a = matrix(t, column);
      const Real b = matrix(t, column + 1);
      matrix(t, column) = a * c - b * s;
      matrix(t, column + 1) = a * s + b * c;
    }
  }
}

}  // namespace

template <class Real>
void rope_forward(ConstView<Real> cosine, ConstView<Real> sine, View<Real> matrix) {
  rotate(cosine, sine, 1, matrix);
}

template <class Real>
void rope_backward(ConstView<Real> cosine, ConstView<Real> sine, View<Real> d_matrix) {
  rotate(cosine, sine, -1, d_matrix);
}

double alibi_slope(std::size_t head, std::size_t num_heads) {
  return std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(num_heads));
}

// The two instances: float trains, double is checked.
template void attention_forward(View<const float>, View<const float>, View<const float>, const AttentionRule&,
                                View<float>, View<float>);
template void attention_backward(View<const float>, View<const float>, View<const float>, View<const float>,
                                 View<const float>, View<float>, View<float>, View<float>, View<float>);
template void rope_angles(double, View<float>, View<float>);
template void rope_forward(View<const float>, View<const float>, View<float>);
template void rope_backward(View<const float>, View<const float>, View<float>);
template void attention_forward(View<const double>, View<const double>, View<const double>,
                                const AttentionRule&, View<double>, View<double>);
template void attention_backward(View<const double>, View<const double>, View<const double>,
                                 View<const double>, View<const double>, View<double>, View<double>,
                                 View<double>, View<double>);
template void rope_angles(double, View<double>, View<double>);
template void rope_forward(View<const double>, View<const double>, View<double>);
template void rope_backward(View<const double>, View<const double>, View<double>);

}  // namespace attnlab

// Scaled dot-product attention of one head, forward and backward, and the two positional schemes that live
// inside it. Vaswani et al. 2017, section 3.2.1.
#pragma once

#include "core/backward/view.hpp"

namespace attnlab {

/// What a query may look at, and how distance counts.
struct AttentionRule {
  bool causal = true;        ///< a query sees its own position and those before it
  double alibi_slope = 0.0;  ///< this times the distance is subtracted from a score (Press et al. 2022)
};

/// weights = softmax(query key^T / sqrt(head_dim) - slope * distance), output = weights value.
/// query, key, value, output: [n, head_dim]; weights: [n, n], kept for the backward pass.
template <class Real>
void attention_forward(ConstView<Real> query, ConstView<Real> key, ConstView<Real> value,
                       const AttentionRule& rule, View<Real> weights, View<Real> output);

/// Adds to d_query, d_key and d_value [n, head_dim]; d_scores [n, n] is work space and holds the gradient of
/// the scores afterwards.
template <class Real>
void attention_backward(ConstView<Real> query, ConstView<Real> key, ConstView<Real> value,
                        ConstView<Real> weights, ConstView<Real> d_output, View<Real> d_scores,
                        View<Real> d_query, View<Real> d_key, View<Real> d_value);

/// Cosine and sine of position * base^(-2 pair / head_dim) for each position and pair of neighbouring
/// columns: [n, head_dim / 2] each, written to `cosine` and `sine`. Su et al. 2021, section 3.2.2.
template <class Real>
void rope_angles(double base, View<Real> cosine, View<Real> sine);
/// Turns neighbouring columns (2 pair, 2 pair + 1) of each row of every head by its angle, in place; matrix
/// [n, heads * head_dim].
template <class Real>
void rope_forward(ConstView<Real> cosine, ConstView<Real> sine, View<Real> matrix);
/// Turns a gradient back: a rotation's transpose is its inverse.
template <class Real>
void rope_backward(ConstView<Real> cosine, ConstView<Real> sine, View<Real> d_matrix);

/// Slope of head `head` of `num_heads`: 2^(-8 (head + 1) / num_heads).
double alibi_slope(std::size_t head, std::size_t num_heads);

}  // namespace attnlab

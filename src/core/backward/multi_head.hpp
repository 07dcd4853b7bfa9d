// Self-attention with several heads: projections, one attention for each head, and the projection back.
#pragma once

#include <vector>

#include "core/backward/attention.hpp"

namespace attnlab {

/// How the heads attend. Head h uses columns h * head_dim to (h + 1) * head_dim of every projection.
template <class Real>
struct MultiHeadRule {
  std::size_t num_heads = 1;
  bool causal = true;
  bool alibi = false;          ///< each head with its own slope
  View<Real> rope_cosine;      ///< from rope_angles, or empty: no rotation
  View<Real> rope_sine;        ///< as rope_cosine
  std::vector<bool> silenced;  ///< heads whose output is replaced by zeros (an ablation); empty: none
};

/// The four projections, [d_model, d_model] each; also their gradients.
template <class Real>
struct MultiHeadWeights {
  View<Real> query;
  View<Real> key;
  View<Real> value;
  View<Real> output;
};

/// What the backward pass needs of the forward pass, for sequences of up to n positions.
template <class Real>
struct MultiHeadCache {
  /// Throws nothing but bad_alloc: sizes are the caller's to check.
  MultiHeadCache(Arena<Real>& arena, std::size_t n, std::size_t d_model, std::size_t num_heads);

  /// Weights of one head, [n, n].
  View<Real> head_weights(std::size_t head) const {
    return {weights.row(head * weights.columns), weights.columns, weights.columns, weights.stride};
  }

  View<Real> query, key, value;                           ///< [n, d_model], after rotation where there is one
  View<Real> weights;                                     ///< [num_heads * n, n]
  View<Real> heads;                                       ///< [n, d_model]: the heads' outputs side by side
  View<Real> d_query, d_key, d_value, d_heads, d_scores;  ///< work space of the backward pass
};

/// output = concat over heads of attention(x W_Q, x W_K, y W_V) W_O. Queries and keys may see another input x
/// than the values' y (positions added, say); usually both are the same. All [n, d_model].
template <class Real>
void multi_head_forward(const MultiHeadRule<Real>& rule, const MultiHeadWeights<Real>& weights,
                        ConstView<Real> query_key_input, ConstView<Real> value_input,
                        const MultiHeadCache<Real>& cache, View<Real> output);

/// Adds to both inputs' gradients, which may be the same memory, and to `gradient`.
template <class Real>
void multi_head_backward(const MultiHeadRule<Real>& rule, const MultiHeadWeights<Real>& weights,
                         ConstView<Real> query_key_input, ConstView<Real> value_input,
                         const MultiHeadCache<Real>& cache, ConstView<Real> d_output,
                         View<Real> d_query_key_input, View<Real> d_value_input,
                         const MultiHeadWeights<Real>& gradient);

}  // namespace attnlab

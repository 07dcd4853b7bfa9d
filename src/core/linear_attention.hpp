// Attention without a softmax over all keys: by feature maps, and by a low-rank projection of the sequence.
#pragma once

#include "core/attention.hpp"
#include "core/mask.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// elu(x) + 1: x + 1 for positive x, exp(x) else; positive everywhere.
long double elu_plus_one(long double x);

/// sum_j phi(q).phi(k_j) v_j / sum_j phi(q).phi(k_j) with phi = elu + 1, [queries, value width]. With
/// `causal` the sums run over the keys up to the query and are carried along as a state, which is how
/// generation does it in constant memory; without it they run over all keys. Nothing is added to the
/// denominator; a query that sees no key gives zeros. Throws Error(data) when shapes do not fit. Source:
/// Katharopoulos et al. 2020, sections 3.2 to 3.4.
Matrix linear_attention(const Matrix& query, const Matrix& key, const Matrix& value, bool causal,
                        CausalAlign align = CausalAlign::bottom_right);

/// Softmax attention over keys and values projected along the sequence: key becomes E key, value F value,
/// with `key_projection` E and `value_projection` F [rank, keys]. The mix lets every query see every
/// position, so there is no causal form. Throws Error(data) when shapes do not fit. Source: Wang et al. 2020
/// (Linformer), section 4.
Attention low_rank_attention(const Matrix& query, const Matrix& key, const Matrix& value,
                             const Matrix& key_projection, const Matrix& value_projection);

}  // namespace attnlab

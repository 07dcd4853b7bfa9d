// Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1) of one head.
#pragma once

#include <optional>

#include "core/mask.hpp"
#include "core/tensor.hpp"

namespace attnlab {

struct AttentionOptions {
  std::optional<double> scale;      ///< factor of the dot products; 1 / sqrt(width of a key) unless given
  std::optional<Mask> mask;         ///< [queries, keys]; every key visible unless given
  std::optional<Matrix> bias;       ///< [queries, keys], added after scaling; -inf hides a key
  std::optional<Matrix> keep_gain;  ///< [queries, keys], multiplies the weights: dropout's kept / (1 - rate)
};

struct Attention {
  Matrix scores;  ///< [queries, keys], scaled and biased; -inf where hidden
  Matrix
      weights;  ///< [queries, keys], each row sums to one, or is zero where no key is visible; after dropout
  Matrix output;  ///< [queries, value width]
  Vector lse;     ///< [queries], natural logarithm of the sum of exponentials of the scores; -inf for no key
};

/// Attention of query [queries, d], key [keys, d] and value [keys, value width].
/// A hidden key is never touched: NaN or infinity there changes nothing. Dot products beyond the range of
/// double are compared in extended range, so the weights stay right; `scores` then holds infinities. Throws
/// Error(data) when shapes do not fit each other.
Attention attention(const Matrix& query, const Matrix& key, const Matrix& value,
                    const AttentionOptions& options = {});

struct BlockSizes {
  std::size_t queries = 64;
  std::size_t keys = 64;
};

/// The same output and lse from blocks of keys visited one after the other, with a running maximum and a
/// running sum, so no score matrix exists: scores and weights stay empty [0, 0]. The last block may be
/// smaller. Throws as attention, and Error(data) for a block size of zero. Source: Dao et al. 2022
/// (FlashAttention), algorithm 1; Milakov and Gimelshein 2018.
Attention blocked_attention(const Matrix& query, const Matrix& key, const Matrix& value,
                            const BlockSizes& blocks, const AttentionOptions& options = {});

struct SoftLookup {
  Matrix weights;  ///< [queries, keys]
  Matrix output;   ///< [queries, value width]
};

/// A dictionary that returns a blend: softmax(query key^T / temperature) value, without the square root of
/// the width. At temperature 0 the single value of the best key, the first of equally good ones. Throws
/// Error(data) when shapes do not fit, there is no key to look up, or the temperature is negative.
SoftLookup soft_lookup(const Matrix& query, const Matrix& key, const Matrix& value, double temperature);

/// 1 / sqrt(d), the usual scale; 1 for a width of 0.
double default_scale(std::size_t key_width);

/// Throws Error(data) naming the two that differ unless query, key and value can attend, with mask and bias
/// as shaped.
void check_attention_shapes(const Matrix& query, const Matrix& key, const Matrix& value,
                            const AttentionOptions& options);

}  // namespace attnlab

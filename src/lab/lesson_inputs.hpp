// The inputs of the lesson's first listing, which several experiments start from.
#pragma once

#include "core/random/generator.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// Token representations, their projections and the weights between: what listing 1 draws and computes.
struct SelfAttentionInputs {
  Matrix x;                        ///< [seq_len, d_model], N(0, 1)
  Matrix w_query, w_key, w_value;  ///< [d_model, d_k], N(0, 1 / d_model)
  Matrix query, key, value;        ///< [seq_len, d_k]
};

/// Draws in the lesson's order: x, then the three weights. Throws Error(usage) when the arrays do not fit
/// memory.
SelfAttentionInputs draw_self_attention(Generator& rng, std::size_t seq_len, std::size_t d_model,
                                        std::size_t d_k);

}  // namespace attnlab

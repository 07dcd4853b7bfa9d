// Flash attention on arrays of doubles, for callers that hold those.
#pragma once

#include "core/kernels/flash_attention.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// What flash_attention gives, as arrays.
struct ArrayAttention {
  Array output;       ///< [num_queries, value_dim] or [num_heads, num_queries, value_dim]
  Array log_sum_exp;  ///< [num_queries] or [num_heads, num_queries]
  FlashWork work;
};

/// Flash attention in float32 of query [num_queries, head_dim], key [num_keys, head_dim] and value [num_keys,
/// value_dim], or of the same with a first axis of heads, where key and value may have fewer. Numbers are
/// rounded to float32 first. Throws Error(data) when the shapes do not fit each other, and what
/// flash_attention throws.
ArrayAttention flash_attention(const Array& query, const Array& key, const Array& value,
                               const FlashOptions& options, ThreadPool& threads);

}  // namespace attnlab

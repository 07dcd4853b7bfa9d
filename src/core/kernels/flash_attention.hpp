// Exact attention in float32 at the machine's speed: in blocks, so that memory does not grow with the square
// of the length.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/kernels/cpu.hpp"
#include "core/kernels/thread_pool.hpp"

namespace attnlab {

/// Matrices of several heads in one buffer: the element (head, row, column) is
/// data[head * head_stride + row * row_stride + column]. Heads may follow each other ([heads, rows, columns])
/// or lie side by side in the columns ([rows, heads * columns]); see heads_in_turn and heads_in_columns.
template <class T>
struct HeadView {
  T* data = nullptr;
  std::size_t head_stride = 0;
  std::size_t row_stride = 0;
};

/// The view of a buffer [heads, rows, columns].
template <class T>
HeadView<T> heads_in_turn(T* data, std::size_t rows, std::size_t columns) {
  return {data, rows * columns, columns};
}

/// The view of a buffer [rows, heads * columns].
template <class T>
HeadView<T> heads_in_columns(T* data, std::size_t heads, std::size_t columns) {
  return {data, columns, heads * columns};
}

/// What is attended to what.
struct FlashInputs {
  HeadView<const float> query;  ///< [num_heads][num_queries, head_dim]
  HeadView<const float> key;    ///< [num_kv_heads][num_keys, head_dim]
  HeadView<const float> value;  ///< [num_kv_heads][num_keys, value_dim]
  std::size_t num_heads = 1;
  std::size_t num_kv_heads = 1;  ///< divides num_heads: consecutive query heads share a kv head
  std::size_t num_queries = 0;
  std::size_t num_keys = 0;
  std::size_t head_dim = 0;
  std::size_t value_dim = 0;
};

/// Which keys a query may attend to, and how the work is cut. The last query is aligned with the last key:
/// query i stands at position i + num_keys - num_queries, so a prefix of keys without queries (a cache) comes
/// first.
struct FlashOptions {
  bool causal = false;                      ///< no key after the query's position
  std::optional<std::size_t> window_left;   ///< at most this many keys before the query's position
  std::optional<std::size_t> window_right;  ///< at most this many keys after it
  std::optional<float> scale;               ///< of the scores; 1 / sqrt(head_dim) where empty
  std::optional<std::size_t>
      block_queries;             ///< queries that share one pass over the keys; chosen where empty
  std::size_t block_keys = 128;  ///< keys whose scores are held at a time; the bits depend on it
  std::optional<InstructionSet> instruction_set;  ///< the best this processor has where empty
};

/// What was done, counted where it was done.
struct FlashWork {
  std::size_t scores = 0;  ///< pairs of query and key computed, including hidden ones in the tiles they share
  std::size_t floats_read = 0;     ///< of query, key and value; key and value once for each block of queries
  std::size_t floats_written = 0;  ///< of the output
  std::size_t scratch_floats = 0;  ///< working memory of a thread
};

/// Exact attention without the matrix of scores (online softmax over blocks of keys):
/// output = softmax(scale query key^T) value for each head, where hidden pairs have weight 0. A query that
/// sees no key gets the output 0 and the log-sum-exp -infinity. NaN and infinities reach the queries that see
/// them and no others.
///
/// `output` is [num_heads][num_queries, value_dim] and must not overlap the inputs; `log_sum_exp`, where not
/// empty, is [num_heads, num_queries]: the natural logarithm of the sum of exp(score). Throws Error(data)
/// when num_kv_heads does not divide num_heads, a width or block is 0, or log_sum_exp has another size;
/// Error(usage) when the processor lacks the instruction set or memory is short. Accuracy: 5e-7
/// absolute on standard normal inputs, 1e-6 in the first rows of causal ones, as these average little. The
/// bits are the same for any number of threads, any block_queries, and for avx2 and avx512; sse2 has no fused
/// multiply-add and amx sums in another order, so theirs differ in the last ones. With amx, inputs with a
/// number that is neither 0 nor of a magnitude from 2^-60 to 2^60 are computed with avx512. Milakov and
/// Gimelshein 2018; Dao et al. 2022, section 3.1.
FlashWork flash_attention(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options,
                          ThreadPool& threads, std::span<float> log_sum_exp = {});

}  // namespace attnlab

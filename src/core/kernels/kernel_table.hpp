// What the files compiled for one instruction set offer to the rest of the library.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/kernels/cpu.hpp"

namespace attnlab {

/// One piece of exact attention: the queries [first_query, end_query) of one head against the keys of its kv
/// head. Rows are consecutive floats; strides count floats from one row to the next.
struct FlashTask {
  const float* query;
  const float* key;
  const float* value;
  float* output;
  float* log_sum_exp;  ///< one number a query of the head, natural logarithm; null when not wanted
  size_t query_stride;
  size_t key_stride;
  size_t value_stride;
  size_t output_stride;
  ptrdiff_t num_keys;
  ptrdiff_t head_dim;
  ptrdiff_t value_dim;
  ptrdiff_t first_query;
  ptrdiff_t end_query;
  /// Query i sees the keys j with i + first_offset <= j <= i + last_offset.
  ptrdiff_t first_offset;
  ptrdiff_t last_offset;
  ptrdiff_t block_keys;
  float scale;  ///< of the scores, times log2(e): the kernel computes powers of two
};

/// What a task did, counted where it was done.
struct FlashTaskWork {
  long long scores = 0;  ///< pairs of query and key that were computed, hidden ones in edge tiles included
  long long key_value_rows =
      0;              ///< rows of key and value fetched from memory, once for each block of queries
  bool exact = true;  ///< false where the set is not exact for such numbers: the output is then meaningless
};

/// One piece of attention of one new token to a cache: the query heads of one kv head, and the keys
/// [first_key, end_key). `Element` rows are reached through the arrays of pointers that `row_of` fills.
struct DecodeTask {
  const float* query;  ///< [group][head_dim], times the scale of the scores times log2(e)
  const void* key;     ///< of this kv head
  const void* value;
  const float* key_scale;  ///< of this kv head, one for each row of int8; null for other types
  const float* value_scale;
  const uint32_t*
      block_table;  ///< null: token t is row t; else row t % page_size of page block_table[t / page_size]
  size_t page_size;
  size_t page_stride;   ///< elements from one page to the next
  size_t token_stride;  ///< elements from one row to the next
  size_t scale_page_stride;
  ptrdiff_t group;
  ptrdiff_t head_dim;
  ptrdiff_t value_dim;
  ptrdiff_t first_key;
  ptrdiff_t end_key;
  float* maximum;  ///< [group], of the scores, in powers of two
  float* sum;      ///< [group], of the weights relative to the maximum
  float* output;   ///< [group][value_dim], sums of weighted values, not yet divided
};

/// The functions of one instruction set.
struct KernelTable {
  /// Floats of working memory that `flash` needs; independent of the number of keys and queries.
  size_t (*flash_scratch)(ptrdiff_t block_queries, ptrdiff_t block_keys, ptrdiff_t head_dim,
                          ptrdiff_t value_dim);
  FlashTaskWork (*flash)(const FlashTask& task, float* scratch);

  /// weights = softmax(scale * scores) of one row, where scale includes log2(e); a row of -infinity alone
  /// gives zeros. With a buffer of `count` floats the row is built there and stored past the cache.
  void (*softmax_row)(const float* scores, float* weights, size_t count, float scale, float* buffer);

  void (*decode_float32)(const DecodeTask& task);
  void (*decode_float16)(const DecodeTask& task);
  void (*decode_int8)(const DecodeTask& task);
};

extern const KernelTable sse2_kernels;
extern const KernelTable avx2_kernels;
extern const KernelTable avx512_kernels;
extern const KernelTable amx_kernels;

/// The table of a set that this processor supports.
const KernelTable& kernels_of(InstructionSet set);

}  // namespace attnlab

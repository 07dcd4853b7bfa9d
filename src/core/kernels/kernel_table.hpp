// What the files compiled for one instruction set offer to the rest of the library.
#pragma once

#include <stddef.h>

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
      0;  ///< rows of key and value fetched from memory, once for each block of queries
};

/// The functions of one instruction set.
struct KernelTable {
  /// Floats of working memory that `flash` needs; independent of the number of keys and queries.
  size_t (*flash_scratch)(ptrdiff_t block_queries, ptrdiff_t block_keys, ptrdiff_t head_dim,
                          ptrdiff_t value_dim);
  FlashTaskWork (*flash)(const FlashTask& task, float* scratch);
};

extern const KernelTable sse2_kernels;
extern const KernelTable avx2_kernels;
extern const KernelTable avx512_kernels;

/// The table of a set that this processor supports.
const KernelTable& kernels_of(InstructionSet set);

}  // namespace attnlab

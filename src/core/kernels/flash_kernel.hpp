// Exact attention of one block of queries without its matrix of scores. Included once for each instruction
// set.
//
//   output_i = sum_j w_ij value_j / sum_j w_ij,   w_ij = 2^(s_ij - m_i),
//   s_ij = log2(e) scale (query_i . key_j)
//
// The largest score m_i of a row is not known before all keys are seen, so a running maximum takes its place
// and what was summed is rescaled whenever it rises (online softmax: Milakov and Gimelshein 2018; with blocks
// that stay in the cache: Dao et al., "FlashAttention", 2022, section 3.1).
//
// Queries lie in the lanes: a panel holds panel_vectors * lane_count queries, one a lane, so a maximum or a
// sum over the keys of a query is a plain operation between vectors and nothing is ever reduced across lanes.
// The phases, for each block of keys and each panel of queries:
//
//   1. pack     in the first block of keys: the queries times scale, transposed to [head_dim][panel]
//   2. scores   [keys][panel], and their largest for each query
//   3. weights  2^(score - maximum); old sums shrink by alpha = 2^(old maximum - new maximum)
//   4. output   [value_dim][panel]: output * alpha + the block's sum
//   5. unpack   after the last block: output / sum of weights, transposed back to rows
//
// The phases 2 and 4 are products of matrices, on vectors (vector_products.hpp) or on tiles
// (tile_products.hpp). The sum over a block starts at zero and is added to the running one afterwards: errors
// then grow with the number of blocks, not of keys. Blocks begin at multiples of block_keys, and within one
// every lane goes through the keys in the same order whatever the panel, block of queries or thread: the bits
// of the result depend on block_keys and on the kind of product alone.
#pragma once

#ifdef __AMX_BF16__
#include "core/kernels/tile_products.hpp"
#else
#include "core/kernels/vector_products.hpp"
#endif

namespace attnlab {
namespace {

/// Asks, line by line of the cache, for a part of rows of `columns` numbers into the second-level cache, so
/// that they arrive while others are used; `to_write` where they will be overwritten.
template <bool to_write>
inline void prefetch_rows(const float* rows, size_t stride, ptrdiff_t first, ptrdiff_t end,
                          ptrdiff_t columns) {
  for (ptrdiff_t row = first; row < end; ++row) {
    for (ptrdiff_t i = 0; i < columns; i += 16) {
      __builtin_prefetch(rows + static_cast<size_t>(row) * stride + i, to_write, 2);
    }
  }
}

/// Asks for part `part` of `parts` of the next block's keys and values.
inline void prefetch_block(const FlashTask& task, ptrdiff_t first_key, ptrdiff_t end_key, ptrdiff_t part,
                           ptrdiff_t parts) {
  const ptrdiff_t count = larger_of(end_key - first_key, 0);
  const ptrdiff_t first = first_key + count * part / parts;
  const ptrdiff_t end = first_key + count * (part + 1) / parts;
  prefetch_rows<false>(task.key, task.key_stride, first, end, task.head_dim);
  prefetch_rows<false>(task.value, task.value_stride, first, end, task.value_dim);
}

inline ptrdiff_t panels_of(ptrdiff_t num_queries) {
  return (num_queries + panel_queries - 1) / panel_queries;
}

/// Floats that a panel keeps from block to block.
inline size_t panel_size(ptrdiff_t head_dim, ptrdiff_t value_dim) {
  return Products::query_size(head_dim) + output_panel_size(value_dim) + 2 * panel_queries;
}

inline Panel panel_of(const FlashTask& task, ptrdiff_t number, float* scratch) {
  const ptrdiff_t first = task.first_query + number * panel_queries;
  float* query = scratch + static_cast<size_t>(number) * panel_size(task.head_dim, task.value_dim);
  float* output = query + Products::query_size(task.head_dim);
  float* maximum = output + output_panel_size(task.value_dim);
  return {first,   smaller_of(first + panel_queries, task.end_query),
          query,   output,
          maximum, maximum + panel_queries};
}

FlashTaskWork flash(const FlashTask& task, float* scratch) {
  const ptrdiff_t panels = panels_of(task.end_query - task.first_query);
  const size_t panels_size = static_cast<size_t>(panels) * panel_size(task.head_dim, task.value_dim);
  Products products(task, scratch + panels_size);
  FlashTaskWork work;
  const ptrdiff_t first_seen = visible_keys(task, task.first_query).first;
  const ptrdiff_t end_seen = visible_keys(task, task.end_query - 1).end;
  const ptrdiff_t first_block = first_seen / task.block_keys * task.block_keys;
  ptrdiff_t first_key = first_block;
  do {  // once even where no key is seen: the output is zero then
    const ptrdiff_t end_key = smaller_of(first_key + task.block_keys, end_seen);
    const ptrdiff_t next_end = smaller_of(end_key + task.block_keys, end_seen);
    work.key_value_rows += larger_of(end_key - larger_of(first_key, first_seen), 0);
    products.begin_keys(first_key, end_key);
    for (ptrdiff_t number = 0; number < panels; ++number) {
      const Panel panel = panel_of(task, number, scratch);
      if (first_key == first_block) {
        begin_panel(task, panel);
        products.pack(panel);
        prefetch_rows<false>(task.query, task.query_stride, panel.end,
                             smaller_of(panel.end + panel_queries, task.end_query), task.head_dim);
      }
      prefetch_block(task, end_key, next_end, number, panels);
      if (end_key >= end_seen) {
        prefetch_rows<true>(task.output, task.output_stride, panel.first, panel.end, task.value_dim);
      }
      const PanelBlock block = panel_block(task, panel, first_key, end_key);
      if (block.end[block.num_vectors - 1] > 0) products.attend(panel, block);
      for (int v = 0; v < block.num_vectors; ++v) work.scores += block.end[v] * lane_count;
    }
    products.end_keys();
    first_key = end_key;
  } while (first_key < end_seen && products.exact());
  for (ptrdiff_t number = 0; number < panels; ++number) finish_panel(task, panel_of(task, number, scratch));
  work.exact = products.exact();
  return work;
}

size_t flash_scratch(ptrdiff_t block_queries, ptrdiff_t block_keys, ptrdiff_t head_dim, ptrdiff_t value_dim) {
  return static_cast<size_t>(panels_of(block_queries)) * panel_size(head_dim, value_dim) +
         Products::scratch_size(block_keys, head_dim, value_dim);
}

}  // namespace
}  // namespace attnlab

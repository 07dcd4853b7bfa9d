// A panel of queries, one a lane: its memory, what it sees of a block of keys, and the phases of
// flash_kernel.hpp that are the same for every product of matrices: pack, hide, the running softmax, unpack.
#pragma once

#include <math.h>

#include "core/kernels/kernel_table.hpp"
#include "core/kernels/transpose.hpp"

namespace attnlab {
namespace {

#ifdef __AMX_BF16__
constexpr int panel_vectors =
    2;  // a tile has one vector of columns; two by two tiles of sums fill the registers
constexpr int tile_rows = 32;       // of scores or output that are computed together
constexpr ptrdiff_t key_step = 32;  // keys that one instruction sums over: a panel begins at a multiple of it
#else
constexpr int panel_vectors = 3;
// The sums, three vectors of the panel and one broadcast number fill the 32 or 16 registers.
constexpr int tile_rows = lane_count == 16 ? 8 : 4;
constexpr ptrdiff_t key_step = 1;
#endif
constexpr ptrdiff_t panel_queries = panel_vectors * lane_count;

// Where a running maximum starts: below every score, yet finite, so that no difference is inf - inf.
constexpr float lowest_maximum = -1e30f;
// The score of a hidden pair: below lowest_maximum, so that its weight is 0 whatever the maximum is.
constexpr float hidden_score = -2e30f;

inline ptrdiff_t smaller_of(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
inline ptrdiff_t larger_of(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }
inline ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step * step; }

/// A panel: its queries [first, end) and its part of the working memory.
struct Panel {
  ptrdiff_t first;
  ptrdiff_t end;
  float* query;    // as the products want it packed
  float* output;   // [value_dim rounded up to tile_rows][panel_queries]
  float* maximum;  // [panel_queries], of the scores so far
  float* sum;      // [panel_queries], of the weights so far
};

/// A panel and a block of keys: what is computed of them.
struct PanelBlock {
  ptrdiff_t first_position;  // of lane 0: the query's index
  int num_vectors;           // vectors with at least one query
  ptrdiff_t first_key;       // of the block that any lane sees
  ptrdiff_t
      end[panel_vectors];  // for each vector, one past the last key any of its lanes sees, from first_key
  ptrdiff_t hidden_from;   // from first_key: every lane sees all keys before it, and those up to the end if
                           // this is the end
};

// ---- what a panel sees

/// The keys [first, end) that query `position` sees.
struct KeyRange {
  ptrdiff_t first;
  ptrdiff_t end;
};
inline KeyRange visible_keys(const FlashTask& task, ptrdiff_t position) {
  return {larger_of(position + task.first_offset, 0),
          smaller_of(position + task.last_offset + 1, task.num_keys)};
}

/// What a panel computes of the keys [first_key, end_key), the beginning of a block; nothing where its last
/// vector's end is 0.
inline PanelBlock panel_block(const FlashTask& task, const Panel& panel, ptrdiff_t first_key,
                              ptrdiff_t end_key) {
  PanelBlock block{};
  block.first_position = panel.first;
  block.num_vectors = static_cast<int>((panel.end - panel.first + lane_count - 1) / lane_count);
  const ptrdiff_t last = panel.end - 1;
  const ptrdiff_t unseen = larger_of(visible_keys(task, panel.first).first - first_key, 0);
  block.first_key = first_key + unseen - unseen % key_step;
  for (int v = 0; v < block.num_vectors; ++v) {
    const ptrdiff_t vector_last = smaller_of(panel.first + (v + 1) * lane_count - 1, last);
    const ptrdiff_t vector_end = smaller_of(visible_keys(task, vector_last).end, end_key);
    block.end[v] = larger_of(vector_end - block.first_key, 0);
  }
  // The last query begins to see last, the first one ends first.
  const ptrdiff_t end_of_all = block.end[block.num_vectors - 1];
  if (visible_keys(task, last).first <= block.first_key) {
    block.hidden_from =
        larger_of(smaller_of(visible_keys(task, panel.first).end, end_key) - block.first_key, 0);
    if (block.hidden_from < end_of_all) block.hidden_from -= block.hidden_from % tile_rows;
  }
  return block;
}

/// The lanes of a vector that see a key: those numbered from `low` to `high`.
struct VisibleLanes {
  Lanes low;
  Lanes high;
};

/// Of vector `v` and key `key` of the block: lane n stands at position + n and sees the key when
/// position + n + first_offset <= key <= position + n + last_offset.
inline VisibleLanes visible_lanes(const FlashTask& task, const PanelBlock& block, int v, ptrdiff_t key) {
  const ptrdiff_t distance = block.first_key + key - (block.first_position + v * lane_count);
  const ptrdiff_t low = smaller_of(larger_of(distance - task.last_offset, 0), lane_count);
  const ptrdiff_t high = larger_of(smaller_of(distance - task.first_offset, lane_count), -1);
  return {broadcast(static_cast<float>(low)), broadcast(static_cast<float>(high))};
}

inline Lanes lane_numbers() {
  float numbers[lane_count];
  for (int lane = 0; lane < lane_count; ++lane) numbers[lane] = static_cast<float>(lane);
  return load(numbers);
}

/// Hides the scores of the pairs that may not attend and takes the maxima of the others.
inline void hide_scores(const FlashTask& task, const PanelBlock& block, float* scores, float* maximum) {
  const Lanes numbers = lane_numbers();
  for (int v = 0; v < block.num_vectors; ++v) {
    Lanes largest = load(maximum + v * lane_count);
    for (ptrdiff_t key = block.hidden_from; key < block.end[v]; ++key) {
      float* score = scores + key * panel_queries + v * lane_count;
      const VisibleLanes seen = visible_lanes(task, block, v, key);
      const Lanes kept = choose_between(seen.low, numbers, seen.high, load(score), broadcast(hidden_score));
      store(score, kept);
      largest = larger(largest, kept);
    }
    store(maximum + v * lane_count, largest);
  }
}

// ---- phase 1: pack

/// packed[column][lane] = scale * query[lane][column] of the panel that begins with the query `first`; 0 in
/// the lanes past the task's last query.
inline void pack_queries(const FlashTask& task, ptrdiff_t first, float* packed) {
  const Lanes factor = broadcast(task.scale);
  for (int v = 0; v < panel_vectors; ++v, first += lane_count, packed += lane_count) {
    const ptrdiff_t num_rows = task.end_query - first;
    const float* query = task.query + static_cast<size_t>(first) * task.query_stride;
    ptrdiff_t column = 0;
    for (; column + lane_count <= task.head_dim; column += lane_count) {
      Lanes square[lane_count];
#pragma GCC unroll 16
      for (int row = 0; row < lane_count; ++row) {
        square[row] =
            row < num_rows ? load(query + static_cast<size_t>(row) * task.query_stride + column) : Lanes{};
      }
      transpose(square);
#pragma GCC unroll 16
      for (int row = 0; row < lane_count; ++row) {
        store(packed + (column + row) * panel_queries, square[row] * factor);
      }
    }
    for (; column < task.head_dim; ++column) {
      for (int row = 0; row < lane_count; ++row) {
        packed[column * panel_queries + row] =
            row < num_rows
                ? query[static_cast<size_t>(row) * task.query_stride + static_cast<size_t>(column)] *
                      task.scale
                : 0.0f;
      }
    }
  }
}

inline size_t output_panel_size(ptrdiff_t value_dim) {
  return static_cast<size_t>(round_up(value_dim, tile_rows) * panel_queries);
}

inline void begin_panel(const FlashTask& task, const Panel& panel) {
  for (size_t i = 0; i < output_panel_size(task.value_dim); ++i) panel.output[i] = 0.0f;
  for (size_t lane = 0; lane < panel_queries; ++lane) {
    panel.maximum[lane] = lowest_maximum;
    panel.sum[lane] = 0.0f;
  }
}

// ---- phase 3: the running softmax

/// Brings the maximum and the sum of a vector of the panel up to date; what shrinks all that was summed
/// before.
inline Lanes update_panel(const Panel& panel, int v, Lanes new_maximum, Lanes block_sum) {
  const int offset = v * lane_count;
  const Lanes shrink = exp2_of_nonpositive(load(panel.maximum + offset) - new_maximum);
  store(panel.sum + offset, multiply_add(load(panel.sum + offset), shrink, block_sum));
  store(panel.maximum + offset, new_maximum);
  return shrink;
}

// ---- phase 5: unpack

/// For the queries of one vector: output[lane][column] = packed[column][lane] * factor[lane].
inline void unpack_output(const float* packed, Lanes factor, ptrdiff_t num_rows, ptrdiff_t value_dim,
                          float* output, size_t stride) {
  ptrdiff_t column = 0;
  for (; column + lane_count <= value_dim; column += lane_count) {
    Lanes square[lane_count];
#pragma GCC unroll 16
    for (int row = 0; row < lane_count; ++row) {
      square[row] = load(packed + (column + row) * panel_queries) * factor;
    }
    transpose(square);
#pragma GCC unroll 16
    for (int row = 0; row < lane_count; ++row) {
      if (row < num_rows) store(output + static_cast<size_t>(row) * stride + column, square[row]);
    }
  }
  for (; column < value_dim; ++column) {
    float numbers[lane_count];
    store(numbers, load(packed + column * panel_queries) * factor);
    for (int row = 0; row < num_rows; ++row) {
      output[static_cast<size_t>(row) * stride + static_cast<size_t>(column)] = numbers[row];
    }
  }
}

inline void finish_panel(const FlashTask& task, const Panel& panel) {
  constexpr double natural_log_of_2 = 0.693147180559945309417;
  ptrdiff_t query = panel.first;
  for (int offset = 0; query < panel.end; offset += lane_count, query += lane_count) {
    const ptrdiff_t num_rows = smaller_of(panel.end - query, lane_count);
    float factor[lane_count];
    for (int lane = 0; lane < lane_count; ++lane) {
      const KeyRange seen = visible_keys(task, query + lane);
      const float sum = panel.sum[offset + lane];
      factor[lane] = seen.first < seen.end ? 1.0f / sum : 0.0f;
      if (task.log_sum_exp != nullptr && lane < num_rows) {
        const double log2_sum =
            static_cast<double>(panel.maximum[offset + lane]) + log2(static_cast<double>(sum));
        task.log_sum_exp[query + lane] =
            seen.first < seen.end ? static_cast<float>(log2_sum * natural_log_of_2) : -HUGE_VALF;
      }
    }
    unpack_output(panel.output + offset, load(factor), num_rows, task.value_dim,
                  task.output + static_cast<size_t>(query) * task.output_stride, task.output_stride);
  }
}

}  // namespace
}  // namespace attnlab

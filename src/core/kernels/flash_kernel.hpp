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
// Keys and values are read as they are, one number at a time broadcast to all lanes; they are never packed or
// transposed, and query heads that share a kv head share its rows. The phases, for each block of keys and
// each panel of queries:
//
//   1. pack     in the first block of keys: the queries times scale, transposed to [head_dim][panel]
//   2. scores   [keys][panel], by register tiles of tile_rows keys, and their largest for each query
//   3. weights  2^(score - maximum) in place; old sums shrink by alpha = 2^(old maximum - new maximum)
//   4. output   [value_dim][panel], by register tiles of tile_rows columns of value:
//               output * alpha + the block's sum
//   5. unpack   in the last block: output / sum of weights, transposed back to rows
//
// Phases 2 and 4 are the same product of matrices and share one routine, add_products. The sum over a block
// starts at zero and is added to the running one afterwards: errors then grow with the number of blocks, not
// of keys. Every lane goes through the keys in ascending order, in blocks that begin at multiples of
// block_keys, whatever the panel, block of queries or thread: the bits of the result depend on block_keys and
// on fused multiply-add alone.
#pragma once

#include <math.h>

#include "core/kernels/kernel_table.hpp"
#include "core/kernels/lanes.hpp"

namespace attnlab {
namespace {

constexpr int panel_vectors = 3;
constexpr int panel_queries = panel_vectors * lane_count;
// The accumulators, three vectors of the panel and one broadcast number fill the 32 or 16 registers.
constexpr int tile_rows = lane_count == 16 ? 8 : 4;

constexpr int line_floats = 16;  // of a line of the cache

// Where a running maximum starts: below every score, yet finite, so that no difference is inf - inf.
constexpr float lowest_maximum = -1e30f;
// The score of a hidden pair: below lowest_maximum, so that its weight is 0 whatever the maximum is.
constexpr float hidden_score = -2e30f;

inline ptrdiff_t smaller_of(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
inline ptrdiff_t larger_of(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }
inline ptrdiff_t round_up(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step * step; }

/// The working memory of a task, cut into its arrays.
struct Scratch {
  float* query;    // [panels][head_dim][panel_queries]
  float* output;   // [panels][value_dim rounded up to tile_rows][panel_queries]
  float* maximum;  // [panels][panel_queries], of the scores so far
  float* sum;      // [panels][panel_queries], of the weights so far
  float* weights;  // [block_keys rounded up to tile_rows][panel_queries], scores first
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

// ---- the product of matrices that phases 2 and 4 share

/// Sums of a tile: rows of broadcast numbers by vectors of lanes.
struct Tile {
  Lanes sum[tile_rows][panel_vectors];
};

/// Where the broadcast numbers of a tile are: number i of a row is `step` floats after number i - 1, and the
/// rows from the last one on repeat it, so that a tile is always full.
struct TileRows {
  const float* first;
  size_t row_step;
  ptrdiff_t last;
  size_t step;
};

/// tile[row][vector] += sum over i in [begin, end) of rows[row][i] * panel[i][vector], for the vectors from
/// `first` to `count`.
template <int first, int count>
inline __attribute__((always_inline)) void add_products(Tile& tile, const TileRows& rows, const float* panel,
                                                        ptrdiff_t begin, ptrdiff_t end) {
  const float* numbers[tile_rows];
#pragma GCC unroll 8
  for (int row = 0; row < tile_rows; ++row) {
    numbers[row] = rows.first + static_cast<size_t>(smaller_of(row, rows.last)) * rows.row_step;
  }
#pragma GCC unroll 8
  for (ptrdiff_t i = begin; i < end; ++i) {
    Lanes lanes[count];
#pragma GCC unroll 3
    for (int v = first; v < count; ++v) lanes[v] = load(panel + i * panel_queries + v * lane_count);
#pragma GCC unroll 8
    for (int row = 0; row < tile_rows; ++row) {
      const Lanes number = broadcast(numbers[row][static_cast<size_t>(i) * rows.step]);
#pragma GCC unroll 3
      for (int v = first; v < count; ++v) {
        tile.sum[row][v] = multiply_add(number, lanes[v], tile.sum[row][v]);
      }
    }
  }
}

template <int count>
inline __attribute__((always_inline)) void clear(Tile& tile) {
#pragma GCC unroll 8
  for (int row = 0; row < tile_rows; ++row) {
#pragma GCC unroll 3
    for (int v = 0; v < count; ++v) tile.sum[row][v] = Lanes{};
  }
}

// ---- phase 1 and 5: transposing, lane_count x lane_count numbers at a time

/// Lanes of `a` whose number has the bit `distance` change places with lanes of `b` whose number has not.
template <int distance, int... lane>
inline void exchange(Lanes& a, Lanes& b, std::integer_sequence<int, lane...>) {
  const Lanes from_a = a;
  const Lanes from_b = b;
  a = __builtin_shufflevector(from_a, from_b, ((lane & distance) ? lane_count + (lane ^ distance) : lane)...);
  b = __builtin_shufflevector(from_a, from_b, ((lane & distance) ? lane_count + lane : (lane ^ distance))...);
}

/// Transposes a square of lane_count vectors: first its quarters change places, then the quarters of those,
/// ...
template <int distance = lane_count / 2>
inline void transpose(Lanes* square) {
#pragma GCC unroll 16
  for (int row = 0; row < lane_count; ++row) {
    if ((row & distance) == 0) {
      exchange<distance>(square[row], square[row + distance], std::make_integer_sequence<int, lane_count>{});
    }
  }
  if constexpr (distance > 1) transpose<distance / 2>(square);
}

/// Phase 1 for the lane_count queries of one vector: packed[column][lane] = scale * query[lane][column], zero
/// in the lanes from `num_rows` on.
inline void pack_queries(const float* query, size_t stride, ptrdiff_t num_rows, ptrdiff_t head_dim,
                         float scale, float* packed) {
  const Lanes factor = broadcast(scale);
  ptrdiff_t column = 0;
  for (; column + lane_count <= head_dim; column += lane_count) {
    Lanes square[lane_count];
#pragma GCC unroll 16
    for (int row = 0; row < lane_count; ++row) {
      square[row] = row < num_rows ? load(query + static_cast<size_t>(row) * stride + column) : Lanes{};
    }
    transpose(square);
#pragma GCC unroll 16
    for (int row = 0; row < lane_count; ++row) {
      store(packed + (column + row) * panel_queries, square[row] * factor);
    }
  }
  for (; column < head_dim; ++column) {
    for (int row = 0; row < lane_count; ++row) {
      packed[column * panel_queries + row] =
          row < num_rows ? query[static_cast<size_t>(row) * stride + static_cast<size_t>(column)] * scale
                         : 0.0f;
    }
  }
}

/// Phase 5 for the queries of one vector: output[lane][column] = packed[column][lane] * factor[lane].
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

// ---- phase 2: scores

/// Scores of the keys [0, num_keys) for the vectors [0, count) of a panel, and the maxima raised to them.
/// Where the last tile has fewer keys it repeats the last of `keys`, which changes no maximum.
template <int count>
__attribute__((noinline)) void score_tiles(TileRows keys, ptrdiff_t num_keys, ptrdiff_t head_dim,
                                           const float* query, float* scores, float* maximum) {
  for (ptrdiff_t key = 0; key < num_keys; key += tile_rows) {
    Tile tile;
    clear<count>(tile);
    add_products<0, count>(tile, keys, query, 0, head_dim);
#pragma GCC unroll 3
    for (int v = 0; v < count; ++v) {
      Lanes largest = load(maximum + v * lane_count);
#pragma GCC unroll 8
      for (int row = 0; row < tile_rows; ++row) {
        store(scores + row * panel_queries + v * lane_count, tile.sum[row][v]);
        largest = larger(largest, tile.sum[row][v]);
      }
      store(maximum + v * lane_count, largest);
    }
    keys.first += tile_rows * keys.row_step;
    keys.last -= tile_rows;
    scores += tile_rows * panel_queries;
  }
}

/// Scores of the keys [key, key + count) of a block for the vectors from `first` on.
inline void score_keys(const FlashTask& task, const PanelBlock& block, int first, ptrdiff_t key,
                       ptrdiff_t count, const float* query, float* scores, float* maximum) {
  const int offset = first * lane_count;
  const float* first_row = task.key + static_cast<size_t>(block.first_key + key) * task.key_stride;
  const TileRows keys{first_row, task.key_stride, block.end[block.num_vectors - 1] - 1 - key, 1};
  float* tile_scores = scores + key * panel_queries + offset;
  switch (block.num_vectors - first) {
    case 3:
      score_tiles<3>(keys, count, task.head_dim, query + offset, tile_scores, maximum + offset);
      break;
    case 2:
      score_tiles<2>(keys, count, task.head_dim, query + offset, tile_scores, maximum + offset);
      break;
    default:
      score_tiles<1>(keys, count, task.head_dim, query + offset, tile_scores, maximum + offset);
  }
}

/// All scores of a panel and a block; the maxima are those of the keys before hidden_from. A vector that sees
/// no key of a tile takes no part in it.
inline void score_block(const FlashTask& task, const PanelBlock& block, const float* query, float* scores,
                        float* maximum) {
  ptrdiff_t key = block.hidden_from;
  if (key > 0) score_keys(task, block, 0, 0, key, query, scores, maximum);
  // The tiles' own maxima would include hidden scores.
  alignas(64) float ignored[panel_queries] = {};
  for (int first = 0; first < block.num_vectors; ++first) {
    const ptrdiff_t count = block.end[first] - key;
    if (count <= 0) continue;
    score_keys(task, block, first, key, count, query, scores, ignored);
    key += round_up(count, tile_rows);
  }
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

// ---- phase 3: weights

/// Weights in place of scores; the running maximum and sum are brought up to date; alpha is what shrinks the
/// output.
inline void weigh_block(const PanelBlock& block, float* scores, const float* new_maximum, float* maximum,
                        float* sum, float* alpha) {
  for (int v = 0; v < block.num_vectors; ++v) {
    const int offset = v * lane_count;
    const Lanes largest = load(new_maximum + offset);
    Lanes block_sum{};
    float* score = scores + offset;
    for (ptrdiff_t key = 0; key < block.end[v]; ++key, score += panel_queries) {
      const Lanes weight = exp2_of_nonpositive(load(score) - largest);
      store(score, weight);
      block_sum = block_sum + weight;
    }
    const Lanes shrink = exp2_of_nonpositive(load(maximum + offset) - largest);
    store(alpha + offset, shrink);
    store(sum + offset, multiply_add(load(sum + offset), shrink, block_sum));
    store(maximum + offset, largest);
  }
}

// ---- phase 4: output

/// output[column][vector] = output * alpha + sum over keys of value[key][column] * weights[key][vector], for
/// all columns. Past the last column a tile repeats it, into rows that are not read.
template <int count>
__attribute__((noinline)) void output_tiles(TileRows columns, ptrdiff_t num_columns, const float* weights,
                                            const ptrdiff_t* end, const float* alpha, float* output) {
  for (ptrdiff_t column = 0; column < num_columns; column += tile_rows) {
    Tile tile;
    clear<count>(tile);
    // What the sums are added to is in the second-level cache by now.
    for (int i = 0; i < tile_rows * panel_queries; i += line_floats) __builtin_prefetch(output + i, 1, 3);
    add_products<0, count>(tile, columns, weights, 0, end[0]);
    if constexpr (count > 1) add_products<1, count>(tile, columns, weights, end[0], end[1]);
    if constexpr (count > 2) add_products<2, count>(tile, columns, weights, end[1], end[2]);
#pragma GCC unroll 8
    for (int row = 0; row < tile_rows; ++row) {
#pragma GCC unroll 3
      for (int v = 0; v < count; ++v) {
        float* place = output + row * panel_queries + v * lane_count;
        store(place, multiply_add(load(place), load(alpha + v * lane_count), tile.sum[row][v]));
      }
    }
    columns.first += tile_rows;
    columns.last -= tile_rows;
    output += tile_rows * panel_queries;
  }
}

/// The weighted sums of a panel and a block.
inline void add_block(const FlashTask& task, const PanelBlock& block, const float* weights,
                      const float* alpha, float* output) {
  const float* value = task.value + static_cast<size_t>(block.first_key) * task.value_stride;
  const TileRows columns{value, 1, task.value_dim - 1, task.value_stride};
  switch (block.num_vectors) {
    case 3:
      output_tiles<3>(columns, task.value_dim, weights, block.end, alpha, output);
      break;
    case 2:
      output_tiles<2>(columns, task.value_dim, weights, block.end, alpha, output);
      break;
    default:
      output_tiles<1>(columns, task.value_dim, weights, block.end, alpha, output);
  }
}

/// Whether no value of the block is NaN or infinite: those times 0 are NaN, all others are 0.
inline bool values_finite(const FlashTask& task, const PanelBlock& block) {
  const ptrdiff_t num_keys = block.end[block.num_vectors - 1];
  const Lanes zero{};
  Lanes total{};
  float rest = 0.0f;
  for (ptrdiff_t key = 0; key < num_keys; ++key) {
    const float* row = task.value + static_cast<size_t>(block.first_key + key) * task.value_stride;
    Lanes of_row{};
    ptrdiff_t column = 0;
    for (; column + lane_count <= task.value_dim; column += lane_count) {
      of_row = multiply_add(load(row + column), zero, of_row);
    }
    for (; column < task.value_dim; ++column) rest += row[column] * 0.0f;
    total = total + of_row;
  }
  float lanes[lane_count];
  store(lanes, total);
  for (int lane = 0; lane < lane_count; ++lane) rest += lanes[lane];
  return rest == 0.0f;
}

/// add_block for a block with hidden pairs and values that are not finite: the weight 0 of a hidden pair
/// times NaN or infinity would be NaN, so these pairs are left out one by one.
__attribute__((noinline)) void add_visible(const FlashTask& task, const PanelBlock& block,
                                           const float* weights, const float* alpha, float* output) {
  const Lanes numbers = lane_numbers();
  const float* value = task.value + static_cast<size_t>(block.first_key) * task.value_stride;
  for (int v = 0; v < block.num_vectors; ++v) {
    const int offset = v * lane_count;
    for (ptrdiff_t column = 0; column < task.value_dim; ++column) {
      Lanes sum{};
      for (ptrdiff_t key = 0; key < block.end[v]; ++key) {
        const Lanes number =
            broadcast(value[static_cast<size_t>(key) * task.value_stride + static_cast<size_t>(column)]);
        const Lanes more = multiply_add(number, load(weights + key * panel_queries + offset), sum);
        const VisibleLanes seen = visible_lanes(task, block, v, key);
        sum = choose_between(seen.low, numbers, seen.high, more, sum);
      }
      float* place = output + column * panel_queries + offset;
      store(place, multiply_add(load(place), load(alpha + offset), sum));
    }
  }
}

// ---- the task

/// The keys [first, end) that query `position` sees.
struct KeyRange {
  ptrdiff_t first;
  ptrdiff_t end;
};
inline KeyRange visible_keys(const FlashTask& task, ptrdiff_t position) {
  return {larger_of(position + task.first_offset, 0),
          smaller_of(position + task.last_offset + 1, task.num_keys)};
}

/// What a panel of the queries [first, end) computes of the keys [first_key, end_key); nothing where its last
/// vector's end is 0.
inline PanelBlock panel_block(const FlashTask& task, ptrdiff_t first, ptrdiff_t end, ptrdiff_t first_key,
                              ptrdiff_t end_key) {
  PanelBlock block{};
  block.first_position = first;
  block.num_vectors =
      static_cast<int>((smaller_of(end - first, panel_queries) + lane_count - 1) / lane_count);
  const ptrdiff_t last = smaller_of(first + panel_queries, end) - 1;
  block.first_key = larger_of(first_key, visible_keys(task, first).first);
  for (int v = 0; v < block.num_vectors; ++v) {
    const ptrdiff_t vector_first = first + v * lane_count;
    const ptrdiff_t vector_last = smaller_of(vector_first + lane_count - 1, last);
    const ptrdiff_t vector_end = smaller_of(visible_keys(task, vector_last).end, end_key);
    block.end[v] = larger_of(vector_end - block.first_key, 0);
  }
  // The last query begins to see last, the first one ends first.
  const ptrdiff_t end_of_all = block.end[block.num_vectors - 1];
  if (visible_keys(task, last).first <= block.first_key) {
    block.hidden_from = larger_of(smaller_of(visible_keys(task, first).end, end_key) - block.first_key, 0);
    if (block.hidden_from < end_of_all) block.hidden_from -= block.hidden_from % tile_rows;
  }
  return block;
}

/// Asks for a part of rows of `columns` numbers into the second-level cache, so that they arrive while others
/// are used; `to_write` where they will be overwritten.
template <bool to_write>
inline void prefetch_rows(const float* rows, size_t stride, ptrdiff_t first, ptrdiff_t end,
                          ptrdiff_t columns) {
  for (ptrdiff_t row = first; row < end; ++row) {
    for (ptrdiff_t i = 0; i < columns; i += line_floats) {
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

inline size_t output_panel_size(ptrdiff_t value_dim) {
  return static_cast<size_t>(round_up(value_dim, tile_rows) * panel_queries);
}

inline size_t panels_of(ptrdiff_t num_queries) {
  return static_cast<size_t>((num_queries + panel_queries - 1) / panel_queries);
}

inline Scratch cut_scratch(const FlashTask& task, size_t panels, float* memory) {
  Scratch scratch{};
  scratch.query = memory;
  scratch.output = scratch.query + panels * static_cast<size_t>(task.head_dim * panel_queries);
  scratch.maximum = scratch.output + panels * output_panel_size(task.value_dim);
  scratch.sum = scratch.maximum + panels * panel_queries;
  scratch.weights = scratch.sum + panels * panel_queries;
  return scratch;
}

/// A panel: its queries [first, end) and its part of the scratch.
struct Panel {
  ptrdiff_t first;
  ptrdiff_t end;
  float* query;
  float* output;
  float* maximum;
  float* sum;
};

inline Panel panel_of(const FlashTask& task, const Scratch& scratch, size_t number) {
  const ptrdiff_t first = task.first_query + static_cast<ptrdiff_t>(number) * panel_queries;
  return {first,
          smaller_of(first + panel_queries, task.end_query),
          scratch.query + number * static_cast<size_t>(task.head_dim * panel_queries),
          scratch.output + number * output_panel_size(task.value_dim),
          scratch.maximum + number * panel_queries,
          scratch.sum + number * panel_queries};
}

inline void begin_panel(const FlashTask& task, const Panel& panel) {
  for (size_t i = 0; i < output_panel_size(task.value_dim); ++i) panel.output[i] = 0.0f;
  for (size_t lane = 0; lane < panel_queries; ++lane) {
    panel.maximum[lane] = lowest_maximum;
    panel.sum[lane] = 0.0f;
  }
  for (int v = 0; v < panel_vectors; ++v) {
    const ptrdiff_t query = panel.first + v * lane_count;
    pack_queries(task.query + static_cast<size_t>(query) * task.query_stride, task.query_stride,
                 task.end_query - query, task.head_dim, task.scale, panel.query + v * lane_count);
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

/// Phases 2 to 4 for one panel and one block of keys; the number of scores computed.
inline long long attend_block(const FlashTask& task, const PanelBlock& block, const Panel& panel,
                              float* weights) {
  alignas(64) float new_maximum[panel_queries];
  alignas(64) float alpha[panel_queries];
  for (int lane = 0; lane < panel_queries; ++lane) new_maximum[lane] = panel.maximum[lane];
  score_block(task, block, panel.query, weights, new_maximum);
  const bool all_visible = block.hidden_from == block.end[block.num_vectors - 1];
  if (!all_visible) hide_scores(task, block, weights, new_maximum);
  weigh_block(block, weights, new_maximum, panel.maximum, panel.sum, alpha);
  if (all_visible || values_finite(task, block)) {
    add_block(task, block, weights, alpha, panel.output);
  } else {
    add_visible(task, block, weights, alpha, panel.output);
  }
  long long scores = 0;
  for (int v = 0; v < block.num_vectors; ++v) scores += block.end[v] * lane_count;
  return scores;
}

FlashTaskWork flash(const FlashTask& task, float* memory) {
  const size_t panels = panels_of(task.end_query - task.first_query);
  const Scratch scratch = cut_scratch(task, panels, memory);

  FlashTaskWork work;
  const ptrdiff_t first_seen = visible_keys(task, task.first_query).first;
  const ptrdiff_t end_seen = visible_keys(task, task.end_query - 1).end;
  const ptrdiff_t first_block = first_seen / task.block_keys * task.block_keys;
  ptrdiff_t first_key = first_block;
  do {  // once even where no key is seen: the output is zero then
    const ptrdiff_t end_key = smaller_of(first_key + task.block_keys, end_seen);
    const ptrdiff_t next_end = smaller_of(end_key + task.block_keys, end_seen);
    const bool last_block = end_key >= end_seen;
    work.key_value_rows += larger_of(end_key - larger_of(first_key, first_seen), 0);
    for (size_t number = 0; number < panels; ++number) {
      const Panel panel = panel_of(task, scratch, number);
      if (first_key == first_block) {
        begin_panel(task, panel);
        prefetch_rows<false>(task.query, task.query_stride, panel.end,
                             smaller_of(panel.end + panel_queries, task.end_query), task.head_dim);
      }
      const PanelBlock block = panel_block(task, panel.first, task.end_query, first_key, end_key);
      prefetch_block(task, end_key, next_end, static_cast<ptrdiff_t>(number), static_cast<ptrdiff_t>(panels));
      if (last_block) {
        prefetch_rows<true>(task.output, task.output_stride, panel.first, panel.end, task.value_dim);
      }
      if (block.end[block.num_vectors - 1] > 0)
        work.scores += attend_block(task, block, panel, scratch.weights);
      if (last_block) finish_panel(task, panel);
    }
    first_key = end_key;
  } while (first_key < end_seen);
  return work;
}

size_t flash_scratch(ptrdiff_t block_queries, ptrdiff_t block_keys, ptrdiff_t head_dim, ptrdiff_t value_dim) {
  const size_t panels = panels_of(block_queries);
  const size_t rows_of_a_panel = static_cast<size_t>(head_dim + round_up(value_dim, tile_rows) + 2);
  return panel_queries * (panels * rows_of_a_panel + static_cast<size_t>(round_up(block_keys, tile_rows)));
}

}  // namespace
}  // namespace attnlab

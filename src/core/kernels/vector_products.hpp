// The phases 2 to 4 of flash_kernel.hpp on vectors.
//
// Keys and values are read as they are, one number at a time broadcast to all lanes; they are never packed or
// transposed, and query heads that share a kv head share its rows. The phases 2 and 4 are the same product of
// matrices and share one routine, add_products.
#pragma once

#include "core/kernels/panel.hpp"

namespace attnlab {
namespace {

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

// ---- phase 3: weights

/// Weights in place of scores; alpha is what shrinks the output.
inline void weigh_block(const PanelBlock& block, const Panel& panel, float* scores, const float* new_maximum,
                        float* alpha) {
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
    store(alpha + offset, update_panel(panel, v, largest, block_sum));
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
    for (ptrdiff_t i = 0; i < tile_rows * panel_queries; i += 16) __builtin_prefetch(output + i, 1, 3);
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

/// The products of one task, a panel and a block of keys at a time.
class Products {
 public:
  /// Floats that a panel's packed queries take, and that Products itself needs.
  static size_t query_size(ptrdiff_t head_dim) { return static_cast<size_t>(head_dim * panel_queries); }
  static size_t scratch_size(ptrdiff_t block_keys, ptrdiff_t /*head_dim*/, ptrdiff_t /*value_dim*/) {
    return static_cast<size_t>(round_up(block_keys, tile_rows) * panel_queries);
  }

  Products(const FlashTask& task, float* scratch) : task_(task), weights_(scratch) {}

  void pack(const Panel& panel) { pack_queries(task_, panel.first, panel.query); }

  /// Begins with the keys [first_key, end_key).
  void begin_keys(ptrdiff_t /*first_key*/, ptrdiff_t /*end_key*/) {}

  /// Adds what a panel sees of them to its output.
  void attend(const Panel& panel, const PanelBlock& block) {
    alignas(64) float new_maximum[panel_queries];
    alignas(64) float alpha[panel_queries];
    for (ptrdiff_t lane = 0; lane < panel_queries; ++lane) new_maximum[lane] = panel.maximum[lane];
    score_block(task_, block, panel.query, weights_, new_maximum);
    const bool all_visible = block.hidden_from == block.end[block.num_vectors - 1];
    if (!all_visible) hide_scores(task_, block, weights_, new_maximum);
    weigh_block(block, panel, weights_, new_maximum, alpha);
    if (all_visible || values_finite(task_, block)) {
      add_block(task_, block, weights_, alpha, panel.output);
    } else {
      add_visible(task_, block, weights_, alpha, panel.output);
    }
  }

  /// Ends with them: all outputs are complete.
  void end_keys() {}

  /// Whether all numbers so far were such that the products are exact.
  bool exact() const { return true; }

 private:
  const FlashTask& task_;
  float* weights_;  // [block_keys rounded up to tile_rows][panel_queries], scores first
};

}  // namespace
}  // namespace attnlab

// The phases 2 to 4 of flash_kernel.hpp on the processor's tile unit (AMX), which multiplies matrices of
// bfloat16 and sums in float32, 16 times as fast as vectors multiply float32.
//
// A float32 has 24 significant bits, those of three bfloat16, and is exactly the sum of three such pieces of
// falling size. A product of two is then a sum of nine products of pieces, of which the three smallest are
// left out: at most 2^-23 of it together and mostly far less, where float32 itself rounds at 2^-24.
//
//   a b = a1 b1 + (a1 b2 + a2 b1) + (a1 b3 + a2 b2 + a3 b1)
//
// (Henry, Tang and Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for higher-precision
// computations", 2019.) So the unit does six products for one and is still more than twice as fast. It takes
// subnormal numbers for 0, so numbers must be of moderate size: see moderate. Others are left to the vectors.
//
// A tile is 1 KiB. As a left factor it holds 16 rows of 32 numbers, as a right factor 32 rows of 16 columns,
// in pairs of rows: number (i, j) is at [i / 2][j][i % 2]. A matrix is cut into [16 rows or columns][chunks
// of 32 to sum over][pieces] tiles. The factors of the scores are keys and queries, those of the output are
// transposed values and weights.
//
// Vectors would idle while tiles are multiplied and the other way round, so both are mixed by hand: between
// two instructions for tiles stand some for vectors that concern another panel (see attend).
#pragma once

#include "core/kernels/panel.hpp"

namespace attnlab {
namespace {

using BFloat16 = uint16_t;

constexpr ptrdiff_t tile_side = 16;
constexpr ptrdiff_t chunk = key_step;
constexpr int num_pieces = 3;
constexpr size_t tile_size = 512;
constexpr size_t chunk_size = num_pieces * tile_size;
constexpr size_t row_bytes = 64;

/// Floats that the tiles of `outer` rows or columns take, which sum over `summed` numbers.
inline size_t tiles_size(ptrdiff_t outer, ptrdiff_t summed) {
  return static_cast<size_t>(outer * round_up(summed, chunk)) * num_pieces / 2;
}

// ---- pieces

/// Whether no lane of x is NaN or infinite or else far from 1: 0 and 2^-60 to 2^60 are moderate. Their pieces
/// and the products of those are all normal numbers.
inline bool moderate(Lanes x) {
  const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
  const __m512i least = _mm512_set1_epi32((127 - 60) << 23);
  const __m512i range = _mm512_set1_epi32(120 << 23);
  const __mmask16 outside = _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(magnitude, least), range);
  return _mm512_mask_test_epi32_mask(outside, magnitude, magnitude) == 0;
}

/// How a number becomes a bfloat16. Rounding leaves smaller pieces; cutting is faster.
enum class Piece { rounded, cut };

/// Takes the next piece off x: a bfloat16 is the upper half of a float32, and the lower half of what is
/// returned is undefined. The last piece of a number is exact either way.
template <Piece kind>
inline __m512i take_piece(Lanes& x, bool is_last) {
  __m512i bits = _mm512_castps_si512(x);
  if (is_last) return bits;
  if (kind == Piece::rounded) bits = _mm512_add_epi32(bits, _mm512_set1_epi32(0x8000));
  x = x - _mm512_castsi512_ps(_mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
  return bits;
}

/// A pair of rows of a right factor: 64 bytes of each of the three tiles.
template <Piece kind>
inline void store_pair(Lanes even, Lanes odd, BFloat16* tiles) {
#pragma GCC unroll 3
  for (int piece = 0; piece < num_pieces; ++piece, tiles += tile_size) {
    const __m512i even_bits = take_piece<kind>(even, piece == num_pieces - 1);
    const __m512i odd_bits = take_piece<kind>(odd, piece == num_pieces - 1);
    _mm512_store_si512(tiles,
                       _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(even_bits, 16), odd_bits));
  }
}

/// A row of a left factor: its first 16 numbers, then the others.
inline void store_row(Lanes first, Lanes second, BFloat16* tiles) {
  alignas(64) static constexpr uint16_t upper_halves[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                            23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                            45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i order = _mm512_load_si512(upper_halves);
#pragma GCC unroll 3
  for (int piece = 0; piece < num_pieces; ++piece, tiles += tile_size) {
    const __m512i first_bits = take_piece<Piece::rounded>(first, piece == num_pieces - 1);
    const __m512i second_bits = take_piece<Piece::rounded>(second, piece == num_pieces - 1);
    _mm512_store_si512(tiles, _mm512_permutex2var_epi16(first_bits, order, second_bits));
  }
}

// ---- products

/// Registers 0 to 3 are sums, two by two tiles, 4 and 5 left factors, 6 and 7 right ones.
inline void configure_tiles() {
  struct alignas(64) {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } configuration;
  _tile_loadconfig(&configuration);
}

/// The sums of two rows of left tiles times two columns of right ones, each of `chunks` chunks that follow
/// each other. The small products of all chunks come first, so that the sums are rounded at their full size
/// by the large ones alone. Calls meanwhile.step() after every four products.
template <class Meanwhile>
inline __attribute__((always_inline)) void multiply_tiles(const BFloat16* left, size_t left_distance,
                                                          const BFloat16* right, size_t right_distance,
                                                          ptrdiff_t chunks, Meanwhile& meanwhile) {
  const auto load_left = [&](size_t tile) {
    _tile_loadd(4, left + tile * tile_size, row_bytes);
    _tile_loadd(5, left + left_distance + tile * tile_size, row_bytes);
  };
  const auto load_right = [&](size_t tile) {
    _tile_loadd(6, right + tile * tile_size, row_bytes);
    _tile_loadd(7, right + right_distance + tile * tile_size, row_bytes);
  };
  const auto add_products = [&] {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    meanwhile.step();
  };
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const size_t end = static_cast<size_t>(chunks) * num_pieces;
  for (size_t tile = 0; tile < end; tile += num_pieces) {
    load_left(tile + 2);
    load_right(tile);
    add_products();
    load_left(tile + 1);
    add_products();
    load_right(tile + 1);
    add_products();
    load_left(tile);
    add_products();
    load_right(tile + 2);
    add_products();
  }
  for (size_t tile = 0; tile < end; tile += num_pieces) {
    load_left(tile);
    load_right(tile);
    add_products();
  }
}

/// Stores the sums: tile_rows rows of a panel.
inline void store_sums(float* sums) {
  constexpr size_t stride = panel_queries * sizeof(float);
  _tile_stored(0, sums, stride);
  _tile_stored(1, sums + tile_side, stride);
  _tile_stored(2, sums + tile_side * panel_queries, stride);
  _tile_stored(3, sums + tile_side * panel_queries + tile_side, stride);
}

// ---- what vectors do meanwhile, a step at a time

struct Nothing {
  void step() const {}
};

/// The scores of a panel and a block, [rows][panel_queries].
struct Scores {
  Panel panel;
  PanelBlock block;
  ptrdiff_t rows;  // a multiple of tile_rows
  float* scores;
  alignas(64) float maximum[panel_queries];  // of these and all before
};

/// Raises the maxima to the scores of the keys that all queries see.
class RaiseMaximum {
 public:
  explicit RaiseMaximum(Scores& scores) : scores_(scores) {
    for (int v = 0; v < panel_vectors; ++v) largest_[v] = load(scores.panel.maximum + v * lane_count);
  }
  void step() {
    for (ptrdiff_t end = smaller_of(row_ + rows_a_step, scores_.block.hidden_from); row_ < end; ++row_) {
      for (int v = 0; v < panel_vectors; ++v) {
        largest_[v] = larger(largest_[v], load(scores_.scores + row_ * panel_queries + v * lane_count));
      }
    }
  }
  void finish() {
    while (row_ < scores_.block.hidden_from) step();
    for (int v = 0; v < panel_vectors; ++v) store(scores_.maximum + v * lane_count, largest_[v]);
  }

 private:
  static constexpr ptrdiff_t rows_a_step = 4;
  Scores& scores_;
  ptrdiff_t row_ = 0;
  Lanes largest_[panel_vectors];
};

/// Phase 3: turns scores into weights, the pieces of a right factor, and sums them.
class Weigh {
 public:
  /// In at most `steps` steps, if they suffice; `tiles` has `chunks` chunks a column of tiles.
  Weigh(const Scores& scores, ptrdiff_t steps, BFloat16* tiles, ptrdiff_t chunks)
      : scores_(scores), tiles_(tiles), column_size_(static_cast<size_t>(chunks) * chunk_size) {
    rows_a_step_ = round_up((scores.rows + steps - 1) / steps, 2);
    for (int v = 0; v < panel_vectors; ++v) maximum_[v] = load(scores.maximum + v * lane_count);
  }
  void step() {
    for (const ptrdiff_t end = smaller_of(row_ + rows_a_step_, scores_.rows); row_ < end; row_ += 2)
      weigh_pair();
  }
  /// Brings the panel's maximum and sum up to date; alpha is what shrinks its output.
  void finish(float* alpha) {
    for (; row_ < scores_.rows; row_ += 2) weigh_pair();
    for (int v = 0; v < panel_vectors; ++v) {
      store(alpha + v * lane_count, update_panel(scores_.panel, v, maximum_[v], sum_[v]));
    }
  }

 private:
  void weigh_pair() {
    const float* scores = scores_.scores + row_ * panel_queries;
    BFloat16* tiles = tiles_ + static_cast<size_t>(row_ / chunk) * chunk_size + row_ % chunk * tile_side;
#pragma GCC unroll 2
    for (int v = 0; v < panel_vectors; ++v, scores += lane_count, tiles += column_size_) {
      const Lanes even = exp2_of_nonpositive(load(scores) - maximum_[v]);
      const Lanes odd = exp2_of_nonpositive(load(scores + panel_queries) - maximum_[v]);
      sum_[v] = sum_[v] + even;
      sum_[v] = sum_[v] + odd;
      store_pair<Piece::cut>(even, odd, tiles);
    }
  }

  const Scores& scores_;
  BFloat16* tiles_;
  size_t column_size_;
  ptrdiff_t rows_a_step_ = 0;
  ptrdiff_t row_ = 0;
  Lanes maximum_[panel_vectors];
  Lanes sum_[panel_vectors] = {};
};

/// The end of phase 4: output = output * alpha + sums for tile_rows rows, or nothing where `sums` is null;
/// then the steps of another.
template <class Then>
class AddSums {
 public:
  AddSums(const float* sums, const float* alpha, float* output, Then& then)
      : sums_(sums), output_(output), row_(sums == nullptr ? tile_rows : 0), then_(then) {
    for (int v = 0; v < panel_vectors; ++v) alpha_[v] = load(alpha + v * lane_count);
  }
  void step() {
    if (row_ < tile_rows) {
      add_row();
      add_row();
    } else {
      then_.step();
    }
  }
  void finish() {
    while (row_ < tile_rows) add_row();
  }

 private:
  void add_row() {
#pragma GCC unroll 2
    for (int v = 0; v < panel_vectors; ++v) {
      float* place = output_ + row_ * panel_queries + v * lane_count;
      store(place, multiply_add(load(place), alpha_[v], load(sums_ + row_ * panel_queries + v * lane_count)));
    }
    ++row_;
  }

  const float* sums_;
  float* output_;
  int row_;
  Then& then_;
  Lanes alpha_[panel_vectors];
};

// ---- the products

/// The products of one task, a panel and a block of keys at a time; the unit's registers are this thread's.
class Products {
 public:
  /// Floats that a panel's packed queries take, and that Products itself needs.
  static size_t query_size(ptrdiff_t head_dim) { return tiles_size(panel_queries, head_dim); }
  static size_t scratch_size(ptrdiff_t block_keys, ptrdiff_t head_dim, ptrdiff_t value_dim) {
    return static_cast<size_t>((2 * round_up(block_keys, chunk) + round_up(head_dim, chunk)) *
                               panel_queries) +
           tiles_size(round_up(block_keys, tile_rows), head_dim) +
           tiles_size(round_up(value_dim, tile_rows), block_keys) + tiles_size(panel_queries, block_keys);
  }

  Products(const FlashTask& task, float* scratch)
      : task_(task),
        head_chunks_(round_up(task.head_dim, chunk) / chunk),
        key_chunks_(round_up(task.block_keys, chunk) / chunk) {
    const ptrdiff_t scores_size = key_chunks_ * chunk * panel_queries;
    scores_[0].scores = scratch;
    scores_[1].scores = scratch + scores_size;
    packed_ = scratch + 2 * scores_size;
    float* tiles = packed_ + head_chunks_ * chunk * panel_queries;
    key_ = reinterpret_cast<BFloat16*>(tiles);
    tiles += tiles_size(key_chunks_ * chunk, task.head_dim);
    value_ = reinterpret_cast<BFloat16*>(tiles);
    tiles += tiles_size(round_up(task.value_dim, tile_rows), task.block_keys);
    weights_ = reinterpret_cast<BFloat16*>(tiles);
    configure_tiles();
  }
  ~Products() { _tile_release(); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void pack(const Panel& panel) {
    pack_queries(task_, panel.first, packed_);
    const ptrdiff_t rows = head_chunks_ * chunk;
    for (ptrdiff_t i = task_.head_dim * panel_queries; i < rows * panel_queries; ++i) packed_[i] = 0.0f;
    for (int v = 0; v < panel_vectors; ++v) {
      const float* from = packed_ + v * lane_count;
      BFloat16* tiles = reinterpret_cast<BFloat16*>(panel.query) + static_cast<size_t>(v) * head_size();
      for (ptrdiff_t row = 0; row < rows; row += 2, from += 2 * panel_queries) {
        const Lanes even = checked(load(from));
        const Lanes odd = checked(load(from + panel_queries));
        store_pair<Piece::rounded>(
            even, odd, tiles + static_cast<size_t>(row / chunk) * chunk_size + row % chunk * tile_side);
      }
    }
  }

  /// Cuts the keys and values of [first_key, end_key) into tiles; the numbers past the last are 0.
  void begin_keys(ptrdiff_t first_key, ptrdiff_t end_key) {
    first_key_ = first_key;
    const float* key = task_.key + static_cast<size_t>(first_key) * task_.key_stride;
    const float* value = task_.value + static_cast<size_t>(first_key) * task_.value_stride;
    const ptrdiff_t count = end_key - first_key;
    for (ptrdiff_t row = 0; row < round_up(count, tile_rows); ++row) {
      BFloat16* tiles = key_ + static_cast<size_t>(row / tile_side) * head_size() + row % tile_side * chunk;
      for (ptrdiff_t column = 0; column < task_.head_dim; column += chunk, tiles += chunk_size) {
        const Lanes first = part(key, task_.key_stride, row, count, column, task_.head_dim);
        const Lanes second = part(key, task_.key_stride, row, count, column + tile_side, task_.head_dim);
        store_row(first, second, tiles);
      }
    }
    for (ptrdiff_t column = 0; column < round_up(task_.value_dim, tile_rows); column += tile_side) {
      BFloat16* tiles = value_ + static_cast<size_t>(column / tile_side) * key_size();
      for (ptrdiff_t row = 0; row < count; row += chunk, tiles += chunk_size) {
        Lanes first[tile_side];
        Lanes second[tile_side];
#pragma GCC unroll 16
        for (ptrdiff_t i = 0; i < tile_side; ++i) {
          first[i] = part(value, task_.value_stride, row + i, count, column, task_.value_dim);
        }
        transpose(first);
#pragma GCC unroll 16
        for (ptrdiff_t i = 0; i < tile_side; ++i) {
          second[i] = part(value, task_.value_stride, row + tile_side + i, count, column, task_.value_dim);
        }
        transpose(second);
#pragma GCC unroll 16
        for (ptrdiff_t i = 0; i < tile_side; ++i) store_row(first[i], second[i], tiles + i * chunk);
      }
    }
  }

  /// Adds what a panel sees of the keys to its output, as far as that is done at once: its scores, while the
  /// weights of the panel before are computed, then that one's output, while the maxima of these scores are
  /// taken.
  void attend(const Panel& panel, const PanelBlock& block) {
    Scores& now = scores_[turn_];
    now.panel = panel;
    now.block = block;
    now.rows = round_up(block.end[block.num_vectors - 1], tile_rows);
    RaiseMaximum raise_maximum(now);
    if (waiting_ != nullptr) {
      alignas(64) float alpha[panel_queries];
      Weigh weigh(*waiting_, now.rows / tile_rows * head_chunks_ * 6, weights_, key_chunks_);
      score(now, weigh);
      weigh.finish(alpha);
      add(*waiting_, alpha, raise_maximum);
    } else {
      Nothing nothing;
      score(now, nothing);
    }
    raise_maximum.finish();
    hide_unseen(now);
    waiting_ = &now;
    turn_ = 1 - turn_;
  }

  /// Completes the panel that waits.
  void end_keys() {
    if (waiting_ == nullptr) return;
    alignas(64) float alpha[panel_queries];
    Weigh weigh(*waiting_, 1, weights_, key_chunks_);
    weigh.finish(alpha);
    Nothing nothing;
    add(*waiting_, alpha, nothing);
    waiting_ = nullptr;
  }

  /// Whether all numbers so far were moderate.
  bool exact() const { return exact_; }

 private:
  /// BFloat16s from one row of tiles to the next, where they sum over the width or over keys.
  size_t head_size() const { return static_cast<size_t>(head_chunks_) * chunk_size; }
  size_t key_size() const { return static_cast<size_t>(key_chunks_) * chunk_size; }

  Lanes checked(Lanes x) {
    exact_ = exact_ && moderate(x);
    return x;
  }

  /// 16 numbers of a row of `rows`, from `column` on; 0 past the last row or column.
  Lanes part(const float* rows, size_t stride, ptrdiff_t row, ptrdiff_t num_rows, ptrdiff_t column,
             ptrdiff_t num_columns) {
    if (row >= num_rows || column >= num_columns) return Lanes{};
    const auto present = static_cast<__mmask16>((1u << smaller_of(num_columns - column, tile_side)) - 1);
    return checked(_mm512_maskz_loadu_ps(present, rows + static_cast<size_t>(row) * stride + column));
  }

  /// Phase 2.
  template <class Meanwhile>
  void score(const Scores& to, Meanwhile& meanwhile) const {
    const BFloat16* key =
        key_ + static_cast<size_t>((to.block.first_key - first_key_) / tile_side) * head_size();
    const auto* query = reinterpret_cast<const BFloat16*>(to.panel.query);
    for (ptrdiff_t row = 0; row < to.rows; row += tile_rows, key += 2 * head_size()) {
      multiply_tiles(key, head_size(), query, head_size(), head_chunks_, meanwhile);
      store_sums(to.scores + row * panel_queries);
    }
  }

  /// Hides the pairs that may not attend, those past the last key of a vector included.
  void hide_unseen(Scores& scores) const {
    const PanelBlock& block = scores.block;
    for (int v = 0; v < panel_vectors; ++v) {
      for (ptrdiff_t row = block.end[v]; row < scores.rows; ++row) {
        store(scores.scores + row * panel_queries + v * lane_count, broadcast(hidden_score));
      }
    }
    if (block.hidden_from < block.end[block.num_vectors - 1])
      hide_scores(task_, block, scores.scores, scores.maximum);
  }

  /// Phase 4.
  template <class Meanwhile>
  void add(const Scores& of, const float* alpha, Meanwhile& meanwhile) const {
    const BFloat16* value =
        value_ + static_cast<size_t>((of.block.first_key - first_key_) / chunk) * chunk_size;
    alignas(64) float memory[2][tile_rows * panel_queries];
    const float* sums = nullptr;  // of the rows before
    float* output = of.panel.output;
    for (ptrdiff_t column = 0; column < task_.value_dim; column += tile_rows, value += 2 * key_size()) {
      AddSums add_sums(sums, alpha, output, meanwhile);
      multiply_tiles(value, key_size(), weights_, key_size(), of.rows / chunk, add_sums);
      add_sums.finish();
      if (sums != nullptr) output += tile_rows * panel_queries;
      float* free = sums == memory[0] ? memory[1] : memory[0];
      store_sums(free);
      sums = free;
    }
    AddSums(sums, alpha, output, meanwhile).finish();
  }

  const FlashTask& task_;
  ptrdiff_t head_chunks_;
  ptrdiff_t key_chunks_;
  float* packed_;      // [head_dim rounded up][panel_queries]
  BFloat16* key_;      // left factor of the scores
  BFloat16* value_;    // left factor of the output
  BFloat16* weights_;  // right factor of the output
  Scores scores_[2];
  int turn_ = 0;
  const Scores* waiting_ = nullptr;  // its weights are still to be computed
  ptrdiff_t first_key_ = 0;
  bool exact_ = true;
};

}  // namespace
}  // namespace attnlab

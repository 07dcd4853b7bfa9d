// Attention of one new token to a cache of keys and values, for the query heads of one kv head. Included once
// for each instruction set.
//
// Every key and value is read once and used by all query heads of the group, so the memory sets the pace:
// four rows of keys are read at a time, and while one of the two arrays is worked on the other is asked for.
// Numbers lie in the lanes along the width of a head. A block of keys goes through the same phases as in
// flash_kernel.hpp: scores, weights relative to the running maximum, weighted sum of values.
#pragma once

#include "core/kernels/kernel_table.hpp"
#include "core/kernels/lanes.hpp"

namespace attnlab {
namespace {

constexpr ptrdiff_t keys_at_a_time = 4;
// Query heads that share a row while it is in registers, and vectors of a row of values at a time.
constexpr int heads_at_a_time = lane_count == 16 ? 4 : 2;
constexpr ptrdiff_t columns_at_a_time = 4;
// Keys and values of a block fill a third of the first-level cache each at most.
constexpr ptrdiff_t longest_block = 64;
constexpr ptrdiff_t block_floats = 4096;

inline float to_float(float number) { return number; }
inline float to_float(int8_t number) { return static_cast<float>(number); }
inline float to_float(uint16_t half) {
  uint16_t halves[lane_count] = {half};
  float numbers[lane_count];
  store(numbers, load(halves));
  return numbers[0];
}

/// The rows of a block of keys, wherever their pages are.
template <class Element>
struct DecodeBlock {
  const Element* key[longest_block];
  const Element* value[longest_block];
  float key_scale[longest_block];
  float value_scale[longest_block];
  ptrdiff_t count;
};

template <class Element>
inline void find_rows(const DecodeTask& task, ptrdiff_t first_key, ptrdiff_t count,
                      DecodeBlock<Element>& block) {
  const Element* keys = static_cast<const Element*>(task.key);
  const Element* values = static_cast<const Element*>(task.value);
  block.count = count;
  for (ptrdiff_t i = 0; i < count; ++i) {
    size_t row = static_cast<size_t>(first_key + i);
    size_t page = 0;
    if (task.block_table != nullptr) {
      page = task.block_table[row / task.page_size];
      row %= task.page_size;
    }
    const size_t offset = page * task.page_stride + row * task.token_stride;
    block.key[i] = keys + offset;
    block.value[i] = values + offset;
    if constexpr (sizeof(Element) == 1) {
      block.key_scale[i] = task.key_scale[page * task.scale_page_stride + row];
      block.value_scale[i] = task.value_scale[page * task.scale_page_stride + row];
    }
  }
}

template <class Element>
inline void prefetch_row(const Element* row, ptrdiff_t width) {
  constexpr ptrdiff_t line = 64 / sizeof(Element);
  for (ptrdiff_t i = 0; i < width; i += line) __builtin_prefetch(row + i, 0, 2);
}

/// Scores of four keys for `heads` query heads: scores[head][key].
template <int heads, class Element>
inline void score_keys(const DecodeTask& task, const Element* const* keys, const float* query,
                       float* scores) {
  Lanes sum[heads][keys_at_a_time] = {};
  ptrdiff_t column = 0;
  for (; column + lane_count <= task.head_dim; column += lane_count) {
    Lanes key[keys_at_a_time];
#pragma GCC unroll 4
    for (int k = 0; k < keys_at_a_time; ++k) key[k] = load(keys[k] + column);
#pragma GCC unroll 4
    for (int head = 0; head < heads; ++head) {
      const Lanes numbers = load(query + head * task.head_dim + column);
#pragma GCC unroll 4
      for (int k = 0; k < keys_at_a_time; ++k) sum[head][k] = multiply_add(key[k], numbers, sum[head][k]);
    }
  }
#pragma GCC unroll 4
  for (int head = 0; head < heads; ++head) {
    float* const head_scores = scores + head * longest_block;
    _mm_storeu_ps(head_scores, sums_of_lanes(sum[head][0], sum[head][1], sum[head][2], sum[head][3]));
    for (ptrdiff_t rest = column; rest < task.head_dim; ++rest) {
      for (int k = 0; k < keys_at_a_time; ++k) {
        head_scores[k] += query[head * task.head_dim + rest] * to_float(keys[k][rest]);
      }
    }
  }
}

/// All scores of a block for `heads` query heads; the values of the block are asked for meanwhile. Past the
/// last key it is repeated.
template <int heads, class Element>
inline void score_block(const DecodeTask& task, const DecodeBlock<Element>& block, const float* query,
                        float* scores, bool first_heads) {
  for (ptrdiff_t first = 0; first < block.count; first += keys_at_a_time) {
    const Element* keys[keys_at_a_time];
    for (ptrdiff_t k = 0; k < keys_at_a_time; ++k) {
      const ptrdiff_t key = first + k < block.count ? first + k : block.count - 1;
      keys[k] = block.key[key];
      if (first_heads) prefetch_row(block.value[key], task.value_dim);
    }
    score_keys<heads>(task, keys, query, scores + first);
  }
}

/// Weights of one head in place of its scores, times the scale of each value; the head's output shrinks to
/// the new maximum.
template <class Element>
inline void weigh(const DecodeTask& task, const DecodeBlock<Element>& block, float* scores, ptrdiff_t head) {
  constexpr bool scaled = sizeof(Element) == 1;
  if constexpr (scaled) {
    for (ptrdiff_t key = 0; key < block.count; ++key) scores[key] *= block.key_scale[key];
  }
  constexpr float hidden = -2e30f;
  const ptrdiff_t padded = (block.count + lane_count - 1) / lane_count * lane_count;
  for (ptrdiff_t key = block.count; key < padded; ++key) scores[key] = hidden;
  Lanes largest = load(scores);
  for (ptrdiff_t key = lane_count; key < padded; key += lane_count) {
    largest = larger(largest, load(scores + key));
  }
  const float block_largest = largest_of_lanes(largest);
  const float old_maximum = task.maximum[head];
  const float maximum = block_largest > old_maximum ? block_largest : old_maximum;
  const Lanes reference = broadcast(maximum);
  Lanes sum{};
  for (ptrdiff_t key = 0; key < padded; key += lane_count) {
    const Lanes weight = exp2_of_nonpositive(load(scores + key) - reference);
    sum = sum + weight;
    store(scores + key, weight);
  }
  if constexpr (scaled) {
    for (ptrdiff_t key = 0; key < block.count; ++key) scores[key] *= block.value_scale[key];
  }
  float shrink[lane_count];
  store(shrink, exp2_of_nonpositive(broadcast(old_maximum) - reference));
  task.maximum[head] = maximum;
  task.sum[head] = task.sum[head] * shrink[0] + sum_of_lanes(sum);
  if (shrink[0] != 1.0f) {
    float* output = task.output + head * task.value_dim;
    for (ptrdiff_t column = 0; column < task.value_dim; ++column) output[column] *= shrink[0];
  }
}

/// output[head][column ...] += sum over keys of weights[head][key] * value[key][column ...], `vectors` at a
/// time.
template <int heads, int vectors, class Element>
inline void add_columns(const DecodeTask& task, const DecodeBlock<Element>& block,
                        const DecodeBlock<Element>& next, const float* weights, float* output,
                        ptrdiff_t column, bool first_heads) {
  Lanes sum[heads][vectors];
#pragma GCC unroll 4
  for (int head = 0; head < heads; ++head) {
#pragma GCC unroll 4
    for (ptrdiff_t v = 0; v < vectors; ++v) {
      sum[head][v] = load(output + head * task.value_dim + column + v * lane_count);
    }
  }
  for (ptrdiff_t key = 0; key < block.count; ++key) {
    const Element* row = block.value[key] + column;
    if (first_heads && column == 0 && key < next.count) prefetch_row(next.key[key], task.head_dim);
    Lanes value[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) value[v] = load(row + v * lane_count);
#pragma GCC unroll 4
    for (int head = 0; head < heads; ++head) {
      const Lanes weight = broadcast(weights[head * longest_block + key]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[head][v] = multiply_add(weight, value[v], sum[head][v]);
    }
  }
#pragma GCC unroll 4
  for (int head = 0; head < heads; ++head) {
#pragma GCC unroll 4
    for (ptrdiff_t v = 0; v < vectors; ++v) {
      store(output + head * task.value_dim + column + v * lane_count, sum[head][v]);
    }
  }
}

template <int heads, class Element>
inline void add_block(const DecodeTask& task, const DecodeBlock<Element>& block,
                      const DecodeBlock<Element>& next, const float* weights, float* output,
                      bool first_heads) {
  constexpr ptrdiff_t wide = columns_at_a_time * lane_count;
  ptrdiff_t column = 0;
  for (; column + wide <= task.value_dim; column += wide) {
    add_columns<heads, columns_at_a_time>(task, block, next, weights, output, column, first_heads);
  }
  for (; column + lane_count <= task.value_dim; column += lane_count) {
    add_columns<heads, 1>(task, block, next, weights, output, column, first_heads);
  }
  for (; column < task.value_dim; ++column) {
    for (int head = 0; head < heads; ++head) {
      float& sum = output[head * task.value_dim + column];
      for (ptrdiff_t key = 0; key < block.count; ++key) {
        sum += weights[head * longest_block + key] * to_float(block.value[key][column]);
      }
    }
  }
}

/// All phases of a block for the query heads [first, first + heads) of the group.
template <int heads, class Element>
inline void decode_heads(const DecodeTask& task, const DecodeBlock<Element>& block,
                         const DecodeBlock<Element>& next, ptrdiff_t first) {
  alignas(64) float weights[heads * longest_block];
  score_block<heads>(task, block, task.query + first * task.head_dim, weights, first == 0);
  for (int head = 0; head < heads; ++head) weigh(task, block, weights + head * longest_block, first + head);
  add_block<heads>(task, block, next, weights, task.output + first * task.value_dim, first == 0);
}

template <class Element>
void decode(const DecodeTask& task) {
  for (ptrdiff_t head = 0; head < task.group; ++head) {
    task.maximum[head] = -1e30f;
    task.sum[head] = 0.0f;
  }
  for (ptrdiff_t i = 0; i < task.group * task.value_dim; ++i) task.output[i] = 0.0f;

  // A multiple of keys_at_a_time that depends on the widths alone, as the bits depend on it.
  const ptrdiff_t widest = task.head_dim > task.value_dim ? task.head_dim : task.value_dim;
  ptrdiff_t block_keys = longest_block;
  while (block_keys > 2 * keys_at_a_time && block_keys * widest > block_floats) block_keys /= 2;

  DecodeBlock<Element> blocks[2];
  const auto length_from = [&](ptrdiff_t key) {
    const ptrdiff_t rest = task.end_key - key;
    return rest < block_keys ? (rest > 0 ? rest : 0) : block_keys;
  };
  find_rows(task, task.first_key, length_from(task.first_key), blocks[0]);
  int current = 0;
  for (ptrdiff_t key = task.first_key; key < task.end_key; key += block_keys) {
    const DecodeBlock<Element>& block = blocks[current];
    DecodeBlock<Element>& next = blocks[1 - current];
    find_rows(task, key + block_keys, length_from(key + block_keys), next);
    ptrdiff_t head = 0;
    for (; head + heads_at_a_time <= task.group; head += heads_at_a_time) {
      decode_heads<heads_at_a_time>(task, block, next, head);
    }
    for (; head < task.group; ++head) decode_heads<1>(task, block, next, head);
    current = 1 - current;
  }
}

}  // namespace
}  // namespace attnlab

// Softmax of one row. Included once for each instruction set.
#pragma once

#include <math.h>

#include "core/kernels/lanes.hpp"

namespace attnlab {
namespace {

// Vectors in flight: one accumulator would wait for itself.
constexpr size_t strands = 4;
constexpr size_t stretch = strands * lane_count;

/// The largest of scale * scores; of the others where some are NaN.
inline float largest_scaled(const float* scores, size_t count, float scale) {
  const Lanes factor = broadcast(scale);
  Lanes largest[strands];
  for (Lanes& strand : largest) strand = broadcast(-HUGE_VALF);
  size_t i = 0;
  for (; i + stretch <= count; i += stretch) {
#pragma GCC unroll 4
    for (size_t s = 0; s < strands; ++s) {
      largest[s] = larger(load(scores + i + s * lane_count) * factor, largest[s]);
    }
  }
  for (size_t s = 1; s < strands; ++s) largest[0] = larger(largest[s], largest[0]);
  float row_largest = largest_of_lanes(largest[0]);
  for (; i < count; ++i) row_largest = scores[i] * scale > row_largest ? scores[i] * scale : row_largest;
  return row_largest;
}

/// 2^(scale * score - largest) for each score; returns their sum.
inline float exponentials(const float* scores, float* weights, size_t count, float scale, float largest) {
  const Lanes factor = broadcast(scale);
  const Lanes reference = broadcast(largest);
  Lanes sum[strands] = {};
  size_t i = 0;
  for (; i + stretch <= count; i += stretch) {
#pragma GCC unroll 4
    for (size_t s = 0; s < strands; ++s) {
      const Lanes weight = exp2_of_nonpositive(load(scores + i + s * lane_count) * factor - reference);
      store(weights + i + s * lane_count, weight);
      sum[s] = sum[s] + weight;
    }
  }
  float total = sum_of_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (; i < count; i += lane_count) {
    const size_t rest = count - i < lane_count ? count - i : lane_count;
    float numbers[lane_count] = {};
    for (size_t lane = 0; lane < rest; ++lane) numbers[lane] = scores[i + lane];
    store(numbers, exp2_of_nonpositive(load(numbers) * factor - reference));
    for (size_t lane = 0; lane < rest; ++lane) total += weights[i + lane] = numbers[lane];
  }
  return total;
}

inline void multiply(const float* from, float* to, size_t count, float number) {
  const Lanes factor = broadcast(number);
  size_t i = 0;
  for (; i + lane_count <= count; i += lane_count) store(to + i, load(from + i) * factor);
  for (; i < count; ++i) to[i] = from[i] * number;
}

inline void multiply_past_cache(const float* from, float* to, size_t count, float number) {
  const Lanes factor = broadcast(number);
  size_t i = 0;
  for (; i < count && reinterpret_cast<uintptr_t>(to + i) % sizeof(Lanes) != 0; ++i) to[i] = from[i] * number;
  for (; i + lane_count <= count; i += lane_count) store_past_cache(to + i, load(from + i) * factor);
  for (; i < count; ++i) to[i] = from[i] * number;
}

void softmax_row(const float* scores, float* weights, size_t count, float scale, float* buffer) {
  const float largest = largest_scaled(scores, count, scale);
  // Nothing is visible, and -inf - -inf would be NaN; a NaN among the others is not lost.
  const float reference = largest == -HUGE_VALF ? 0.0f : largest;
  float* const place = buffer != nullptr ? buffer : weights;
  const float sum = exponentials(scores, place, count, scale, reference);
  const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
  if (buffer != nullptr) {
    multiply_past_cache(place, weights, count, factor);
  } else {
    multiply(place, weights, count, factor);
  }
}

}  // namespace
}  // namespace attnlab

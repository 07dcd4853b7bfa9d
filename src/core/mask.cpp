#include "core/mask.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/positions.hpp"

namespace attnlab {
namespace {

bool within_reach(double query, double key, const Reach& reach) {
  const double behind = query - key;  // positive: the key comes before the query
  if (reach.causal && behind < 0) return false;
  if (reach.left && behind > *reach.left) return false;
  if (reach.right && -behind > *reach.right) return false;
  if (reach.stride) {
    const double distance = std::abs(behind);
    return distance < static_cast<double>(reach.local) ||
           std::fmod(distance, static_cast<double>(*reach.stride)) == 0.0;
  }
  return true;
}

// A byte a pair, not yet filled in.
Mask mask_of(std::size_t num_queries, std::size_t num_keys) {
  require_memory({num_queries, num_keys / sizeof(double)}, "a mask, eight pairs a number,");
  return Mask::from_shape({num_queries, num_keys});
}

}  // namespace

Mask full_mask(std::size_t num_queries, std::size_t num_keys, bool may_attend) {
  Mask mask = mask_of(num_queries, num_keys);
  mask.fill(may_attend);
  return mask;
}

std::vector<double> aligned_positions(std::size_t num_queries, std::size_t num_keys, CausalAlign align) {
  std::vector<double> positions = counted_positions(num_queries);
  if (align == CausalAlign::bottom_right) {
    const double shift = static_cast<double>(num_keys) - static_cast<double>(num_queries);
    for (double& position : positions) position += shift;
  }
  return positions;
}

Mask causal_mask(std::size_t num_queries, std::size_t num_keys, CausalAlign align) {
  Reach reach;
  reach.causal = true;
  return reach_mask(aligned_positions(num_queries, num_keys, align), counted_positions(num_keys), reach);
}

Mask reach_mask(const std::vector<double>& query_positions, const std::vector<double>& key_positions,
                const Reach& reach) {
  if (reach.stride == std::size_t{0}) {
    throw Error(ErrorKind::data, "a stride of 0 selects no distance: give at least 1");
  }
  Mask mask = mask_of(query_positions.size(), key_positions.size());
  for (std::size_t i = 0; i < query_positions.size(); ++i) {
    for (std::size_t j = 0; j < key_positions.size(); ++j) {
      mask(i, j) = within_reach(query_positions[i], key_positions[j], reach);
    }
  }
  return mask;
}

Mask padding_mask(std::size_t num_queries, const std::vector<bool>& is_real) {
  Mask mask = mask_of(num_queries, is_real.size());
  for (std::size_t i = 0; i < num_queries; ++i) {
    for (std::size_t j = 0; j < is_real.size(); ++j) mask(i, j) = is_real[j];
  }
  return mask;
}

Mask both(const Mask& a, const Mask& b) {
  if (a.shape() != b.shape()) {
    throw Error(ErrorKind::data,
                fmt::format("masks of shapes [{}, {}] and [{}, {}] cannot be joined: give equal shapes",
                            a.shape(0), a.shape(1), b.shape(0), b.shape(1)));
  }
  Mask joined = a;
  for (std::size_t i = 0; i < joined.size(); ++i) joined.data()[i] = a.data()[i] && b.data()[i];
  return joined;
}

Mask inverted(const Mask& a) {
  Mask turned = a;
  for (bool& value : turned) value = !value;
  return turned;
}

}  // namespace attnlab

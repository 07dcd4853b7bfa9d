// Who may attend to whom. A mask is [queries, keys]; true = may attend.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/tensor.hpp"

namespace attnlab {

using Mask = xt::xtensor<bool, 2>;

/// Where the causal diagonal lies when there are more keys than queries or fewer.
enum class CausalAlign {
  bottom_right,  ///< query i sits at position i + keys - queries, as after a key-value cache
                 ///< (FlashAttention 2.1 on)
  top_left,      ///< query i sits at position i (PyTorch's is_causal)
};

/// A mask of one value everywhere.
Mask full_mask(std::size_t num_queries, std::size_t num_keys, bool may_attend = true);

/// Query positions under an alignment, [queries]; keys sit at 0, 1, 2 and so on. Positions can be negative.
std::vector<double> aligned_positions(std::size_t num_queries, std::size_t num_keys, CausalAlign align);

/// Key j is visible to query i when its position is not greater than the query's.
Mask causal_mask(std::size_t num_queries, std::size_t num_keys,
                 CausalAlign align = CausalAlign::bottom_right);

/// What one query may see by position alone; absent bounds do not hide anything.
struct Reach {
  bool causal = false;          ///< no key after the query
  std::optional<double> left;   ///< at most this many positions before the query, inclusive
  std::optional<double> right;  ///< at most this many positions after the query, inclusive
  std::optional<std::size_t>
      stride;             ///< with `local`: only keys nearer than local, or a multiple of stride away
  std::size_t local = 1;  ///< keys at distances 0 .. local - 1 are visible whatever the stride
};

/// The mask of a reach over given positions. Throws Error(data) for a stride of zero.
/// Source of the strided pattern: Child, Gray, Radford and Sutskever 2019, section 4.2.
Mask reach_mask(const std::vector<double>& query_positions, const std::vector<double>& key_positions,
                const Reach& reach);

/// Every query sees exactly the keys that are real tokens.
Mask padding_mask(std::size_t num_queries, const std::vector<bool>& is_real);

/// Where both allow it. Throws Error(data) when the shapes differ.
Mask both(const Mask& a, const Mask& b);

/// Where `a` does not.
Mask inverted(const Mask& a);

}  // namespace attnlab

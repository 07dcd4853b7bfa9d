// A rotary embedding about to be used, alone or inside an attention, so that mistakes can change it.
#pragma once

#include <functional>
#include <vector>

#include "operations/attention_parameters.hpp"
#include "operations/mistake.hpp"

namespace attnlab {

struct RopeUse {
  RotaryParams params;
  std::size_t width = 0;  ///< of the vectors
  Rope rope;
  std::vector<double> query_positions;
  std::vector<double> key_positions;  ///< the only ones where one array is rotated
  double query_factor = 1;            ///< multiplies rotated queries
  double key_factor = 1;
  /// Turns rows by their positions; `rotated` unless a mistake does it otherwise.
  Matrix (*turn)(const Matrix& x, const std::vector<double>& positions, const Rope& rope) = rotated;

  /// The rope of changed parameters; always true.
  bool remake();
};

using RopeChange = std::function<bool(RopeUse&)>;

/// The results of an operation that is a rotary embedding, with the faults `trial.rope`. Throws Error(data)
/// where one of them cannot be made.
Results run_rope(const Trial& trial);

}  // namespace attnlab

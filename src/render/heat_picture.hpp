// A matrix as coloured cells, for the terminal.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.hpp"
#include "render/canvas.hpp"

namespace attnlab {

struct HeatPicture {
  Matrix values;
  std::vector<bool> hidden = {};  ///< row by row, true where a mask hides the entry; empty when none is
  std::vector<std::string> row_labels = {};     ///< indices when empty
  std::vector<std::string> column_labels = {};  ///< the same
  std::string row_axis = {};                    ///< "query"
  std::string column_axis = {};                 ///< "key"
  std::optional<std::pair<double, double>> domain =
      {};  ///< of the colours, finite; the data's range when absent
};

/// The picture with labels and a scale. Small matrices show their numbers on the colours; large ones take
/// half a cell for an entry, and one cell for the mean of a square of entries where even that passes the
/// width. Shades instead of colours where the style has none. Hidden entries and values that are not a number
/// differ from every colour and shade. Throws Error(fault) when hidden or labels do not fit the matrix.
std::string draw_heat_map(const HeatPicture& picture, const TerminalStyle& style);

}  // namespace attnlab

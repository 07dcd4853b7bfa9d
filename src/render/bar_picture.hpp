// Horizontal bars, beside each other or stacked, for the terminal.
#pragma once

#include <string>
#include <vector>

#include "render/canvas.hpp"

namespace attnlab {

/// One bar for each label of the picture.
struct BarSeries {
  std::string name;
  std::vector<double> values;
};

struct BarPicture {
  std::vector<std::string> labels;
  std::vector<BarSeries> series;
  std::string value_axis = {};  ///< what the bars measure, with the unit
  bool stacked = false;         ///< the series of a label end to end; values below zero do not stack
  bool logarithmic = false;     ///< lengths by decades; not for stacks
};

/// The picture, at most 100 cells wide: one line for each bar with its value behind it, from zero or on a
/// logarithmic scale from the power of ten below the least value. Bars end on an eighth of a cell, or are
/// made of '#' where there is no Unicode. Values that have no bar say so in words. Throws Error(fault) when a
/// series does not have as many values as there are labels, or a stack is logarithmic.
std::string draw_bars(const BarPicture& picture, const TerminalStyle& style);

}  // namespace attnlab

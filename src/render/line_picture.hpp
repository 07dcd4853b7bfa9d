// Lines over a pair of axes, for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "render/axis.hpp"
#include "render/canvas.hpp"

namespace attnlab {

/// What stands along an axis.
struct PictureAxis {
  std::string title = {};  ///< with the unit
  Scale scale = Scale::linear;
};

/// A line through points, in the order given. A point that has no place on the axes leaves a gap.
struct LineSeries {
  std::string label;
  std::vector<double> x;
  std::vector<double> y;           ///< as many as x
  std::vector<double> error = {};  ///< half the height of a bar at each point; as many as x, or none
  bool theory = false;             ///< not measured: dashed
};

struct LinePicture {
  std::vector<LineSeries> series;
  PictureAxis x_axis = {};
  PictureAxis y_axis = {};
  std::size_t height = 16;  ///< rows between the axes
};

/// The picture, at most 100 cells wide, with axes and a legend where there are several series. Braille dots,
/// or one letter for each series. Without a single point that has a place, one line that says so. Throws
/// Error(fault) when x, y and error differ in length.
std::string draw_lines(const LinePicture& picture, const TerminalStyle& style);

}  // namespace attnlab

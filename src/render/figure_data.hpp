// A figure with the numbers it refers to: what every writer of pictures starts from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/report.hpp"
#include "render/render.hpp"

namespace attnlab {

/// One line or one set of bars.
struct FigureSeries {
  std::string label;
  std::vector<double> x;      ///< the index of the category where x is words
  std::vector<double> y;      ///< as many as x; NaN where the table has no number
  std::vector<double> error;  ///< as many as x, or none
  bool theory = false;
};

/// One of the small multiples; most figures have one.
struct FigurePanel {
  std::string title;
  std::vector<FigureSeries> series;     ///< of lines and bars
  std::vector<std::string> categories;  ///< the words along x; empty where x is numbers
  Grid grid;                            ///< of a heat map, a matrix
};

struct FigureData {
  Figure figure;
  std::vector<FigurePanel> panels;
};

/// The figures that `name` picks: the one of that name, a picture of the table or array of that name, or all
/// of the report's own when it is empty. An array draws as a heat map, a vector and a table as lines. Throws
/// Error(usage) when there is nothing to draw or none of that name.
std::vector<FigureData> chosen_figures(const Result& result, std::string_view name);

/// A figure of the report with its numbers. Throws Error(fault) when it refers to what is not there.
FigureData figure_data(const Report& report, const Figure& figure);

/// The figure as a Vega-Lite v6 specification with its data inside.
std::string vega_lite_specification(const FigureData& data);

/// "length (ms)": the title of an axis with its unit.
std::string axis_title(const Axis& axis);

}  // namespace attnlab

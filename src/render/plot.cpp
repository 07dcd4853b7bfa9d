// --plot: the figures in the terminal.
#include <fmt/format.h>

#include "core/tensor.hpp"
#include "render/bar_picture.hpp"
#include "render/figure_data.hpp"
#include "render/glyphs.hpp"
#include "render/heat_picture.hpp"
#include "render/line_picture.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

std::string line_text(const FigureData& data, const FigurePanel& panel, const TerminalStyle& style) {
  LinePicture picture;
  for (const FigureSeries& series : panel.series) {
    picture.series.push_back({series.label, series.x, series.y, series.error, series.theory});
  }
  picture.x_axis = {axis_title(data.figure.x_axis), data.figure.x_axis.scale};
  picture.y_axis = {axis_title(data.figure.y_axis), data.figure.y_axis.scale};
  return draw_lines(picture, style);
}

std::string bar_text(const FigureData& data, const FigurePanel& panel, const TerminalStyle& style) {
  BarPicture picture;
  picture.labels = panel.categories;
  for (const FigureSeries& series : panel.series) picture.series.push_back({series.label, series.y});
  picture.value_axis = axis_title(data.figure.y_axis);
  picture.stacked = data.figure.kind == FigureKind::stacked_bars;
  picture.logarithmic = !picture.stacked && data.figure.y_axis.scale != Scale::linear;
  return draw_bars(picture, style);
}

std::string heat_text(const FigureData& data, const FigurePanel& panel, const TerminalStyle& style) {
  HeatPicture picture;
  picture.values = to_matrix(panel.grid.array, panel.grid.name);
  picture.hidden = panel.grid.hidden;
  picture.row_labels = panel.grid.row_labels;
  picture.column_labels = panel.grid.column_labels;
  picture.row_axis = axis_title(data.figure.y_axis);
  picture.column_axis = axis_title(data.figure.x_axis);
  picture.domain = data.figure.domain;
  return draw_heat_map(picture, style);
}

std::string panel_text(const FigureData& data, const FigurePanel& panel, const TerminalStyle& style) {
  switch (data.figure.kind) {
    case FigureKind::heat_map:
      return heat_text(data, panel, style);
    case FigureKind::bars:
    case FigureKind::stacked_bars:
      return bar_text(data, panel, style);
    case FigureKind::line:
      break;
  }
  // Words along x have no distances between them: bars, whatever the figure asked for.
  return panel.categories.empty() ? line_text(data, panel, style) : bar_text(data, panel, style);
}

// A caption broken at blanks; no cell wider than the terminal.
std::string caption_text(const std::string& caption, const TerminalStyle& style) {
  std::string out;
  std::string line;
  for (std::size_t at = 0; at < caption.size();) {
    const std::size_t blank = std::min(caption.find(' ', at), caption.size());
    const std::string word = caption.substr(at, blank - at);
    at = blank + 1;
    const auto width = static_cast<std::size_t>(style.width);
    if (!line.empty() &&
        display_width(line, style.unicode) + 1 + display_width(word, style.unicode) > width) {
      out += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + line + '\n';
}

}  // namespace

std::string render_plot(const Result& result, const RenderOptions& options) {
  const TerminalStyle& style = options.style;
  const auto width = static_cast<std::size_t>(style.width);
  std::string out;
  for (const FigureData& data : chosen_figures(result, options.table)) {
    if (!out.empty()) out += '\n';
    out += shortened(data.figure.title, width, style.unicode) + '\n';
    for (const FigurePanel& panel : data.panels) {
      if (!panel.title.empty()) out += '\n' + shortened(panel.title, width, style.unicode) + '\n';
      out += panel_text(data, panel, style);
    }
    out += caption_text(data.figure.caption, style);
  }
  return out;
}

}  // namespace attnlab

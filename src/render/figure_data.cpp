#include "render/figure_data.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr std::size_t most_panels = 16;  // of one array: more would be too small to read

bool is_word(const Cell& cell) { return std::holds_alternative<std::string>(cell); }

// The distinct texts of a column in the order in which they come.
std::vector<std::string> distinct(const Table& table, std::size_t column) {
  std::vector<std::string> texts;
  for (const std::vector<Cell>& row : table.rows) {
    std::string text = exact_text(row[column]);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

FigurePanel table_panel(const Table& table, const Figure& figure, const std::string& panel) {
  const std::size_t x = table.column(figure.x_column);
  const bool bars = figure.kind == FigureKind::bars || figure.kind == FigureKind::stacked_bars;
  const bool words = bars || std::any_of(table.rows.begin(), table.rows.end(),
                                         [&](const auto& row) { return is_word(row[x]); });
  FigurePanel out{.title = panel, .series = {}, .categories = {}, .grid = {}};
  std::vector<const std::vector<Cell>*> rows;
  for (const std::vector<Cell>& row : table.rows) {
    if (figure.panel_column.empty() || exact_text(row[table.column(figure.panel_column)]) == panel)
      rows.push_back(&row);
  }
  if (words) {
    for (const auto* row : rows) out.categories.push_back(exact_text((*row)[x]));
  }
  for (const Series& series : figure.series) {
    const std::size_t y = table.column(series.column);
    FigureSeries line{.label = series.label.empty() ? series.column : series.label,
                      .x = {},
                      .y = {},
                      .error = {},
                      .theory = series.theory};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      line.x.push_back(words ? static_cast<double>(i) : number_of((*rows[i])[x]));
      line.y.push_back(number_of((*rows[i])[y]));
      if (!series.error_column.empty())
        line.error.push_back(number_of((*rows[i])[table.column(series.error_column)]));
    }
    out.series.push_back(std::move(line));
  }
  return out;
}

// The matrices of an array: itself, or one for each index of the leading axes.
std::vector<FigurePanel> grid_panels(const Grid& grid) {
  const Shape& shape = grid.array.shape;
  const std::size_t columns = shape.empty() ? 1 : shape.back();
  const std::size_t rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const std::size_t size = rows * columns;
  const std::size_t count = size == 0 ? 0 : grid.array.values.size() / size;
  std::vector<FigurePanel> panels;
  for (std::size_t i = 0; i < std::min(count, most_panels); ++i) {
    FigurePanel panel{.title = count > 1 ? fmt::format("{} {}", grid.name, i) : grid.title,
                      .series = {},
                      .categories = {},
                      .grid = grid};
    const auto begin = grid.array.values.begin() + static_cast<std::ptrdiff_t>(i * size);
    panel.grid.array = {{rows, columns}, {begin, begin + static_cast<std::ptrdiff_t>(size)}};
    if (count > 1) panel.grid.hidden.clear();
    panels.push_back(std::move(panel));
  }
  return panels;
}

// A vector as a line over its indices.
FigurePanel vector_panel(const Grid& grid) {
  FigureSeries line{.label = grid.name, .x = {}, .y = grid.array.values, .error = {}, .theory = false};
  for (std::size_t i = 0; i < line.y.size(); ++i) line.x.push_back(static_cast<double>(i));
  return {.title = grid.title, .series = {std::move(line)}, .categories = {}, .grid = {}};
}

std::string axis_name(const Grid& grid, std::size_t from_the_end, const char* otherwise) {
  return grid.axes.size() > from_the_end ? grid.axes[grid.axes.size() - 1 - from_the_end] : otherwise;
}

Figure figure_of_grid(const Grid& grid) {
  const Shape& shape = grid.array.shape;
  const bool is_vector = shape.size() < 2 || grid.array.values.size() == shape.back();
  Figure figure{.name = grid.name, .title = grid.title.empty() ? grid.name : grid.title};
  figure.kind = is_vector ? FigureKind::line : FigureKind::heat_map;
  figure.data = {grid.name};
  figure.x_axis.title = axis_name(grid, 0, is_vector ? "index" : "column");
  figure.y_axis.title = is_vector ? "value" : axis_name(grid, 1, "row");
  return figure;
}

Figure figure_of_table(const Table& table) {
  Figure figure{.name = table.name, .title = table.title};
  figure.data = {table.name};
  figure.x_column = table.columns.front().name;
  figure.x_axis = {figure.x_column, table.columns.front().unit};
  for (std::size_t j = 1; j < table.columns.size(); ++j) {
    const bool numbers =
        !table.rows.empty() &&
        std::none_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return is_word(row[j]); });
    if (numbers) figure.series.push_back({table.columns[j].name});
  }
  if (figure.series.size() == 1) figure.y_axis.title = figure.series.front().column;
  return figure;
}

}  // namespace

FigureData figure_data(const Report& report, const Figure& figure) {
  FigureData data{figure, {}};
  for (const std::string& name : figure.data) {
    if (const Grid* grid = report.find_grid(name)) {
      if (figure.kind == FigureKind::heat_map) {
        for (FigurePanel& panel : grid_panels(*grid)) data.panels.push_back(std::move(panel));
      } else {
        data.panels.push_back(vector_panel(*grid));
      }
      continue;
    }
    const Table* table = report.find_table(name);
    if (table == nullptr)
      throw Error(ErrorKind::fault, fmt::format("figure {} shows {}, which is not there", figure.name, name));
    std::vector<std::string> panels{""};
    if (!figure.panel_column.empty()) panels = distinct(*table, table->column(figure.panel_column));
    for (const std::string& panel : panels) data.panels.push_back(table_panel(*table, figure, panel));
  }
  if (data.panels.size() == 1) data.panels.front().title.clear();  // the figure's own title says it
  return data;
}

std::vector<FigureData> chosen_figures(const Result& result, std::string_view name) {
  const Report& report = result.report;
  std::vector<FigureData> chosen;
  for (const Figure& figure : report.figures()) {
    if (name.empty() || figure.name == name) chosen.push_back(figure_data(report, figure));
  }
  if (!chosen.empty()) return chosen;
  const std::vector<std::string>& names = report.data_names();
  if (names.empty())
    throw Error(ErrorKind::usage, fmt::format("--plot: {} has nothing to draw", result.name));
  const std::string which(name.empty() ? names.front() : name);
  if (const Grid* grid = report.find_grid(which)) return {figure_data(report, figure_of_grid(*grid))};
  if (const Table* table = report.find_table(which)) {
    const Figure figure = figure_of_table(*table);
    if (figure.series.empty())
      throw Error(ErrorKind::usage, fmt::format("--table: {} has no numbers to draw", which));
    return {figure_data(report, figure)};
  }
  std::vector<std::string> drawable;
  for (const Figure& figure : report.figures()) drawable.push_back(figure.name);
  drawable.insert(drawable.end(), names.begin(), names.end());
  throw Error(ErrorKind::usage,
              fmt::format("--table: {} is not one of {}", which, fmt::join(drawable, ", ")));
}

std::string axis_title(const Axis& axis) {
  return axis.unit.empty() ? axis.title : fmt::format("{} ({})", axis.title, axis.unit);
}

}  // namespace attnlab

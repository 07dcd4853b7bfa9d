#include "render/line_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "render/glyphs.hpp"

namespace attnlab {
namespace {

constexpr std::size_t widest_picture = 100;
constexpr std::size_t narrowest_plot = 16;
constexpr std::size_t rows_per_tick = 3;
constexpr std::size_t columns_per_tick = 12;
constexpr std::size_t columns_per_marker = 4;  // a line with more points than this allows shows no markers
constexpr std::size_t spread_markers = 8;      // unless they tell lines apart: then so many
constexpr Rgb guide_color{128, 128, 128};

// What a series looks like.
struct Look {
  Ink ink;
  std::string marker;  // on the points; empty for none
  std::string key;     // in the legend
};

// The characters of axes.
struct Frame {
  std::string_view vertical, vertical_tick, corner, horizontal, horizontal_tick, zero;
};

constexpr Frame ascii_frame{"|", "+", "+", "-", "+", "-"};
constexpr Frame unicode_frame{"\u2502", "\u2524", "\u2514", "\u2500", "\u252c", "\u2504"};

std::string legend_key(const Look& look, bool unicode) {
  if (!unicode) return std::string(1, look.ink.ascii);
  const std::string dash = look.ink.dashed ? "\u254c" : "\u2500";
  return dash + (look.marker.empty() ? dash : look.marker) + dash;
}

std::vector<Look> looks_of(const std::vector<LineSeries>& series, const TerminalStyle& style) {
  constexpr std::string_view measured_letters = "*o+x#@%&";
  constexpr std::string_view theory_letters = ".:,;";
  constexpr std::array<std::string_view, 8> measured_marks{"\u25cf", "\u25cb", "\u25a0", "\u25a1",
                                                           "\u25b2", "\u25b3", "\u25c6", "\u25c7"};
  constexpr std::array<std::string_view, 4> theory_marks{"+", "\u00d7", "\u2217", "\u2218"};
  const auto theories =
      std::count_if(series.begin(), series.end(), [](const LineSeries& line) { return line.theory; });
  std::vector<Look> looks;
  std::size_t measured = 0;
  std::size_t theory = 0;
  for (const LineSeries& line : series) {
    Look look;
    look.ink.dashed = line.theory;
    if (line.theory) {
      look.ink.ascii = theory_letters[theory % theory_letters.size()];
      if (theories > 1) look.ink.color = series_color(series.size() - 1 - theory);
      if (style.unicode && !style.colored() && theories > 1)
        look.marker = theory_marks[theory % theory_marks.size()];
      ++theory;
    } else {
      look.ink.ascii = measured_letters[measured % measured_letters.size()];
      look.ink.color = series_color(measured);
      if (style.unicode) look.marker = measured_marks[style.colored() ? 0 : measured % measured_marks.size()];
      ++measured;
    }
    look.key = legend_key(look, style.unicode);
    looks.push_back(look);
  }
  return looks;
}

// Where the plot lies on the canvas, and what its sides mean.
struct Plot {
  std::size_t left, top, columns, rows;
  AxisRange x, y;

  std::ptrdiff_t dot_x(double value) const { return at(left, columns, 2, x.position(value)); }
  std::ptrdiff_t dot_y(double value) const { return at(top, rows, 4, 1.0 - y.position(value)); }
  std::size_t column(double value) const { return static_cast<std::size_t>(dot_x(value)) / 2; }
  std::size_t row(double value) const { return static_cast<std::size_t>(dot_y(value)) / 4; }

 private:
  static std::ptrdiff_t at(std::size_t start, std::size_t cells, std::size_t dots, double position) {
    const double last = static_cast<double>(cells * dots - 1);
    return static_cast<std::ptrdiff_t>(start * dots) + std::lround(std::clamp(position, 0.0, 1.0) * last);
  }
};

class LineDrawing {
 public:
  LineDrawing(const LinePicture& picture, const TerminalStyle& style)
      : picture_(picture),
        style_(style),
        frame_(style.unicode ? unicode_frame : ascii_frame),
        looks_(looks_of(picture.series, style)) {}

  std::string text() {
    measure();
    if (drawn_points_ == 0) return nothing_text();
    const std::size_t below = 2 + (picture_.x_axis.title.empty() ? 0 : 1) + legend_.size();
    Canvas canvas(plot_.left + plot_.columns, plot_.top + plot_.rows + below, style_);
    if (plot_.top > 0) canvas.write(0, 0, shortened(picture_.y_axis.title, canvas.columns(), style_.unicode));
    zero_line(canvas);
    for (const bool theory : {true, false}) {
      for (std::size_t i = 0; i < looks_.size(); ++i) {
        if (picture_.series[i].theory == theory) series(canvas, picture_.series[i], looks_[i]);
      }
    }
    vertical_axis(canvas);
    horizontal_axis(canvas);
    write_legend(canvas);
    return canvas.text() + left_out_text();
  }

 private:
  bool has_place(double x, double y) const {
    return drawable(x, picture_.x_axis.scale) && drawable(y, picture_.y_axis.scale);
  }

  // Chooses the ranges and, with the labels they ask for, the place of everything.
  void measure() {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const LineSeries& line : picture_.series) {
      for (std::size_t i = 0; i < line.x.size(); ++i) {
        if (!has_place(line.x[i], line.y[i])) {
          ++left_out_points_;
          continue;
        }
        ++drawn_points_;
        xs.push_back(line.x[i]);
        ys.push_back(line.y[i]);
        if (line.error.empty()) continue;
        ys.push_back(line.y[i] - line.error[i]);
        ys.push_back(line.y[i] + line.error[i]);
      }
    }
    plot_.rows = std::max<std::size_t>(picture_.height, 2);
    plot_.top = picture_.y_axis.title.empty() ? 0 : 1;
    const std::size_t most_ticks = std::max<std::size_t>(plot_.rows / rows_per_tick, 2);
    plot_.x = axis_range(xs, picture_.x_axis.scale);
    plot_.y = rounded_range(axis_range(ys, picture_.y_axis.scale), most_ticks);
    y_ticks_ = axis_ticks(plot_.y, most_ticks);
    std::size_t label_width = 0;
    for (const Tick& tick : y_ticks_) label_width = std::max(label_width, tick.text.size());
    plot_.left = label_width + 2;
    const std::size_t width = std::min(static_cast<std::size_t>(std::max(style_.width, 0)), widest_picture);
    plot_.columns = std::max(width - std::min(width, plot_.left), narrowest_plot);
    arrange_legend();
  }

  std::string unplaced() const {
    const bool logarithmic = picture_.x_axis.scale != Scale::linear || picture_.y_axis.scale != Scale::linear;
    return logarithmic ? "finite and positive" : "finite";
  }

  std::string nothing_text() const { return fmt::format("nothing to draw: no point is {}\n", unplaced()); }

  std::string left_out_text() const {
    if (left_out_points_ == 0) return "";
    return fmt::format("{} point{} left out: not {}\n", left_out_points_, left_out_points_ == 1 ? "" : "s",
                       unplaced());
  }

  CellColors colors(const Ink& ink) const { return {ink.color, {}}; }

  void zero_line(Canvas& canvas) const {
    if (plot_.y.scale != Scale::linear || plot_.y.low >= 0 || plot_.y.high <= 0) return;
    for (std::size_t i = 0; i < plot_.columns; ++i) {
      canvas.write(plot_.left + i, plot_.row(0.0), frame_.zero, {guide_color, {}});
    }
  }

  void series(Canvas& canvas, const LineSeries& line, const Look& look) const {
    error_bars(canvas, line, look);
    std::size_t travelled = 0;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (!has_place(line.x[i], line.y[i])) continue;
      const Dot here{plot_.dot_x(line.x[i]), plot_.dot_y(line.y[i])};
      const bool joined = i > 0 && has_place(line.x[i - 1], line.y[i - 1]);
      const Dot start = joined ? Dot{plot_.dot_x(line.x[i - 1]), plot_.dot_y(line.y[i - 1])} : here;
      canvas.line(start, here, look.ink, travelled);
    }
    markers(canvas, line, look);
  }

  void error_bars(Canvas& canvas, const LineSeries& line, const Look& look) const {
    Ink bar = look.ink;
    bar.ascii = '|';
    for (std::size_t i = 0; i < line.error.size(); ++i) {
      if (!has_place(line.x[i], line.y[i]) || !(line.error[i] >= 0)) continue;
      std::size_t travelled = 0;
      const std::ptrdiff_t x = plot_.dot_x(line.x[i]);
      canvas.line({x, error_end(line.y[i] - line.error[i])}, {x, error_end(line.y[i] + line.error[i])}, bar,
                  travelled);
    }
  }

  // An end that has no place, below zero on a logarithmic scale, is the edge of the plot.
  std::ptrdiff_t error_end(double y) const {
    if (drawable(y, plot_.y.scale)) return plot_.dot_y(y);
    return plot_.dot_y(y > plot_.y.low ? plot_.y.high : plot_.y.low);
  }

  void markers(Canvas& canvas, const LineSeries& line, const Look& look) const {
    if (look.marker.empty()) return;
    const std::size_t count = line.x.size();
    std::size_t stride = 1;
    if (line.theory || count > plot_.columns / columns_per_marker) {
      if (style_.colored() || looks_.size() == 1) return;
      stride = count / spread_markers + 1;
    }
    for (std::size_t i = stride / 2; i < count; i += stride) {
      if (!has_place(line.x[i], line.y[i])) continue;
      canvas.write(plot_.column(line.x[i]), plot_.row(line.y[i]), look.marker, colors(look.ink));
    }
  }

  void vertical_axis(Canvas& canvas) const {
    const std::size_t column = plot_.left - 1;
    for (std::size_t row = 0; row < plot_.rows; ++row) canvas.write(column, plot_.top + row, frame_.vertical);
    for (const Tick& tick : y_ticks_) {
      canvas.write(column, plot_.row(tick.value), frame_.vertical_tick);
      canvas.write_before(column - 1, plot_.row(tick.value), tick.text);
    }
  }

  void horizontal_axis(Canvas& canvas) const {
    const std::size_t row = plot_.top + plot_.rows;
    canvas.write(plot_.left - 1, row, frame_.corner);
    for (std::size_t i = 0; i < plot_.columns; ++i) canvas.write(plot_.left + i, row, frame_.horizontal);
    std::size_t free_from = 0;
    for (const Tick& tick : axis_ticks(plot_.x, std::max<std::size_t>(plot_.columns / columns_per_tick, 2))) {
      const std::size_t column = plot_.column(tick.value);
      canvas.write(column, row, frame_.horizontal_tick);
      const std::size_t size = tick.text.size();
      const std::size_t start = std::min(column - std::min(column, size / 2), canvas.columns() - size);
      if (start < free_from) continue;
      canvas.write(start, row + 1, tick.text);
      free_from = start + size + 1;
    }
    const std::string title = shortened(picture_.x_axis.title, plot_.columns, style_.unicode);
    const std::size_t indent = (plot_.columns - display_width(title, style_.unicode)) / 2;
    if (!title.empty()) canvas.write(plot_.left + indent, row + 2, title);
  }

  // Fills lines with as many entries as fit.
  void arrange_legend() {
    if (looks_.size() < 2) return;
    std::size_t used = 0;
    for (std::size_t i = 0; i < looks_.size(); ++i) {
      const std::size_t width = entry_width(i);
      if (legend_.empty() || used + width > plot_.columns) {
        legend_.emplace_back();
        used = 0;
      }
      legend_.back().push_back(i);
      used += width + 3;
    }
  }

  std::string label(std::size_t i) const {
    return shortened(picture_.series[i].label, plot_.columns - 4, style_.unicode);
  }

  std::size_t entry_width(std::size_t i) const {
    return display_width(looks_[i].key, style_.unicode) + 1 + display_width(label(i), style_.unicode);
  }

  void write_legend(Canvas& canvas) const {
    std::size_t row = canvas.rows() - legend_.size();
    for (const std::vector<std::size_t>& line : legend_) {
      std::size_t column = plot_.left;
      for (const std::size_t i : line) {
        canvas.write(column, row, looks_[i].key, colors(looks_[i].ink));
        canvas.write(column + display_width(looks_[i].key, style_.unicode) + 1, row, label(i));
        column += entry_width(i) + 3;
      }
      ++row;
    }
  }

  const LinePicture& picture_;
  const TerminalStyle& style_;
  const Frame& frame_;
  std::vector<Look> looks_;
  Plot plot_{};
  std::vector<Tick> y_ticks_;
  std::vector<std::vector<std::size_t>> legend_;  // series by line
  std::size_t drawn_points_ = 0;
  std::size_t left_out_points_ = 0;
};

}  // namespace

std::string draw_lines(const LinePicture& picture, const TerminalStyle& style) {
  for (const LineSeries& line : picture.series) {
    const bool errors_fit = line.error.empty() || line.error.size() == line.x.size();
    if (line.y.size() != line.x.size() || !errors_fit) {
      throw Error(ErrorKind::fault, fmt::format("draw_lines: \"{}\" has {} x, {} y and {} error values",
                                                line.label, line.x.size(), line.y.size(), line.error.size()));
    }
  }
  return LineDrawing(picture, style).text();
}

}  // namespace attnlab

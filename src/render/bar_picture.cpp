#include "render/bar_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/integer.hpp"
#include "render/axis.hpp"
#include "render/glyphs.hpp"

namespace attnlab {
namespace {

constexpr std::size_t widest_picture = 100;
constexpr std::size_t widest_label = 24;
constexpr std::size_t shortest_bar = 10;  // room for the longest
constexpr std::string_view full_block = "\u2588";

// A whole number in full, others with four significant digits.
std::string value_text(double value, Scale scale) {
  if (std::isnan(value)) return "(not a number)";
  if (std::isinf(value)) return "(infinite)";
  constexpr double whole_up_to = 1e15;
  const bool whole = value == std::trunc(value) && std::abs(value) < whole_up_to;
  const std::string text = whole ? with_thousands(static_cast<Int128>(value)) : fmt::format("{:.4g}", value);
  return drawable(value, scale) ? text : text + " (no logarithm)";
}

class BarDrawing {
 public:
  BarDrawing(const BarPicture& picture, const TerminalStyle& style)
      : picture_(picture), style_(style), scale_(picture.logarithmic ? Scale::log10 : Scale::linear) {
    measure();
  }

  std::string text() const {
    const std::size_t lines_each = picture_.stacked ? 1 : picture_.series.size();
    const std::size_t top = picture_.value_axis.empty() ? 0 : 1;
    const std::size_t rows = picture_.labels.size() * lines_each;
    Canvas canvas(axis_ + 2 + above_ + 1 + value_width_, top + rows, style_);
    if (top > 0) canvas.write(0, 0, shortened(picture_.value_axis, canvas.columns(), style_.unicode));
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t label = i / lines_each;
      const std::size_t row = top + i;
      if (i % lines_each == 0)
        canvas.write(0, row, shortened(picture_.labels[label], widest_label, style_.unicode));
      canvas.write(axis_, row, style_.unicode ? "\u2502" : "|");
      if (picture_.stacked) {
        stack(canvas, row, label);
      } else {
        single(canvas, row, label, i % lines_each);
      }
    }
    return canvas.text() + legend_text();
  }

 private:
  // ---- Sizes
  // -----------------------------------------------------------------------------------------------

  // The length of a stack: values below zero do not count, NaN makes it NaN.
  double total(std::size_t label) const {
    double sum = 0;
    for (const BarSeries& series : picture_.series) {
      if (!(series.values[label] < 0)) sum += series.values[label];
    }
    return sum;
  }

  void measure() {
    std::vector<double> ends;
    if (!picture_.logarithmic) ends.push_back(0.0);
    std::size_t label_width = 0;
    const auto add = [&](double value) {
      ends.push_back(value);
      value_width_ = std::max(value_width_, value_text(value, scale_).size());
    };
    for (std::size_t i = 0; i < picture_.labels.size(); ++i) {
      label_width = std::max(label_width, display_width(picture_.labels[i], style_.unicode));
      if (picture_.stacked) {
        add(total(i));
      } else {
        for (const BarSeries& series : picture_.series) add(series.values[i]);
      }
    }
    range_ = axis_range(ends, scale_);
    if (picture_.logarithmic) {
      range_.low = std::pow(10.0, std::ceil(std::log10(range_.low) - 1e-9) - 1);
    } else if (std::all_of(ends.begin(), ends.end(), [](double value) { return !(value < 0); })) {
      range_.low = 0;
    }
    left_ = std::min(label_width, widest_label) + 1;
    const std::size_t width = std::min(static_cast<std::size_t>(std::max(style_.width, 0)), widest_picture);
    const std::size_t beside = left_ + 1 + 1 + value_width_;
    const std::size_t room = std::max(width - std::min(width, beside), shortest_bar);
    const double below = picture_.logarithmic ? 0.0 : range_.position(0.0) * static_cast<double>(room);
    axis_ = left_ + static_cast<std::size_t>(std::lround(below));
    above_ = left_ + room - axis_;
    unit_ = static_cast<double>(room);
  }

  // The length of the bar of a drawable value, in cells.
  double length(double value) const {
    const double start = picture_.logarithmic ? 0.0 : range_.position(0.0);
    return std::abs(range_.position(value) - start) * unit_;
  }

  // ---- Bars
  // ------------------------------------------------------------------------------------------------

  CellColors colors(std::size_t series) const { return {series_color(series), {}}; }

  // What a bar is filled with: the series differ by it where there is no colour.
  std::string_view fill(std::size_t series) const {
    constexpr std::array<std::string_view, 4> ascii{"#", "=", "+", "o"};
    constexpr std::array<std::string_view, 4> blocks{full_block, "\u2592", "\u2593", "\u2591"};
    if (!style_.unicode) return ascii[series % ascii.size()];
    return style_.colored() ? full_block : blocks[series % blocks.size()];
  }

  void single(Canvas& canvas, std::size_t row, std::size_t label, std::size_t series) const {
    const double value = picture_.series[series].values[label];
    std::size_t end = axis_ + 1;
    if (drawable(value, scale_) && (picture_.logarithmic || value > 0)) {
      end = bar(canvas, row, 0.0, length(value), series);
    } else if (drawable(value, scale_) && value < 0) {
      const std::size_t cells = std::min(static_cast<std::size_t>(std::lround(length(value))), axis_ - left_);
      for (std::size_t i = 1; i <= cells; ++i) canvas.write(axis_ - i, row, fill(series), colors(series));
    }
    canvas.write(end + 1, row, value_text(value, scale_));
  }

  void stack(Canvas& canvas, std::size_t row, std::size_t label) const {
    const double sum = total(label);
    double reached = 0;
    double from = 0;
    std::size_t end = axis_ + 1;
    for (std::size_t k = 0; std::isfinite(sum) && k < picture_.series.size(); ++k) {
      const double value = picture_.series[k].values[label];
      if (!(value > 0)) continue;
      reached += value;
      // Only the last piece ends within a cell: two pieces cannot share one.
      const double to = reached >= sum ? length(reached) : std::round(length(reached));
      end = std::max(end, bar(canvas, row, from, to, k));
      from = to;
    }
    canvas.write(end + 1, row, value_text(sum, scale_));
  }

  // Fills from one distance right of the axis to another: whole cells, and eighths at the end. Returns the
  // column behind it. A bar that would vanish leaves the thinnest mark there is.
  std::size_t bar(Canvas& canvas, std::size_t row, double from, double to, std::size_t series) const {
    constexpr std::array<std::string_view, 8> eighths{"",       "\u258f", "\u258e", "\u258d",
                                                      "\u258c", "\u258b", "\u258a", "\u2589"};
    const std::size_t start = axis_ + 1;
    const bool fine = fill(series) == full_block;
    const auto first = static_cast<std::size_t>(std::lround(from));
    const std::size_t in_eighths = std::max<std::size_t>(static_cast<std::size_t>(std::lround(to * 8)), 1);
    const std::size_t last = fine ? in_eighths / 8 : static_cast<std::size_t>(std::lround(to));
    for (std::size_t i = first; i < last; ++i) canvas.write(start + i, row, fill(series), colors(series));
    if (!fine || in_eighths % 8 == 0 || last < first) return start + last;
    canvas.write(start + last, row, eighths[in_eighths % 8], colors(series));
    return start + last + 1;
  }

  // ---- Legend
  // ----------------------------------------------------------------------------------------------

  std::string legend_text() const {
    std::string text;
    if (picture_.series.size() > 1) text = series_text();
    if (picture_.logarithmic) {
      const std::string note = "decades: equal steps are equal ratios";
      const bool fits = static_cast<int>(left_ + note.size()) <= style_.width;
      text += std::string(fits ? left_ : 0, ' ') + note + '\n';
    }
    return text;
  }

  // As many names to a line as fit.
  std::string series_text() const {
    const std::size_t width = std::max<std::size_t>(axis_ + above_ + value_width_, left_ + 4);
    Canvas canvas(width, picture_.series.size(), style_);
    std::size_t row = 0;
    std::size_t column = left_;
    for (std::size_t k = 0; k < picture_.series.size(); ++k) {
      const std::string name = shortened(picture_.series[k].name, width - left_ - 3, style_.unicode);
      const std::size_t size = 3 + display_width(name, style_.unicode);
      if (column > left_ && column + size > width) {
        ++row;
        column = left_;
      }
      canvas.write(column, row, std::string(fill(k)) + std::string(fill(k)), colors(k));
      canvas.write(column + 3, row, name);
      column += size + 3;
    }
    const std::string text = canvas.text();
    return text.substr(0, text.find_last_not_of('\n') + 1) + '\n';
  }

  const BarPicture& picture_;
  const TerminalStyle& style_;
  Scale scale_;
  AxisRange range_;
  std::size_t left_ = 0;         // cells before the bars
  std::size_t axis_ = 0;         // the column where bars begin, to the right or, below zero, to the left
  std::size_t above_ = 0;        // cells of the longest bar to the right
  std::size_t value_width_ = 0;  // cells behind it
  double unit_ = 0;              // cells of the whole range
};

}  // namespace

std::string draw_bars(const BarPicture& picture, const TerminalStyle& style) {
  for (const BarSeries& series : picture.series) {
    if (series.values.size() == picture.labels.size()) continue;
    throw Error(ErrorKind::fault, fmt::format("draw_bars: \"{}\" has {} values for {} labels", series.name,
                                              series.values.size(), picture.labels.size()));
  }
  if (picture.stacked && picture.logarithmic) {
    throw Error(ErrorKind::fault, "draw_bars: a stack cannot be logarithmic");
  }
  if (picture.labels.empty() || picture.series.empty()) return "nothing to draw: there are no bars\n";
  return BarDrawing(picture, style).text();
}

}  // namespace attnlab

#include "render/heat_picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "render/glyphs.hpp"

namespace attnlab {
namespace {

constexpr std::size_t most_rows = 40;            // of cells, two entries each where they are halved
constexpr std::size_t widest_row_label = 16;     // cells
constexpr std::size_t widest_column_label = 10;  // cells, or rows where labels stand upright
constexpr std::size_t narrowest_map = 8;
constexpr std::size_t scale_length = 24;

// The matrix as it is drawn: single entries, or means over squares of them.
struct Entries {
  std::size_t rows;
  std::size_t columns;
  std::size_t step;  // entries along the side of a square
  std::vector<double> values;
  std::vector<bool> hidden;

  double value(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  bool is_hidden(std::size_t row, std::size_t column) const { return hidden[row * columns + column]; }
};

bool is_hidden(const HeatPicture& picture, std::size_t row, std::size_t column) {
  return !picture.hidden.empty() && picture.hidden[row * picture.values.shape(1) + column];
}

std::size_t divided_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

// Means over rectangles of entries, of those that are numbers and not hidden.
Entries pooled(const HeatPicture& picture, std::size_t down, std::size_t across) {
  const std::size_t rows = picture.values.shape(0);
  const std::size_t columns = picture.values.shape(1);
  Entries out{divided_up(rows, down), divided_up(columns, across), across, {}, {}};
  for (std::size_t top = 0; top < rows; top += down) {
    for (std::size_t left = 0; left < columns; left += across) {
      double sum = 0;
      std::size_t numbers = 0;
      bool all_hidden = true;
      for (std::size_t i = top; i < std::min(top + down, rows); ++i) {
        for (std::size_t j = left; j < std::min(left + across, columns); ++j) {
          if (is_hidden(picture, i, j)) continue;
          all_hidden = false;
          if (std::isnan(picture.values(i, j))) continue;
          sum += picture.values(i, j);
          ++numbers;
        }
      }
      out.values.push_back(numbers == 0 ? std::numeric_limits<double>::quiet_NaN()
                                        : sum / static_cast<double>(numbers));
      out.hidden.push_back(all_hidden);
    }
  }
  return out;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return value > 0 ? "+" : value < 0 ? "-" : "?";
  if (value == 0) return "0";
  const std::string text =
      std::abs(value) < 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
  return text == "-0.00" ? "0.00" : text;
}

// The least of 1, 2, 5, 10, 20, 50 ... that is not below `least`.
std::size_t round_stride(std::size_t least) {
  for (std::size_t power = 1;; power *= 10) {
    for (const std::size_t factor : {1, 2, 5}) {
      if (factor * power >= least) return factor * power;
    }
  }
}

// Labels of one side, by entry: those given, or indices at round distances.
struct Labels {
  std::vector<std::string> texts;
  std::size_t width = 0;  // of the widest
};

class HeatDrawing {
 public:
  HeatDrawing(const HeatPicture& picture, const TerminalStyle& style) : picture_(picture), style_(style) {
    arrange();
  }

  std::string text() const {
    Canvas canvas(left_ + std::max(entries_.columns * cell_width_, title_width()), top_ + lines(), style_);
    column_header(canvas);
    for (std::size_t line = 0; line < lines(); ++line) {
      if (halved_) {
        halved_line(canvas, line);
      } else {
        full_line(canvas, line);
      }
      const std::size_t row = halved_ ? 2 * line : line;
      canvas.write(0, top_ + line, row_labels_.texts[row]);
    }
    return canvas.text() + scale_text() + notes_text();
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(std::max(style_.width, 0)); }
  std::size_t lines() const { return halved_ ? divided_up(entries_.rows, 2) : entries_.rows; }
  std::size_t width_of(std::string_view text) const { return display_width(text, style_.unicode); }
  std::size_t title_width() const { return width_of(picture_.column_axis); }

  // ---- Choosing the size of a cell
  // -------------------------------------------------------------------------

  void arrange() {
    const std::size_t rows = picture_.values.shape(0);
    const std::size_t columns = picture_.values.shape(1);
    const std::size_t label_width = labels_of(picture_.row_labels, rows, 1, 1, widest_row_label).width;
    left_ = std::max(label_width, std::min(width_of(picture_.row_axis), widest_row_label)) + 1;
    const std::size_t room = std::max(width() - std::min(width(), left_), narrowest_map);
    if (columns * 2 <= room && rows <= most_rows) {
      entries_ = pooled(picture_, 1, 1);
      choose_cell_width(room);
    } else {
      const std::size_t step =
          std::max<std::size_t>({divided_up(columns, room), divided_up(rows, 2 * most_rows), 1});
      halved_ = style_.unicode && style_.colored();
      entries_ = pooled(picture_, halved_ ? step : 2 * step, step);
      cell_width_ = 1;
    }
    colors_ = color_scale(visible_values(), picture_.domain);
    make_labels();
  }

  // What is drawn in colours or shades.
  std::vector<double> visible_values() const {
    std::vector<double> values;
    for (std::size_t i = 0; i < entries_.values.size(); ++i) {
      if (!entries_.hidden[i]) values.push_back(entries_.values[i]);
    }
    return values;
  }

  // As wide as labels and numbers ask for if that fits, else as wide as the labels, else two.
  void choose_cell_width(std::size_t room) {
    const std::size_t label =
        labels_of(picture_.column_labels, entries_.columns, 1, 1, widest_column_label).width + 1;
    std::size_t number = 0;
    for (const double value : entries_.values) number = std::max(number, number_text(value).size() + 2);
    const auto fits = [&](std::size_t size) { return entries_.columns * size <= room; };
    if (style_.colored() && fits(std::max(label, number))) {
      cell_width_ = std::max(label, number);
      numbers_ = true;
    } else if (fits(std::max<std::size_t>(label, 2))) {
      cell_width_ = std::max<std::size_t>(label, 2);
    } else {
      cell_width_ = 2;
      upright_ = !picture_.column_labels.empty();
    }
  }

  // ---- Labels
  // ----------------------------------------------------------------------------------------------

  Labels labels_of(const std::vector<std::string>& given, std::size_t count, std::size_t step,
                   std::size_t stride, std::size_t widest) const {
    Labels labels;
    for (std::size_t i = 0; i < count; ++i) {
      std::string text;
      if (!given.empty() && step == 1 && stride == 1) {
        text = shortened(given[i], widest, style_.unicode);
      } else if (i % stride == 0) {
        text = std::to_string(i * step);
      }
      labels.width = std::max(labels.width, width_of(text));
      labels.texts.push_back(std::move(text));
    }
    return labels;
  }

  void make_labels() {
    const std::size_t columns = entries_.columns;
    std::size_t stride = 1;
    if (!upright_ && (cell_width_ == 1 || picture_.column_labels.empty())) {
      const std::size_t digits = std::to_string(columns * entries_.step).size();
      stride = round_stride(divided_up(digits + 1, cell_width_));
      if (cell_width_ == 1) stride = std::max<std::size_t>(stride, 10);
    }
    column_labels_ = labels_of(picture_.column_labels, columns, entries_.step, stride, widest_column_label);
    const bool single = cell_width_ > 1;
    const std::size_t row_step = halved_ || single ? entries_.step : 2 * entries_.step;
    const std::size_t row_stride = single ? 1 : halved_ ? 10 : 5;
    row_labels_ = labels_of(picture_.row_labels, entries_.rows, row_step, row_stride, widest_row_label);
    top_ = (upright_ ? column_labels_.width : 1) + (picture_.column_axis.empty() ? 0 : 1);
  }

  void column_header(Canvas& canvas) const {
    canvas.write(left_, 0, picture_.column_axis);
    canvas.write(0, top_ - 1, shortened(picture_.row_axis, left_ - 1, style_.unicode));
    for (std::size_t j = 0; j < entries_.columns; ++j) {
      const std::string& label = column_labels_.texts[j];
      if (upright_) {
        upright_label(canvas, left_ + j * cell_width_, label);
      } else {
        canvas.write(left_ + j * cell_width_ + centered(width_of(label)), top_ - 1, label);
      }
    }
  }

  // Upright labels end above their column.
  void upright_label(Canvas& canvas, std::size_t column, std::string_view label) const {
    const std::vector<Glyph> letters = glyphs(label, style_.unicode);
    for (std::size_t i = 0; i < letters.size(); ++i) {
      canvas.write(column, top_ - letters.size() + i, letters[i].text);
    }
  }

  std::size_t centered(std::size_t size) const { return cell_width_ > size ? (cell_width_ - size) / 2 : 0; }

  // ---- Cells
  // -----------------------------------------------------------------------------------------------

  Rgb color_at(std::size_t row, std::size_t column) const {
    return entries_.is_hidden(row, column) ? masked_color : colors_.color(entries_.value(row, column));
  }

  void full_line(Canvas& canvas, std::size_t row) const {
    for (std::size_t j = 0; j < entries_.columns; ++j) {
      const std::size_t column = left_ + j * cell_width_;
      if (!style_.colored()) {
        const std::string shade = shade_at(row, j);
        for (std::size_t i = 0; i < cell_width_; ++i) canvas.write(column + i, top_ + row, shade);
        continue;
      }
      const Rgb color = color_at(row, j);
      const CellColors colors{contrasting_color(color), color};
      canvas.write(column, top_ + row, std::string(cell_width_, ' '), colors);
      if (!numbers_ || entries_.is_hidden(row, j)) continue;
      const std::string number = number_text(entries_.value(row, j));
      canvas.write(column + centered(number.size()), top_ + row, number, colors);
    }
  }

  void halved_line(Canvas& canvas, std::size_t line) const {
    for (std::size_t j = 0; j < entries_.columns; ++j) {
      CellColors colors{color_at(2 * line, j), {}};
      if (2 * line + 1 < entries_.rows) colors.background = color_at(2 * line + 1, j);
      canvas.write(left_ + j, top_ + line, "\u2580", colors);
    }
  }

  std::string_view masked_shade() const { return style_.unicode ? "\u00b7" : "/"; }

  std::vector<std::string> shades() const {
    if (style_.unicode) return {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
    return {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
  }

  std::string shade_at(std::size_t row, std::size_t column) const {
    if (entries_.is_hidden(row, column)) return std::string(masked_shade());
    return shade_of(entries_.value(row, column));
  }

  std::string shade_of(double value) const {
    if (std::isnan(value)) return "?";
    // Rounded up, so that a blank is the low end itself and the least weight still leaves a mark.
    const std::vector<std::string> ramp = shades();
    const double at = colors_.position(value) * static_cast<double>(ramp.size() - 1);
    return ramp[std::min(static_cast<std::size_t>(std::ceil(at - 1e-9)), ramp.size() - 1)];
  }

  // ---- What stands below
  // -----------------------------------------------------------------------------------

  // The scale, and behind it or where the width ends below it the marks that are not on it.
  std::string scale_text() const {
    const std::size_t around = left_ + end_text(colors_.low).size() + end_text(colors_.high).size() + 4;
    const std::size_t room = std::max<std::size_t>(width(), around) - around;
    const std::size_t length = std::clamp<std::size_t>(room, 8, scale_length);
    Canvas canvas(std::max<std::size_t>(width(), left_ + scale_length + 32), 3, style_);
    std::size_t column = left_;
    std::size_t row = 0;
    const auto put = [&](std::string_view text, const CellColors& colors = {}) {
      canvas.write(column, row, text, colors);
      column += width_of(text);
    };
    if (colors_.low < colors_.high) {
      put(end_text(colors_.low) + ' ');
      if (!style_.colored()) put("[");
      for (std::size_t i = 0; i < length; ++i) {
        const double part = static_cast<double>(i) / static_cast<double>(length - 1);
        const double value = colors_.low + part * (colors_.high - colors_.low);
        put(style_.colored() ? " " : shade_of(value), {{}, colors_.color(value)});
      }
      if (!style_.colored()) put("]");
      put(' ' + end_text(colors_.high));
    } else {
      put("all " + end_text(colors_.low));
    }
    const auto explain = [&](std::string_view shade, Rgb color, std::string_view meaning) {
      if (column + 6 + meaning.size() > width()) {
        ++row;
        column = left_;
      } else {
        column += 3;
      }
      put(style_.colored() ? "  " : std::string(shade) + std::string(shade), {{}, color});
      put(' ' + std::string(meaning));
    };
    if (std::find(entries_.hidden.begin(), entries_.hidden.end(), true) != entries_.hidden.end()) {
      explain(masked_shade(), masked_color, "masked");
    }
    if (any_visible([](double value) { return std::isnan(value); }))
      explain("?", missing_color, "not a number");
    std::string text = canvas.text();
    return text.substr(0, text.find_last_not_of('\n') + 1) + '\n';
  }

  std::string end_text(double value) const { return fmt::format("{:.3g}", value == 0 ? 0.0 : value); }

  template <class Property>
  bool any_visible(Property property) const {
    const std::vector<double> values = visible_values();
    return std::any_of(values.begin(), values.end(), property);
  }

  std::string notes_text() const {
    std::string notes;
    const std::string indent(left_, ' ');
    const std::size_t down = divided_up(picture_.values.shape(0), std::max<std::size_t>(entries_.rows, 1));
    if (down > 1 || entries_.step > 1) {
      notes += fmt::format("{}a cell is the mean of {} x {} entries\n", indent, down, entries_.step);
    }
    if (any_visible([](double value) { return std::isinf(value); })) {
      notes += indent + "infinite values have the colours of the ends\n";
    }
    return notes;
  }

  const HeatPicture& picture_;
  const TerminalStyle& style_;
  ColorScale colors_;
  Entries entries_{};
  std::size_t left_ = 0;        // cells before the map
  std::size_t top_ = 0;         // rows above it
  std::size_t cell_width_ = 1;  // cells of an entry
  bool halved_ = false;         // two entries above each other in one cell
  bool numbers_ = false;        // on the colours
  bool upright_ = false;        // column labels read downwards
  Labels row_labels_;
  Labels column_labels_;
};

void check_labels(const std::vector<std::string>& labels, std::size_t count, std::string_view side) {
  if (labels.empty() || labels.size() == count) return;
  throw Error(ErrorKind::fault,
              fmt::format("draw_heat_map: {} {} labels for {}", labels.size(), side, count));
}

}  // namespace

std::string draw_heat_map(const HeatPicture& picture, const TerminalStyle& style) {
  check_labels(picture.row_labels, picture.values.shape(0), "row");
  check_labels(picture.column_labels, picture.values.shape(1), "column");
  if (!picture.hidden.empty() && picture.hidden.size() != picture.values.size()) {
    throw Error(ErrorKind::fault, fmt::format("draw_heat_map: {} hidden flags for shape {}",
                                              picture.hidden.size(), shape_text(picture.values)));
  }
  if (picture.values.size() == 0) return "nothing to draw: the matrix is empty\n";
  return HeatDrawing(picture, style).text();
}

}  // namespace attnlab

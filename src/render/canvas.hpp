// A page of terminal cells to draw pictures on: text, lines of braille dots, colours, each with a fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/palette.hpp"

namespace attnlab {

/// What the terminal can show. The command line decides it.
struct TerminalStyle {
  enum class Color { none, ansi256, truecolor };

  int width = 80;        ///< cells a line may take
  bool unicode = false;  ///< braille, blocks and frames; else ASCII
  Color color = Color::none;

  bool colored() const { return color != Color::none; }
};

/// Colours of a cell; absent ones are the terminal's own.
struct CellColors {
  std::optional<Rgb> foreground = {};
  std::optional<Rgb> background = {};
};

/// What a line is drawn with.
struct Ink {
  std::optional<Rgb> color = {};
  char ascii = '*';     ///< stands for the dots of a cell where there is no Unicode
  bool dashed = false;  ///< three dots on, three off
};

/// A place on the grid of dots, two a cell across and four down; (0, 0) is at the top left.
struct Dot {
  std::ptrdiff_t x;
  std::ptrdiff_t y;
};

/// A rectangle of cells. What is drawn outside of it is dropped; what is drawn later covers what was there,
/// except that the dots of a cell add up.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, const TerminalStyle& style);

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return rows_; }

  /// Writes from a cell to the right, in UTF-8 or what the style allows of it.
  void write(std::size_t column, std::size_t row, std::string_view text, const CellColors& colors = {});
  /// The same with the text's end before `column`.
  void write_before(std::size_t column, std::size_t row, std::string_view text,
                    const CellColors& colors = {});
  void dot(Dot at, const Ink& ink);
  /// A straight line with both ends. `travelled` carries the phase of a dashed line from one piece to the
  /// next.
  void line(Dot from, Dot to, const Ink& ink, std::size_t& travelled);

  /// The rows with a line break after each, without trailing blanks. Colours are ANSI escapes that end with
  /// each line; none at all when the style has no colour.
  std::string text() const;

 private:
  struct Cell {
    std::string glyph = " ";  // empty behind a wide one
    std::uint8_t dots = 0;    // bits of the braille pattern; they stand for the glyph
    CellColors colors;
  };

  Cell* cell(std::size_t column, std::size_t row);
  const Cell& cell(std::size_t column, std::size_t row) const { return cells_[row * columns_ + column]; }

  std::size_t columns_;
  std::size_t rows_;
  TerminalStyle style_;
  std::vector<Cell> cells_;
};

}  // namespace attnlab

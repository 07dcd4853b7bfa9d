#include "render/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "render/glyphs.hpp"

namespace attnlab {
namespace {

constexpr std::size_t dots_across = 2;
constexpr std::size_t dots_down = 4;
constexpr std::size_t dash_length = 3;

// Bits of the Unicode braille patterns by row and column: the eighth dots were added below the classic six.
constexpr std::uint8_t braille_bits[dots_down][dots_across] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

// U+2800 + dots in UTF-8.
std::string braille_text(std::uint8_t dots) {
  return {'\xE2', static_cast<char>(0xA0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3F))};
}

std::string color_code(Rgb color, bool background, TerminalStyle::Color depth) {
  const int target = background ? 48 : 38;
  if (depth == TerminalStyle::Color::ansi256)
    return fmt::format("\x1b[{};5;{}m", target, ansi256_index(color));
  return fmt::format("\x1b[{};2;{};{};{}m", target, color.red, color.green, color.blue);
}

// Follows the colours along a line and says how to get from one cell's to the next one's.
class ColorState {
 public:
  explicit ColorState(TerminalStyle::Color depth) : depth_(depth) {}

  std::string change_to(const CellColors& next) {
    if (depth_ == TerminalStyle::Color::none) return "";
    std::string codes;
    const bool drops_one = (now_.foreground && !next.foreground) || (now_.background && !next.background);
    if (drops_one) {
      codes += "\x1b[0m";
      now_ = {};
    }
    if (next.foreground != now_.foreground) codes += color_code(*next.foreground, false, depth_);
    if (next.background != now_.background) codes += color_code(*next.background, true, depth_);
    now_ = next;
    return codes;
  }

 private:
  TerminalStyle::Color depth_;
  CellColors now_;
};

}  // namespace

Canvas::Canvas(std::size_t columns, std::size_t rows, const TerminalStyle& style)
    : columns_(columns), rows_(rows), style_(style), cells_(columns * rows) {}

Canvas::Cell* Canvas::cell(std::size_t column, std::size_t row) {
  return column < columns_ && row < rows_ ? &cells_[row * columns_ + column] : nullptr;
}

void Canvas::write(std::size_t column, std::size_t row, std::string_view text, const CellColors& colors) {
  for (const Glyph& glyph : glyphs(text, style_.unicode)) {
    if (column + glyph.width > columns_) return;
    if (Cell* const at = cell(column, row)) *at = {glyph.text, 0, colors};
    if (glyph.width == 2) {
      if (Cell* const behind = cell(column + 1, row)) *behind = {"", 0, colors};
    }
    column += glyph.width;
  }
}

void Canvas::write_before(std::size_t column, std::size_t row, std::string_view text,
                          const CellColors& colors) {
  const std::size_t width = display_width(text, style_.unicode);
  if (width <= column) write(column - width, row, text, colors);
}

void Canvas::dot(Dot at, const Ink& ink) {
  if (at.x < 0 || at.y < 0) return;
  const std::size_t x = static_cast<std::size_t>(at.x);
  const std::size_t y = static_cast<std::size_t>(at.y);
  Cell* const target = cell(x / dots_across, y / dots_down);
  if (target == nullptr) return;
  if (style_.unicode) {
    target->dots |= braille_bits[y % dots_down][x % dots_across];
  } else {
    target->glyph = ink.ascii;
  }
  target->colors.foreground = ink.color;
}

void Canvas::line(Dot from, Dot to, const Ink& ink, std::size_t& travelled) {
  const std::ptrdiff_t across = to.x - from.x;
  const std::ptrdiff_t down = to.y - from.y;
  const std::ptrdiff_t steps = std::max<std::ptrdiff_t>({std::abs(across), std::abs(down), 1});
  for (std::ptrdiff_t i = 0; i <= steps; ++i) {
    const bool gap = ink.dashed && travelled / dash_length % 2 == 1;
    const double part = static_cast<double>(i) / static_cast<double>(steps);
    const auto along = [&](std::ptrdiff_t start, std::ptrdiff_t length) {
      return start + static_cast<std::ptrdiff_t>(std::lround(part * static_cast<double>(length)));
    };
    if (!gap) dot({along(from.x, across), along(from.y, down)}, ink);
    if (i < steps) ++travelled;
  }
}

std::string Canvas::text() const {
  std::string out;
  for (std::size_t row = 0; row < rows_; ++row) {
    const auto blank = [&](std::size_t column) {
      const Cell& at = cell(column, row);
      return at.glyph == " " && at.dots == 0 && !(style_.colored() && at.colors.background);
    };
    std::size_t end = columns_;
    while (end > 0 && blank(end - 1)) --end;
    ColorState state(style_.color);
    for (std::size_t column = 0; column < end; ++column) {
      const Cell& at = cell(column, row);
      out += state.change_to(blank(column) ? CellColors{} : at.colors);
      out += at.dots != 0 ? braille_text(at.dots) : at.glyph;
    }
    out += state.change_to({}) + '\n';
  }
  return out;
}

}  // namespace attnlab

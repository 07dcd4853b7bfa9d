#include "render/canvas.hpp"

#include <doctest/doctest.h>

using namespace attnlab;

namespace {

const TerminalStyle ascii{80, false, TerminalStyle::Color::none};
const TerminalStyle unicode{80, true, TerminalStyle::Color::none};
const TerminalStyle true_color{80, true, TerminalStyle::Color::truecolor};
const TerminalStyle few_colors{80, true, TerminalStyle::Color::ansi256};

constexpr Rgb red{255, 0, 0};
constexpr Rgb blue{0, 0, 255};

std::string diagonal(const TerminalStyle& style, bool dashed = false) {
  Canvas canvas(4, 2, style);
  std::size_t travelled = 0;
  canvas.line({0, 7}, {7, 0}, {red, '*', dashed}, travelled);
  return canvas.text();
}

}  // namespace

TEST_CASE("canvas: each dot has its place in the braille cell") {
  const char* const expected[] = {"\u2801", "\u2802", "\u2804", "\u2840",
                                  "\u2808", "\u2810", "\u2820", "\u2880"};
  for (std::ptrdiff_t i = 0; i < 8; ++i) {
    Canvas canvas(1, 1, unicode);
    canvas.dot({i / 4, i % 4}, {});
    CHECK(canvas.text() == std::string(expected[i]) + "\n");
  }
}

TEST_CASE("canvas: a line is a string of dots or of its letter") {
  CHECK(diagonal(unicode) == "  \u2860\u280a\n\u2860\u280a\n");
  CHECK(diagonal(ascii) == "  **\n**\n");
}

TEST_CASE("canvas: a dashed line leaves out every other three dots") {
  CHECK(diagonal(unicode, true) == "   \u280a\n\u2860\u2802\n");
}

TEST_CASE("canvas: what lies outside is dropped") {
  Canvas canvas(3, 1, unicode);
  std::size_t travelled = 0;
  canvas.line({-5, -5}, {-1, 9}, {}, travelled);
  canvas.dot({6, 0}, {});
  canvas.write(2, 0, "\u732b");
  canvas.write(9, 9, "x");
  canvas.write_before(1, 0, "long");
  CHECK(canvas.text() == "\n");
  canvas.write(1, 0, "abc");
  CHECK(canvas.text() == " ab\n");
  canvas.write_before(3, 0, "xy");
  CHECK(canvas.text() == " xy\n");
}

TEST_CASE("canvas: a wide glyph takes two cells") {
  Canvas canvas(4, 1, unicode);
  canvas.write(0, 0, "\u732bab");
  CHECK(canvas.text() == "\u732bab\n");
}

TEST_CASE("canvas: colours change only where they differ and end with the line") {
  Canvas canvas(6, 1, true_color);
  canvas.write(0, 0, "ab", {red, {}});
  canvas.write(2, 0, "c", {red, blue});
  canvas.write(4, 0, "d");
  CHECK(canvas.text() == "\x1b[38;2;255;0;0mab\x1b[48;2;0;0;255mc\x1b[0m d\n");
}

TEST_CASE("canvas: 256 colour terminals get indices") {
  Canvas canvas(1, 1, few_colors);
  canvas.write(0, 0, " ", {{}, red});
  CHECK(canvas.text() == "\x1b[48;5;196m \x1b[0m\n");
}

TEST_CASE("canvas: without colour there is no escape and a coloured blank is a blank") {
  Canvas canvas(3, 1, unicode);
  canvas.write(0, 0, "a", {red, blue});
  canvas.write(1, 0, "  ", {red, blue});
  CHECK(canvas.text() == "a\n");
}

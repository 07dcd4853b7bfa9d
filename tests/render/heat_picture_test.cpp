#include "render/heat_picture.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double missing = std::nan("");

const TerminalStyle ascii{40, false, TerminalStyle::Color::none};
const TerminalStyle unicode{40, true, TerminalStyle::Color::none};
const TerminalStyle colored{40, true, TerminalStyle::Color::truecolor};
const TerminalStyle few_colors{40, true, TerminalStyle::Color::ansi256};

// Causal weights of three tokens.
HeatPicture causal() {
  HeatPicture picture;
  picture.values = Matrix{{1.0, 0.0, 0.0}, {0.25, 0.75, 0.0}, {0.5, 0.0, 0.5}};
  picture.hidden = {false, true, true, false, false, true, false, false, false};
  picture.row_labels = picture.column_labels = {"the", "cat", "sat"};
  picture.row_axis = "query";
  picture.column_axis = "key";
  picture.domain = {{0.0, 1.0}};
  return picture;
}

// value(i, j) = i + j
HeatPicture ramp(std::size_t rows, std::size_t columns) {
  HeatPicture picture;
  picture.values = zeros(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) picture.values(i, j) = static_cast<double>(i + j);
  }
  return picture;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("heat picture: shades rise with the value and hidden entries are hatched") {
  CHECK(draw_heat_map(causal(), ascii) == R"(      key
query the cat sat
the   @@@@////////
cat   ----####////
sat   ++++    ++++
      0 [ ..:::--===++***##%%%@@@] 1
      // masked
)");
  CHECK(draw_heat_map(causal(), unicode) == R"(      key
query the cat sat
the   ████········
cat   ░░░░▓▓▓▓····
sat   ▒▒▒▒    ▒▒▒▒
      0 [ ░░░░░▒▒▒▒▒▒▓▓▓▓▓▓██████] 1
      ·· masked
)");
}

TEST_CASE("heat picture: the scale shrinks to a narrow terminal") {
  const std::string text = draw_heat_map(causal(), {24, false, TerminalStyle::Color::none});
  CHECK(contains(text, "\n      0 [ .:-=++*#%@@] 1\n      // masked\n"));
}

TEST_CASE("heat picture: colours carry the numbers of a small matrix") {
  HeatPicture picture;
  picture.values = Matrix{{0.0, 1.0}};
  picture.hidden = {false, true};
  picture.domain = {{0.0, 1.0}};
  const std::string text = draw_heat_map(picture, few_colors);
  CHECK(contains(text, "\x1b[38;5;231m\x1b[48;5;53m 0 "));  // white on the darkest colour
  CHECK(contains(text, "\x1b[48;5;240m"));                  // hidden
  CHECK_FALSE(contains(text, "1.00"));
  CHECK(contains(text, " masked\n"));
}

TEST_CASE("heat picture: labels that are wider than the cells stand upright") {
  HeatPicture picture = ramp(2, 12);
  picture.column_labels = {"token", "a", "token", "b", "token", "c",
                           "token", "d", "token", "e", "token", "f"};
  CHECK(draw_heat_map(picture, ascii) == R"(  t   t   t   t   t   t
  o   o   o   o   o   o
  k   k   k   k   k   k
  e   e   e   e   e   e
  n a n b n c n d n e n f
0   ..::----==++****##%%@@
1 ..::----==++****##%%@@@@
  0 [ ..:::--===++***##%%%@@@] 12
)");
}

TEST_CASE("heat picture: two rows share a cell where entries are many") {
  const std::string text = draw_heat_map(ramp(5, 30), colored);
  CHECK(count(text, "\u2580") == 3 * 30);
  // The first cell shows 0 over 1, of 33; the last row stands alone.
  CHECK(contains(text, "\x1b[38;2;68;1;84m\x1b[48;2;70;12;95m\u2580"));
  CHECK(count(text, "\n") == 5);
  CHECK_FALSE(contains(text, "mean"));
}

TEST_CASE("heat picture: one cell is the mean of several where they do not fit") {
  CHECK(draw_heat_map(ramp(8, 60), ascii) == R"(  0         20        40
0  ...:::----===++++***####%%%@@
  ..:::----===++++***####%%%@@@@
  2 [ ..:::--===++***##%%%@@@] 64
  a cell is the mean of 4 x 2 entries
)");
}

TEST_CASE("heat picture: a mean leaves out what is hidden or not a number") {
  HeatPicture picture = ramp(2, 40);
  picture.hidden.assign(80, false);
  for (std::size_t j = 0; j < 40; ++j) {
    picture.values(0, j) = 7.0;
    picture.values(1, j) = j < 20 ? missing : 100.0;
    picture.hidden[40 + j] = j >= 20;
  }
  const std::string text = draw_heat_map(picture, ascii);
  CHECK(contains(text, "all 7\n"));
  CHECK_FALSE(contains(text, "?"));
  CHECK_FALSE(contains(text, "/"));
}

TEST_CASE("heat picture: missing and infinite values are named and the scale stays finite") {
  HeatPicture picture;
  picture.values = Matrix{{missing, 1.0, 2.0}, {-infinity, infinity, 1.5}};
  CHECK(draw_heat_map(picture, ascii) == R"(  0 1 2
0 ??  @@
1   @@++
  1 [ ..:::--===++***##%%%@@@] 2
  ?? not a number
  infinite values have the colours of the ends
)");
  picture.values = Matrix{{missing, infinity}};
  const std::string text = draw_heat_map(picture, colored);
  CHECK_FALSE(contains(text, "inf "));
  CHECK_FALSE(contains(text, "nan"));
}

TEST_CASE("heat picture: constant data have one colour and one number") {
  HeatPicture picture;
  picture.values = Matrix{{0.25, 0.25}};
  CHECK(draw_heat_map(picture, ascii) == R"(  0 1
0 ++++
  all 0.25
)");
}

TEST_CASE("heat picture: escapes come with colour alone") {
  CHECK(contains(draw_heat_map(causal(), colored), "\x1b["));
  CHECK_FALSE(contains(draw_heat_map(causal(), unicode), "\x1b"));
  for (const char c : draw_heat_map(causal(), ascii)) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
}

TEST_CASE("heat picture: no width breaks it") {
  for (const int width : {-1, 0, 1, 9, 500}) {
    for (const bool with_unicode : {false, true}) {
      const TerminalStyle style{width, with_unicode, TerminalStyle::Color::ansi256};
      CHECK(contains(draw_heat_map(causal(), style), "key"));
      CHECK(contains(draw_heat_map(ramp(300, 200), style), "mean"));
      CHECK(contains(draw_heat_map(ramp(1, 1), style), "all 0"));
    }
  }
}

TEST_CASE("heat picture: an empty matrix says so and what does not fit is refused") {
  CHECK(draw_heat_map({zeros(0, 3)}, ascii) == "nothing to draw: the matrix is empty\n");
  HeatPicture picture = ramp(2, 3);
  picture.row_labels = {"a"};
  CHECK_THROWS_WITH_AS(draw_heat_map(picture, ascii), "draw_heat_map: 1 row labels for 2", Error);
  picture.row_labels.clear();
  picture.hidden = {true};
  CHECK_THROWS_WITH_AS(draw_heat_map(picture, ascii), "draw_heat_map: 1 hidden flags for shape [2, 3]",
                       Error);
}

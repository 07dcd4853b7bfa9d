#include "render/line_picture.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();

const TerminalStyle ascii{34, false, TerminalStyle::Color::none};
const TerminalStyle unicode{34, true, TerminalStyle::Color::none};
const TerminalStyle colored{34, true, TerminalStyle::Color::truecolor};

LinePicture spread() {
  const std::vector<double> sizes{4, 16, 64};
  return {{{"raw", sizes, {2, 4, 8}, {0.5, 1.0, 1.5}},
           {"scaled", sizes, {1, 1, 1}},
           {"sqrt", sizes, {2.5, 5, 10}, {}, true}},
          {"head_dim", Scale::log2},
          {"spread"},
          6};
}

LinePicture single(std::vector<double> x, std::vector<double> y, Scale scale = Scale::linear) {
  return {{{"a", std::move(x), std::move(y)}}, {}, {"", scale}, 4};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("line picture: ascii draws every series with its own letter") {
  CHECK(draw_lines(spread(), ascii) == R"(spread
10 +                          .. |
   |                    .. ..*****
   |                 ..*******   |
 5 +     .. .***********
   |**********     |
 0 +oooooooooooooooooooooooooooooo
   ++--------------+-------------+
    4             16            64
               head_dim
    * raw   o scaled   . sqrt
)");
}

TEST_CASE("line picture: unicode draws dots and marks the points") {
  CHECK(draw_lines(spread(), unicode) == R"(spread
10 ┤                          ⠠⠤ ⢸
   │                    ⢀⣀ ⠐⠊⢀⣀⡠⠤●
   │                 ⠠⠔⢀⣀⠤⠔⠒⠉⠁   ⠈
 5 ┤     ⢀⣀ ⠠⢤⣀⣐⣒⡠⠬●⠒⠊⠉⠁
   │●⠤⠚⠛⠒⠒⠉⠉⠉⠁     ⠁
 0 ┤○⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒○⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒○
   └┬──────────────┬─────────────┬
    4             16            64
               head_dim
    ─●─ raw   ─○─ scaled
    ╌╌╌ sqrt
)");
}

TEST_CASE("line picture: one point and constant data have axes with numbers") {
  CHECK(draw_lines(single({3}, {0}), unicode) == R"( 1 ┤
   │
 0 ┤┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄●┄┄┄┄┄┄┄┄┄┄┄┄┄┄
-1 ┤
   └─────┬──────────────────┬─────
         2                  4
)");
  CHECK(draw_lines(single({1, 2}, {5, 5}), ascii) == R"(10 +
   |
 5 +******************************
 0 +
   ++--------------+-------------+
   1.0            1.5          2.0
)");
}

TEST_CASE("line picture: points without a place leave gaps and are counted") {
  CHECK(draw_lines(single({0, 1, 2, 3, 4, 5}, {0, 1, std::nan(""), 1, -infinity, 0}), unicode) ==
        R"(1.0 ┤    ⢀●           ●
    │   ⡰⠁
0.5 ┤ ⢀⠎
  0 ┤●⠁                          ●
    └┬───────────────────────────┬
     0                           5
2 points left out: not finite
)");
  CHECK(contains(draw_lines(single({1, 2, 3}, {1, 0, 10}, Scale::log10), ascii),
                 "1 point left out: not finite and positive\n"));
}

TEST_CASE("line picture: without a point that has a place it says so") {
  CHECK(draw_lines(single({1, 2}, {std::nan(""), infinity}), unicode) ==
        "nothing to draw: no point is finite\n");
  CHECK(draw_lines(single({}, {}), unicode) == "nothing to draw: no point is finite\n");
  CHECK(draw_lines({}, ascii) == "nothing to draw: no point is finite\n");
  CHECK(draw_lines(single({1}, {-1}, Scale::log2), ascii) ==
        "nothing to draw: no point is finite and positive\n");
}

TEST_CASE("line picture: escapes come with colour alone") {
  const std::string picture = draw_lines(spread(), colored);
  CHECK(contains(picture, "\x1b[38;2;230;159;0m"));
  CHECK(contains(picture, "\x1b[38;2;86;180;233m"));
  CHECK_FALSE(contains(draw_lines(spread(), unicode), "\x1b"));
  for (const char c : draw_lines(spread(), ascii)) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
}

TEST_CASE("line picture: no width or range breaks it") {
  for (const int width : {-1, 0, 1, 7, 20, 1000}) {
    for (const std::vector<double>& y :
         {std::vector<double>{-largest, largest}, {5e-324, 0}, {1e300, 1e-300}}) {
      for (const Scale scale : {Scale::linear, Scale::log10}) {
        const TerminalStyle style{width, true, TerminalStyle::Color::none};
        LinePicture picture = single({0, 1}, y, scale);
        picture.y_axis.title = "a title that is longer than the picture is wide";
        picture.x_axis.title = picture.y_axis.title;
        picture.series.push_back(picture.series.front());
        picture.series.back().label = picture.y_axis.title;
        const std::string text = draw_lines(picture, style);
        CHECK_FALSE(contains(text, "inf "));
        CHECK_FALSE(contains(text, "nan "));
        CHECK(contains(text, "\n"));
      }
    }
  }
}

TEST_CASE("line picture: an error bar that passes below a logarithmic axis ends at it") {
  LinePicture picture = single({1, 2}, {1, 100}, Scale::log10);
  picture.series[0].error = {2, 0};
  CHECK(draw_lines(picture, ascii) == R"(100 +                      *******
    |              ********
 10 +|      ********
  1 +*******
    ++-------------+-------------+
    1.0           1.5          2.0
)");
}

TEST_CASE("line picture: values of different lengths are refused") {
  CHECK_THROWS_WITH_AS(draw_lines(single({1, 2}, {1}), ascii),
                       "draw_lines: \"a\" has 2 x, 1 y and 0 error values", Error);
}

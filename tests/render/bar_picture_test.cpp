#include "render/bar_picture.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();

const TerminalStyle ascii{40, false, TerminalStyle::Color::none};
const TerminalStyle unicode{40, true, TerminalStyle::Color::none};
const TerminalStyle colored{40, true, TerminalStyle::Color::ansi256};

BarPicture components() {
  return {{"attention", "mlp", "norms"}, {{"count", {28348416, 56669184, 38400}}}, "parameters"};
}

BarPicture models(bool stacked) {
  return {{"small", "large"}, {{"attention", {3, 10}}, {"mlp", {4, 20}}, {"norms", {1, 2}}}, "", stacked};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("bar picture: lengths are proportional and end on eighths of a cell") {
  CHECK(draw_bars(components(), ascii) == R"(parameters
attention |######### 28,348,416
mlp       |################## 56,669,184
norms     | 38,400
)");
  CHECK(draw_bars(components(), unicode) == R"(parameters
attention │█████████ 28,348,416
mlp       │██████████████████ 56,669,184
norms     │▏ 38,400
)");
}

TEST_CASE("bar picture: series stand below each other or end to end") {
  CHECK(draw_bars(models(false), ascii) == R"(small |##### 3
      |====== 4
      |++ 1
large |############### 10
      |============================== 20
      |+++ 2
      ## attention   == mlp   ++ norms
)");
  CHECK(draw_bars(models(true), ascii) == R"(small |###====+ 8
large |#########===================++ 32
      ## attention   == mlp   ++ norms
)");
  CHECK(draw_bars(models(true), unicode) == R"(small │███▒▒▒▒▓ 8
large │█████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓ 32
      ██ attention   ▒▒ mlp   ▓▓ norms
)");
}

TEST_CASE("bar picture: values below zero go to the left and what is no number has no bar") {
  CHECK(draw_bars({{"a", "b", "c", "d"}, {{"delta", {-1.5, 0.75, std::nan(""), infinity}}}}, unicode) ==
        R"(a ███████████████│ -1.5
b                │███████▍ 0.75
c                │ (not a number)
d                │ (infinite)
)");
}

TEST_CASE("bar picture: a logarithmic scale starts a power of ten below") {
  CHECK(draw_bars({{"a", "b", "c"}, {{"bytes", {100, 10000, 0}}}, "bytes", false, true}, ascii) == R"(bytes
a |####### 100
b |#################### 10,000
c | 0 (no logarithm)
  decades: equal steps are equal ratios
)");
  const BarPicture wide_labels{{"attention"}, {{"bytes", {100}}}, "bytes", false, true};
  CHECK(contains(draw_bars(wide_labels, ascii), "\ndecades: equal steps"));
}

TEST_CASE("bar picture: zeros alone have no bars") {
  CHECK(draw_bars({{"a", "b"}, {{"x", {0, 0}}}}, unicode) == R"(a │ 0
b │ 0
)");
}

TEST_CASE("bar picture: escapes come with colour alone") {
  CHECK(contains(draw_bars(models(true), colored), "\x1b[38;5;"));
  CHECK_FALSE(contains(draw_bars(models(true), unicode), "\x1b"));
  for (const char c : draw_bars(models(false), ascii)) CHECK((c == '\n' || (c >= ' ' && c <= '~')));
}

TEST_CASE("bar picture: no width or range breaks it") {
  for (const int width : {-1, 0, 1, 12, 1000}) {
    for (const std::vector<double>& values :
         {std::vector<double>{-largest, largest}, {5e-324, 0}, {std::nan(""), -infinity}, {1e300, 1e-300}}) {
      for (const bool logarithmic : {false, true}) {
        const TerminalStyle style{width, true, TerminalStyle::Color::none};
        const std::string text =
            draw_bars({{"a", "b"}, {{"x", values}, {"y", values}}, "axis", false, logarithmic}, style);
        CHECK_FALSE(contains(text, "nan"));
        CHECK_FALSE(contains(text, "inf\n"));
      }
    }
  }
}

TEST_CASE("bar picture: without bars it says so and what does not fit is refused") {
  CHECK(draw_bars({}, ascii) == "nothing to draw: there are no bars\n");
  CHECK_THROWS_WITH_AS(draw_bars({{"a"}, {{"x", {1, 2}}}}, ascii),
                       "draw_bars: \"x\" has 2 values for 1 labels", Error);
  CHECK_THROWS_WITH_AS(draw_bars({{"a"}, {{"x", {1}}}, "", true, true}, ascii),
                       "draw_bars: a stack cannot be logarithmic", Error);
}

#include "render/palette.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace attnlab;

namespace {

double linear_light(std::uint8_t value) {
  const double part = value / 255.0;
  return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
}

double luminance(Rgb color) {
  return 0.2126 * linear_light(color.red) + 0.7152 * linear_light(color.green) +
         0.0722 * linear_light(color.blue);
}

// CIE 1976: 0 for black, 100 for white.
double lightness(Rgb color) { return 116.0 * std::cbrt(luminance(color)) - 16.0; }

int distance(Rgb a, Rgb b) {
  return std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
}

}  // namespace

TEST_CASE("palette: the sequential colours are viridis at its ends and in the middle") {
  CHECK(hex_color(sequential_color(0.0)) == "#440154");
  CHECK(hex_color(sequential_color(1.0)) == "#fde725");
  CHECK(distance(sequential_color(0.5), {33, 145, 140}) <= 6);  // entry 128 of 256
  CHECK(sequential_color(-7.0) == sequential_color(0.0));
  CHECK(sequential_color(7.0) == sequential_color(1.0));
}

TEST_CASE("palette: equal steps of the sequential colours are equal steps of lightness") {
  constexpr int steps = 15;
  const double mean = (lightness(sequential_color(1.0)) - lightness(sequential_color(0.0))) / steps;
  for (int i = 0; i < steps; ++i) {
    CAPTURE(i);
    const double step = lightness(sequential_color((i + 1.0) / steps)) -
                        lightness(sequential_color(i / static_cast<double>(steps)));
    CHECK(step > 0.75 * mean);
    CHECK(step < 1.25 * mean);
  }
}

TEST_CASE("palette: the diverging colours are blue and red and equally light on both sides") {
  CHECK(diverging_color(-1.0).blue > diverging_color(-1.0).red);
  CHECK(diverging_color(1.0).red > diverging_color(1.0).blue);
  CHECK(lightness(diverging_color(0.0)) > 95.0);
  for (int i = 1; i <= 10; ++i) {
    CAPTURE(i);
    const double left = lightness(diverging_color(-i / 10.0));
    const double right = lightness(diverging_color(i / 10.0));
    CHECK(std::abs(left - right) < 6.0);
    CHECK(left < lightness(diverging_color(-(i - 1) / 10.0)));
    CHECK(right < lightness(diverging_color((i - 1) / 10.0)));
  }
}

TEST_CASE("palette: masked and missing entries have colours that no value has") {
  for (int i = 0; i <= 1000; ++i) {
    const double t = i / 1000.0;
    for (const Rgb color : {sequential_color(t), diverging_color(2 * t - 1)}) {
      CHECK(distance(color, masked_color) > 40);
      CHECK(distance(color, missing_color) > 40);
    }
  }
}

TEST_CASE("palette: text stands out from every colour") {
  for (int i = 0; i <= 100; ++i) {
    const Rgb background = sequential_color(i / 100.0);
    const double a = luminance(background) + 0.05;
    const double b = luminance(contrasting_color(background)) + 0.05;
    CHECK(std::max(a / b, b / a) > 4.5);
  }
}

TEST_CASE("palette: series repeat their colours after seven") {
  CHECK(series_color(0) == Rgb{230, 159, 0});
  CHECK(series_color(7) == series_color(0));
  CHECK_FALSE(series_color(6) == series_color(0));
}

TEST_CASE("palette: 256 colour terminals get the nearest fixed entry") {
  CHECK(ansi256_index({0, 0, 0}) == 16);
  CHECK(ansi256_index({255, 255, 255}) == 231);
  CHECK(ansi256_index({255, 0, 0}) == 196);
  CHECK(ansi256_index({128, 128, 128}) == 244);
  CHECK(ansi256_index({88, 88, 88}) == 240);
  CHECK(ansi256_index({90, 140, 210}) == 68);  // 95, 135, 215
}

TEST_CASE("palette: a scale takes the given domain or the finite values") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{2.0, std::nan(""), 6.0, infinity, -infinity};
  const ColorScale own = color_scale(values);
  CHECK(own.low == 2.0);
  CHECK(own.high == 6.0);
  CHECK_FALSE(own.diverging);
  CHECK(own.position(3.0) == 0.25);
  CHECK(own.position(-infinity) == 0.0);
  CHECK(own.position(infinity) == 1.0);
  CHECK(own.color(std::nan("")) == missing_color);
  const ColorScale given = color_scale(values, {{0.0, 1.0}});
  CHECK(given.low == 0.0);
  CHECK(given.high == 1.0);
  const ColorScale none = color_scale({});
  CHECK(none.low == 0.0);
  CHECK(none.high == 1.0);
}

TEST_CASE("palette: a scale diverges where values reach well to both sides of zero") {
  const ColorScale both = color_scale(std::vector<double>{-1.0, 4.0});
  CHECK(both.diverging);
  CHECK(both.low == -4.0);
  CHECK(both.high == 4.0);
  CHECK(both.color(0.0) == diverging_color(0.0));
  CHECK_FALSE(color_scale(std::vector<double>{-0.9, 4.0}).diverging);
  CHECK_FALSE(color_scale(std::vector<double>{0.0, 0.0}).diverging);
  CHECK(color_scale(std::vector<double>{-1.0}, {{-2.0, 2.0}}).diverging);
}

TEST_CASE("palette: constant data and the widest range have positions") {
  CHECK(ColorScale{3.0, 3.0}.position(3.0) == 0.5);
  constexpr double largest = std::numeric_limits<double>::max();
  CHECK(ColorScale{-largest, largest}.position(0.0) == 0.5);
}

#include "render/palette.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attnlab {
namespace {

// Every seventeenth of viridis' 256 entries.
constexpr std::array<Rgb, 16> viridis{{{68, 1, 84},
                                       {72, 26, 108},
                                       {71, 47, 125},
                                       {65, 68, 135},
                                       {57, 86, 140},
                                       {49, 104, 142},
                                       {42, 120, 142},
                                       {35, 136, 142},
                                       {31, 152, 139},
                                       {34, 168, 132},
                                       {53, 183, 121},
                                       {84, 197, 104},
                                       {122, 209, 81},
                                       {165, 219, 54},
                                       {210, 226, 27},
                                       {253, 231, 37}}};

constexpr std::array<Rgb, 7> okabe_ito{{{230, 159, 0},
                                        {86, 180, 233},
                                        {0, 158, 115},
                                        {240, 228, 66},
                                        {0, 114, 178},
                                        {213, 94, 0},
                                        {204, 121, 167}}};

std::uint8_t channel(double value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

std::uint8_t between(std::uint8_t from, std::uint8_t to, double part) {
  return channel(from + (to - from) * part);
}

// The transfer function of sRGB, from linear light in [0, 1].
std::uint8_t encoded(double linear) {
  const double light = std::clamp(linear, 0.0, 1.0);
  return channel(255.0 * (light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1.0 / 2.4) - 0.055));
}

double decoded(std::uint8_t value) {
  const double part = value / 255.0;
  return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
}

double cube(double x) { return x * x * x; }

Rgb from_oklab(double lightness, double a, double b) {
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

int squared_distance(Rgb a, Rgb b) {
  const int red = a.red - b.red;
  const int green = a.green - b.green;
  const int blue = a.blue - b.blue;
  return red * red + green * green + blue * blue;
}

constexpr std::array<std::uint8_t, 6> cube_levels{0, 95, 135, 175, 215, 255};

int nearest_cube_level(std::uint8_t value) {
  int nearest = 0;
  for (int i = 1; i < 6; ++i) {
    if (std::abs(cube_levels[i] - value) < std::abs(cube_levels[nearest] - value)) nearest = i;
  }
  return nearest;
}

}  // namespace

Rgb sequential_color(double t) {
  const double at = std::clamp(t, 0.0, 1.0) * (viridis.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const Rgb from = viridis[below];
  const Rgb to = viridis[std::min(below + 1, viridis.size() - 1)];
  const double part = at - static_cast<double>(below);
  return {between(from.red, to.red, part), between(from.green, to.green, part),
          between(from.blue, to.blue, part)};
}

Rgb diverging_color(double t) {
  constexpr double degree = 3.14159265358979323846 / 180.0;
  constexpr double lightest = 0.97;
  constexpr double darkest = 0.50;
  constexpr double strongest = 0.17;  // chroma
  const double strength = std::abs(std::clamp(t, -1.0, 1.0));
  const double hue = (t < 0 ? 255.0 : 28.0) * degree;
  const double chroma = strongest * strength;
  return from_oklab(lightest + (darkest - lightest) * strength, chroma * std::cos(hue),
                    chroma * std::sin(hue));
}

Rgb series_color(std::size_t index) { return okabe_ito[index % okabe_ito.size()]; }

Rgb contrasting_color(Rgb background) {
  const double luminance = 0.2126 * decoded(background.red) + 0.7152 * decoded(background.green) +
                           0.0722 * decoded(background.blue);
  // Where the contrast ratios against black and white are equal (WCAG 2.1: (light + 0.05) / (dark + 0.05)).
  return luminance > 0.179 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

std::string hex_color(Rgb color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

int ansi256_index(Rgb color) {
  const int red = nearest_cube_level(color.red);
  const int green = nearest_cube_level(color.green);
  const int blue = nearest_cube_level(color.blue);
  const Rgb in_cube{cube_levels[red], cube_levels[green], cube_levels[blue]};
  const int mean = (color.red + color.green + color.blue) / 3;
  const int step = std::clamp((mean - 3) / 10, 0, 23);  // greys are 8, 18, ... 238
  const std::uint8_t level = static_cast<std::uint8_t>(8 + 10 * step);
  if (squared_distance(color, {level, level, level}) < squared_distance(color, in_cube)) return 232 + step;
  return 16 + 36 * red + 6 * green + blue;
}

double ColorScale::position(double value) const {
  if (!(low < high)) return 0.5;
  // Halved, so that the span of the widest range is still finite.
  return (std::clamp(value, low, high) / 2 - low / 2) / (high / 2 - low / 2);
}

Rgb ColorScale::color(double value) const {
  if (std::isnan(value)) return missing_color;
  return diverging ? diverging_color(2.0 * position(value) - 1.0) : sequential_color(position(value));
}

ColorScale color_scale(std::span<const double> values,
                       const std::optional<std::pair<double, double>>& domain) {
  if (domain) return {domain->first, domain->second, domain->first < 0 && -domain->first == domain->second};
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  const double reach = std::max(-low, high);
  if (std::min(-low, high) >= reach / 4 && reach > 0) return {-reach, reach, true};
  return {low, high, false};
}

}  // namespace attnlab

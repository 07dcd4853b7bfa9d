// Colours that every writer of pictures shares: terminal, gnuplot, page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace attnlab {

/// A colour in sRGB.
struct Rgb {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// Entries that a mask hides, and values that are not a number: colours that neither palette has.
inline constexpr Rgb masked_color{88, 88, 88};
inline constexpr Rgb missing_color{214, 39, 130};

/// Dark blue at 0 to yellow at 1, equal steps of lightness for equal steps of t, legible without colour
/// vision; t is clamped to [0, 1]. Source: viridis by S. van der Walt, N. Smith and E. Firing, 2015, released
/// under CC0.
Rgb sequential_color(double t);

/// Blue at -1, near white at 0, red at 1, equally light on both sides; t is clamped to [-1, 1].
/// Source: hues on a ramp of lightness in the OKLab space, B. Ottosson, 2020.
Rgb diverging_color(double t);

/// The colour of line or bar number `index`, repeating after seven.
/// Source: M. Okabe and K. Ito, "Color universal design", 2008; their black is left out for dark terminals.
Rgb series_color(std::size_t index);

/// Black or white, whichever reads better on a background.
Rgb contrasting_color(Rgb background);

/// "#21918c".
std::string hex_color(Rgb color);

/// The nearest of the 240 fixed entries of the 256 colour terminal palette: 16 to 255.
int ansi256_index(Rgb color);

/// How the values of a heat map become colours.
struct ColorScale {
  double low = 0.0;
  double high = 1.0;
  bool diverging = false;  ///< zero is the middle, and -low equals high

  /// 0 at `low`, 1 at `high`, clamped; 0.5 where both are equal. Not for NaN.
  double position(double value) const;
  /// missing_color for NaN.
  Rgb color(double value) const;
};

/// The given domain, or the range of the finite values: symmetric and diverging where they reach well to both
/// sides of zero. [0, 1] when none is finite.
ColorScale color_scale(std::span<const double> values,
                       const std::optional<std::pair<double, double>>& domain = {});

}  // namespace attnlab

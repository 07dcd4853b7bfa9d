// Axes of pictures: which stretch of values is shown, where a value lies in it, which round numbers label it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lab/report.hpp"

namespace attnlab {

/// What an axis shows. low < high; both finite, and positive on a logarithmic scale.
struct AxisRange {
  Scale scale = Scale::linear;
  double low = 0.0;
  double high = 1.0;

  /// 0 at `low`, 1 at `high`; of a drawable value.
  double position(double value) const;
};

/// A labelled place on an axis.
struct Tick {
  double value;
  std::string text;
};

/// Whether a value has a place on an axis: finite, and positive on a logarithmic scale.
bool drawable(double value, Scale scale);

/// The range of the drawable values. Equal values, up to rounding errors, get room on both sides; without any
/// the range is 0 to 1, on a logarithmic scale 1 to 10.
AxisRange axis_range(std::span<const double> values, Scale scale);

/// A linear range extended to the round numbers around it; other scales as they are.
AxisRange rounded_range(const AxisRange& range, std::size_t most_ticks);

/// About `most_ticks` round numbers within the range, ascending: 1, 2 or 5 times a power of ten, or powers of
/// the logarithm's base where two of them lie in it. Texts are numbers, short and different from each other.
/// Source: P. Heckbert, "Nice numbers for graph labels", Graphics Gems, 1990.
std::vector<Tick> axis_ticks(const AxisRange& range, std::size_t most_ticks);

}  // namespace attnlab

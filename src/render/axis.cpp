#include "render/axis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace attnlab {
namespace {

// Differences that are this small beside the values are rounding errors, and spans below are no more than
// zero.
constexpr double relative_noise = 1e-12;
constexpr double smallest_span = 1e-290;

double base_of(Scale scale) { return scale == Scale::log2 ? 2.0 : 10.0; }

double logarithm(double value, Scale scale) {
  return scale == Scale::log2 ? std::log2(value) : std::log10(value);
}

AxisRange around_constant(double value, Scale scale) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (scale != Scale::linear) {
    const double base = base_of(scale);
    const double smallest = std::numeric_limits<double>::min();
    return {scale, std::max(value / base, smallest), std::min(value * base, largest)};
  }
  if (std::abs(value) < smallest_span) return {scale, -1.0, 1.0};
  const double room = std::abs(value) / 2;
  return {scale, std::max(value - room, -largest), std::min(value + room, largest)};
}

// The smallest of 1, 2, 5, 10 times a power of ten that cuts the range into at most `most` pieces.
double round_step(const AxisRange& range, std::size_t most) {
  const double pieces = static_cast<double>(std::max<std::size_t>(most, 1));
  const double raw = (range.high / 2 - range.low / 2) / pieces * 2;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

int decimal_exponent(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-9)); }

// 1.5e+06 as 1.5e6.
std::string scientific_text(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits);
  const std::size_t e = text.find('e');
  return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

std::vector<Tick> linear_ticks(const AxisRange& range, std::size_t most) {
  const double step = round_step(range, most);
  const double first = std::ceil(range.low / step - 1e-6);
  const double last = std::floor(range.high / step + 1e-6);
  const double largest = std::max(std::abs(first), std::abs(last)) * step;
  const int step_exponent = decimal_exponent(step);
  const bool positional = largest < 1e6 && step_exponent >= -5;
  std::vector<Tick> ticks;
  for (int i = 0; first + i <= last; ++i) {
    const double value = (first + i) * step;
    if (!std::isfinite(value)) continue;
    if (first + i == 0) {
      ticks.push_back({0.0, "0"});
    } else if (positional) {
      ticks.push_back({value, fmt::format("{:.{}f}", value, std::max(0, -step_exponent))});
    } else {
      ticks.push_back(
          {value, scientific_text(value, std::max(0, decimal_exponent(largest) - step_exponent))});
    }
  }
  return ticks;
}

std::string power_text(int exponent, Scale scale) {
  if (scale == Scale::log2) {
    if (exponent > 20 || exponent < -3) return fmt::format("2^{}", exponent);
  } else if (exponent > 5 || exponent < -4) {
    return fmt::format("1e{}", exponent);
  }
  const double value = std::pow(base_of(scale), exponent);
  return exponent < 0 ? fmt::format("{:g}", value) : fmt::format("{:.0f}", value);
}

std::vector<Tick> power_ticks(const AxisRange& range, std::size_t most) {
  const int first = static_cast<int>(std::ceil(logarithm(range.low, range.scale) - 1e-9));
  const int last = static_cast<int>(std::floor(logarithm(range.high, range.scale) + 1e-9));
  const int stride = 1 + std::max(0, last - first) / (static_cast<int>(most) + 1);
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; exponent += stride) {
    const double value = std::pow(base_of(range.scale), exponent);
    if (std::isfinite(value)) ticks.push_back({value, power_text(exponent, range.scale)});
  }
  return ticks;
}

}  // namespace

bool drawable(double value, Scale scale) {
  return std::isfinite(value) && (scale == Scale::linear || value >= std::numeric_limits<double>::min());
}

double AxisRange::position(double value) const {
  if (scale == Scale::linear) return (value / 2 - low / 2) / (high / 2 - low / 2);
  return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
}

AxisRange axis_range(std::span<const double> values, Scale scale) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!drawable(value, scale)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return scale == Scale::linear ? AxisRange{} : AxisRange{scale, 1.0, 10.0};
  const double noise = std::max(relative_noise * std::max(std::abs(low), std::abs(high)), smallest_span);
  if (high / 2 - low / 2 <= noise / 2) return around_constant(low / 2 + high / 2, scale);
  return {scale, low, high};
}

AxisRange rounded_range(const AxisRange& range, std::size_t most_ticks) {
  if (range.scale != Scale::linear) return range;
  const double step = round_step(range, most_ticks);
  const AxisRange rounded{range.scale, std::floor(range.low / step + 1e-6) * step,
                          std::ceil(range.high / step - 1e-6) * step};
  return std::isfinite(rounded.low) && std::isfinite(rounded.high) ? rounded : range;
}

std::vector<Tick> axis_ticks(const AxisRange& range, std::size_t most_ticks) {
  if (range.scale != Scale::linear) {
    std::vector<Tick> powers = power_ticks(range, most_ticks);
    if (powers.size() >= 2) return powers;
  }
  return linear_ticks(range, most_ticks);
}

}  // namespace attnlab

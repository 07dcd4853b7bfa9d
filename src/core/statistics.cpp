#include "core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

constexpr std::size_t lanes = 8;
constexpr std::size_t unsplit = 128;
constexpr std::size_t buffer = 8192;

template <typename Item>
double pairwise(const Item& item, std::size_t first, std::size_t count) {
  if (count < lanes) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += item(first + i);
    return sum;
  }
  if (count <= unsplit) {
    double partial[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) partial[lane] = item(first + lane);
    std::size_t i = lanes;
    for (; i + lanes <= count; i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) partial[lane] += item(first + i + lane);
    }
    double sum = ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
                 ((partial[4] + partial[5]) + (partial[6] + partial[7]));
    for (; i < count; ++i) sum += item(first + i);
    return sum;
  }
  const std::size_t half = count / 2 - count / 2 % lanes;
  return pairwise(item, first, half) + pairwise(item, first + half, count - half);
}

// The sum of item(0) .. item(count - 1) in NumPy's order: its iterator hands over one buffer after the other.
template <typename Item>
double numpy_sum(const Item& item, std::size_t count) {
  double sum = 0;
  for (std::size_t first = 0; first < count; first += buffer) {
    sum += pairwise(item, first, std::min(buffer, count - first));
  }
  return sum;
}

void require_values(std::span<const double> values) {
  if (values.empty())
    throw Error(ErrorKind::data, "the largest of no values is not defined: give at least one");
}

}  // namespace

double pairwise_sum(std::span<const double> values) {
  return numpy_sum([&](std::size_t i) { return values[i]; }, values.size());
}

double mean(std::span<const double> values) {
  return pairwise_sum(values) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  const double centre = mean(values);
  const auto squared_deviation = [&](std::size_t i) { return (values[i] - centre) * (values[i] - centre); };
  return numpy_sum(squared_deviation, values.size()) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) { return std::sqrt(variance(values)); }

double standard_error(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  return std::sqrt(variance(values) / (count - 1));
}

double entropy(std::span<const double> weights) {
  double sum = 0;
  for (const double weight : weights) {
    if (weight != 0) sum -= weight * std::log(weight);
  }
  return sum;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) {
    throw Error(ErrorKind::data,
                fmt::format("lengths {} and {} have no difference: give equal lengths", a.size(), b.size()));
  }
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]);
    if (std::isnan(difference)) return difference;
    worst = std::max(worst, difference);
  }
  return worst;
}

double dot(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) {
    throw Error(ErrorKind::data,
                fmt::format("a dot product of lengths {} and {} needs equal lengths", a.size(), b.size()));
  }
  return numpy_sum([&](std::size_t i) { return a[i] * b[i]; }, a.size());
}

double maximum(std::span<const double> values) {
  require_values(values);
  double largest = -std::numeric_limits<double>::infinity();
  for (const double value : values) {
    if (std::isnan(value)) return value;
    largest = std::max(largest, value);
  }
  return largest;
}

std::size_t argmax(std::span<const double> values) {
  require_values(values);
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

bool all_close(std::span<const double> got, std::span<const double> want, double relative, double absolute) {
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;  // equal infinities, whose difference is NaN
    if (!(std::abs(got[i] - want[i]) <= absolute + relative * std::abs(want[i]))) return false;
    if (std::isinf(want[i])) return false;
  }
  return true;
}

}  // namespace attnlab

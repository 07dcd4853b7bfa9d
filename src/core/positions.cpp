#include "core/positions.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {

Matrix sinusoidal(std::size_t seq_len, std::size_t d_model, double base) {
  Matrix encoding = Matrix::from_shape({seq_len, d_model});
  for (std::size_t column = 0; column < d_model; ++column) {
    const std::size_t pair = column / 2;
    const long double exponent = static_cast<long double>(2 * pair) / static_cast<long double>(d_model);
    const long double wavelength = std::pow(static_cast<long double>(base), exponent);
    for (std::size_t position = 0; position < seq_len; ++position) {
      const long double angle = static_cast<long double>(position) / wavelength;
      encoding(position, column) = static_cast<double>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return encoding;
}

std::vector<long double> rope_frequencies(std::size_t rotary_dim, double base) {
  if (rotary_dim == 0 || rotary_dim % 2 != 0) {
    throw Error(ErrorKind::data,
                fmt::format("rotary width {} does not split into pairs: an even width of at least 2 does",
                            rotary_dim));
  }
  if (!(base > 0) || !std::isfinite(base)) {
    throw Error(ErrorKind::data, fmt::format("rotary base {} has no powers: give a positive number", base));
  }
  std::vector<long double> frequencies(rotary_dim / 2);
  for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
    const long double exponent = static_cast<long double>(2 * pair) / static_cast<long double>(rotary_dim);
    frequencies[pair] = std::pow(static_cast<long double>(base), -exponent);
  }
  return frequencies;
}

Rope make_rope(std::size_t rotary_dim, RopeStyle style, double base) {
  return {style, rope_frequencies(rotary_dim, base), 1};
}

void rotate(std::span<double> vector, double position, const Rope& rope) {
  const std::size_t num_pairs = rope.inv_freq.size();
  if (2 * num_pairs > vector.size()) {
    throw Error(ErrorKind::data, fmt::format("rotary width {} is wider than the vectors of width {}",
                                             2 * num_pairs, vector.size()));
  }
  for (std::size_t pair = 0; pair < num_pairs; ++pair) {
    const bool interleaved = rope.style == RopeStyle::interleaved;
    double& first = vector[interleaved ? 2 * pair : pair];
    double& second = vector[interleaved ? 2 * pair + 1 : pair + num_pairs];
    const long double angle = position * rope.inv_freq[pair];
    const double cosine = rope.attention_factor * static_cast<double>(std::cos(angle));
    const double sine = rope.attention_factor * static_cast<double>(std::sin(angle));
    const double turned = first * cosine - second * sine;
    second = first * sine + second * cosine;
    first = turned;
  }
}

Matrix rotated(const Matrix& x, const std::vector<double>& positions, const Rope& rope) {
  if (positions.size() != x.shape(0)) {
    throw Error(ErrorKind::data, fmt::format("{} positions for {} rows: give one position a row",
                                             positions.size(), x.shape(0)));
  }
  Matrix turned = x;
  for (std::size_t row = 0; row < positions.size(); ++row) rotate(row_of(turned, row), positions[row], rope);
  return turned;
}

std::vector<double> counted_positions(std::size_t count) {
  std::vector<double> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<double>(i);
  return positions;
}

}  // namespace attnlab

#include "core/positions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/memory.hpp"

namespace attnlab {
namespace {

void require_positive(const char* name, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw Error(ErrorKind::data, fmt::format("rotary scaling: {} {} is not a positive number", name, value));
  }
}

double ntk_base(std::size_t rotary_dim, double base, double growth) {
  if (rotary_dim <= 2) {
    throw Error(ErrorKind::data,
                fmt::format("ntk scaling needs a rotary width (--dim) greater than 2: the exponent "
                            "d/(d-2) has no value for {}",
                            rotary_dim));
  }
  require_positive("growth of the base", growth);
  const double width = static_cast<double>(rotary_dim);
  return base * std::pow(growth, width / (width - 2));
}

// The pair number, not whole, whose frequency makes that many rotations in the trained length.
double yarn_pair(double rotations, std::size_t rotary_dim, double base, double original_length) {
  return static_cast<double>(rotary_dim) * std::log(original_length / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(base));
}

void scale_by_yarn(Rope& rope, std::size_t rotary_dim, double base, const RopeScaling& scaling) {
  require_positive("beta-slow", scaling.beta_slow);
  require_positive("beta-fast", scaling.beta_fast);
  if (!(base > 1) || !(scaling.beta_slow < scaling.beta_fast)) {
    throw Error(
        ErrorKind::data,
        fmt::format("yarn scaling needs a base above 1 and beta-slow below beta-fast, not base {}, {} and {}",
                    base, scaling.beta_slow, scaling.beta_fast));
  }
  double first = yarn_pair(scaling.beta_fast, rotary_dim, base, scaling.original_length);
  double last = yarn_pair(scaling.beta_slow, rotary_dim, base, scaling.original_length);
  if (scaling.whole_bounds) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, static_cast<double>(rotary_dim) - 1);
  if (first == last) last += 0.001;  // the published code's guard against a ramp of no width
  for (std::size_t pair = 0; pair < rope.inv_freq.size(); ++pair) {
    const double divided = std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
    rope.inv_freq[pair] *= (1.0L - divided) + divided / static_cast<long double>(scaling.factor);
  }
  const double usual = scaling.factor <= 1 ? 1.0 : 0.1 * std::log(scaling.factor) + 1.0;
  rope.attention_factor = scaling.attention_factor.value_or(usual);
}

void scale_by_llama3(Rope& rope, const RopeScaling& scaling) {
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  if (!(low < high)) {
    throw Error(ErrorKind::data,
                fmt::format("llama3 scaling needs low-freq-factor below high-freq-factor, not {} and "
                            "{}",
                            low, high));
  }
  for (long double& frequency : rope.inv_freq) {
    const long double rotations = scaling.original_length * frequency / (2 * std::numbers::pi_v<long double>);
    const long double kept = std::clamp((rotations - low) / (high - low), 0.0L, 1.0L);
    frequency *= kept + (1 - kept) / scaling.factor;
  }
}

}  // namespace

Matrix sinusoidal(std::size_t seq_len, std::size_t d_model, double base) {
  require_memory({seq_len, d_model}, "encodings");
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

Rope make_rope(std::size_t rotary_dim, RopeStyle style, double base, const RopeScaling& scaling) {
  Rope rope{style, rope_frequencies(rotary_dim, base), 1};
  require_positive("factor", scaling.factor);
  require_positive("original length", scaling.original_length);
  switch (scaling.kind) {
    case ScalingKind::none:
      break;
    case ScalingKind::linear:
      for (long double& frequency : rope.inv_freq) frequency /= scaling.factor;
      break;
    case ScalingKind::ntk:
      rope.inv_freq = rope_frequencies(rotary_dim, ntk_base(rotary_dim, base, scaling.factor));
      break;
    case ScalingKind::dynamic: {
      const double length = scaling.length.value_or(scaling.original_length);
      require_positive("length", length);
      const double growth = scaling.factor * length / scaling.original_length - (scaling.factor - 1);
      const bool beyond = length > scaling.original_length;
      rope.inv_freq = rope_frequencies(rotary_dim, ntk_base(rotary_dim, base, beyond ? growth : 1.0));
      break;
    }
    case ScalingKind::yarn:
      scale_by_yarn(rope, rotary_dim, base, scaling);
      break;
    case ScalingKind::llama3:
      scale_by_llama3(rope, scaling);
      break;
  }
  return rope;
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

std::vector<std::size_t> interleaved_to_half(std::size_t rotary_dim, std::size_t width) {
  if (rotary_dim % 2 != 0 || rotary_dim > width) {
    throw Error(ErrorKind::data,
                fmt::format("rotary width {} has no pairs to reorder in a width of {}", rotary_dim, width));
  }
  std::vector<std::size_t> order;
  for (std::size_t column = 0; column < rotary_dim; column += 2) order.push_back(column);
  for (std::size_t column = 1; column < rotary_dim; column += 2) order.push_back(column);
  for (std::size_t column = rotary_dim; column < width; ++column) order.push_back(column);
  return order;
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

double rope_decay(const Rope& rope, double offset) {
  double real = 0;
  double imaginary = 0;
  double sum = 0;
  for (const long double frequency : rope.inv_freq) {
    const double angle = offset * static_cast<double>(frequency);
    real += std::cos(angle);
    imaginary += std::sin(angle);
    sum += std::hypot(real, imaginary);
  }
  return sum / static_cast<double>(rope.inv_freq.size());
}

std::vector<double> counted_positions(std::size_t count) {
  std::vector<double> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<double>(i);
  return positions;
}

std::vector<double> alibi_slopes(std::size_t num_heads) {
  std::vector<double> slopes;
  const std::size_t power = std::bit_floor(num_heads);
  for (std::size_t head = 0; head < power; ++head) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(power)));
  }
  // Every other slope of twice the power of two, starting with the first.
  for (std::size_t n = 0; power + n < num_heads; ++n) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(2 * n + 1) / static_cast<double>(2 * power)));
  }
  return slopes;
}

Matrix alibi_bias(const std::vector<double>& query_positions, const std::vector<double>& key_positions,
                  double slope) {
  Matrix bias = Matrix::from_shape({query_positions.size(), key_positions.size()});
  for (std::size_t i = 0; i < query_positions.size(); ++i) {
    for (std::size_t j = 0; j < key_positions.size(); ++j) {
      bias(i, j) = -slope * std::abs(query_positions[i] - key_positions[j]);
    }
  }
  return bias;
}

Matrix learned_positions(const Matrix& table, const std::vector<double>& positions) {
  const std::size_t maximum = table.shape(0);
  Matrix rows = Matrix::from_shape({positions.size(), table.shape(1)});
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double position = positions[i];
    if (!(position >= 0) || !(position < static_cast<double>(maximum)) || position != std::floor(position)) {
      throw Error(ErrorKind::data,
                  fmt::format("position {} is out of range: the table has {} rows, so whole positions "
                              "from 0 up to {}, none negative",
                              position, maximum, maximum - std::min<std::size_t>(maximum, 1)));
    }
    const std::span<const double> row = row_of(table, static_cast<std::size_t>(position));
    std::copy(row.begin(), row.end(), row_of(rows, i).begin());
  }
  return rows;
}

std::vector<std::size_t> positions_without_padding(const std::vector<bool>& is_real) {
  std::vector<std::size_t> positions(is_real.size(), 0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < is_real.size(); ++i) {
    if (is_real[i]) positions[i] = next++;
  }
  return positions;
}

}  // namespace attnlab

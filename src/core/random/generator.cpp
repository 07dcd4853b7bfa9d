#include "core/random/generator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/random/normal_engine.hpp"
#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

void check_uniform_range(double low, double high) {
  if (!std::isfinite(high - low)) {
    throw Error(ErrorKind::usage, fmt::format("uniform: the range from {} to {} is not finite", low, high));
  }
  if (high < low) {
    throw Error(ErrorKind::usage, fmt::format("uniform: high {} is below low {}", high, low));
  }
}

void check_scale(double scale) {
  if (std::signbit(scale) && !std::isnan(scale)) {
    throw Error(ErrorKind::usage, fmt::format("normal: scale {} is negative: give 0 or more", scale));
  }
}

/// The distance from low to the last number that can be drawn.
template <class Integer>
std::uint64_t width_of_range(Integer low, Integer high, Endpoint endpoint) {
  const bool is_empty = endpoint == Endpoint::included ? high < low : high <= low;
  if (is_empty) {
    throw Error(ErrorKind::usage, fmt::format("integers: low {} must be {} high {}", low,
                                              endpoint == Endpoint::included ? "at most" : "below", high));
  }
  const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return endpoint == Endpoint::included ? width : width - 1;
}

/// Cuts 32-bit draws into pieces, low piece first. NumPy starts each call with none and drops what is left.
template <unsigned piece_bits>
class Pieces {
 public:
  explicit Pieces(Pcg64& bits) : bits_(bits) {}

  std::uint32_t next() {
    if (left_ == 0) {
      rest_ = bits_.next32();
      left_ = 32 / piece_bits;
    }
    const std::uint32_t piece = rest_ & ((1U << piece_bits) - 1);
    rest_ >>= piece_bits;
    --left_;
    return piece;
  }

 private:
  Pcg64& bits_;
  std::uint32_t rest_ = 0;
  unsigned left_ = 0;
};

/// draw_bounded for pieces of 8 or 16 bits.
template <unsigned piece_bits>
std::uint32_t draw_bounded_piece(Pieces<piece_bits>& pieces, std::uint32_t max) {
  constexpr std::uint32_t size = 1U << piece_bits;
  const std::uint32_t count = max + 1;
  if (max == 0) return 0;
  if (count == size) return pieces.next();
  std::uint32_t product = pieces.next() * count;
  if (product % size < count) {
    const std::uint32_t threshold = (size - count) % count;
    while (product % size < threshold) product = pieces.next() * count;
  }
  return product / size;
}

/// choice's own shuffle: the last items down to `first`, with draw_bounded where shuffle has draw_masked.
void shuffle_bounded(Pcg64& bits, std::vector<std::size_t>& items, std::size_t first) {
  for (std::size_t last = items.size(); last-- > first;) {
    std::swap(items[last], items[draw_bounded(bits, last)]);
  }
}

std::vector<std::size_t> counting_up(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

}  // namespace

std::vector<Generator> Generator::spawn(std::size_t count) {
  std::vector<Generator> children;
  for (SeedSequence& seeds : seeds_.spawn(count)) children.emplace_back(std::move(seeds));
  return children;
}

void Generator::fill_random(std::span<double> out) {
  for (double& value : out) value = unit_double(bits_.next64());
}

void Generator::fill_random(std::span<float> out) {
  for (float& value : out) value = unit_float(bits_.next32());
}

double Generator::uniform(double low, double high) {
  double value = 0.0;
  fill_uniform({&value, 1}, low, high);
  return value;
}

void Generator::fill_uniform(std::span<double> out, double low, double high) {
  check_uniform_range(low, high);
  fill_random(out);
  const double range = high - low;
  for (double& value : out) value = low + range * value;
}

double Generator::standard_normal() { return draw_normal(bits_); }

void Generator::fill_standard_normal(std::span<double> out) { fill_normals(bits_, out); }

void Generator::fill_standard_normal(std::span<float> out) {
  for (float& value : out) value = draw_normal_f32(bits_);
}

double Generator::normal(double loc, double scale) {
  check_scale(scale);
  return loc + scale * draw_normal(bits_);
}

void Generator::fill_normal(std::span<double> out, double loc, double scale) {
  check_scale(scale);
  fill_normals(bits_, out, LocScale{loc, scale});
}

void Generator::skip_normals(std::size_t count) { attnlab::skip_normals(bits_, count); }

std::int64_t Generator::integers(std::int64_t low, std::int64_t high, Endpoint endpoint) {
  std::int64_t value = 0;
  fill_integers({&value, 1}, low, high, endpoint);
  return value;
}

template <class Integer>
void Generator::fill_integers(std::span<Integer> out, Integer low, Integer high, Endpoint endpoint) {
  const std::uint64_t max = width_of_range(low, high, endpoint);
  const auto above_low = [low](std::uint64_t offset) {
    return static_cast<Integer>(static_cast<std::uint64_t>(low) + offset);
  };
  if constexpr (std::is_same_v<Integer, bool>) {
    Pieces<1> pieces(bits_);
    for (bool& value : out) value = max == 0 ? low : pieces.next() != 0;
  } else if constexpr (sizeof(Integer) <= 2) {
    Pieces<8 * sizeof(Integer)> pieces(bits_);
    for (Integer& value : out) value = above_low(draw_bounded_piece(pieces, static_cast<std::uint32_t>(max)));
  } else {
    for (Integer& value : out) value = above_low(draw_bounded(bits_, max));
  }
}

template void Generator::fill_integers(std::span<bool>, bool, bool, Endpoint);
template void Generator::fill_integers(std::span<std::int8_t>, std::int8_t, std::int8_t, Endpoint);
template void Generator::fill_integers(std::span<std::int16_t>, std::int16_t, std::int16_t, Endpoint);
template void Generator::fill_integers(std::span<std::int32_t>, std::int32_t, std::int32_t, Endpoint);
template void Generator::fill_integers(std::span<std::int64_t>, std::int64_t, std::int64_t, Endpoint);
template void Generator::fill_integers(std::span<std::uint8_t>, std::uint8_t, std::uint8_t, Endpoint);
template void Generator::fill_integers(std::span<std::uint16_t>, std::uint16_t, std::uint16_t, Endpoint);
template void Generator::fill_integers(std::span<std::uint32_t>, std::uint32_t, std::uint32_t, Endpoint);
template void Generator::fill_integers(std::span<std::uint64_t>, std::uint64_t, std::uint64_t, Endpoint);

std::vector<std::size_t> Generator::permutation(std::size_t count) {
  std::vector<std::size_t> order = counting_up(count);
  shuffle(std::span(order));
  return order;
}

Matrix Generator::permuted_rows(Matrix matrix) {
  for (std::size_t row = 0; row < matrix.shape(0); ++row) shuffle(row_of(matrix, row));
  return matrix;
}

std::vector<std::size_t> Generator::choice(std::size_t population, std::size_t count) {
  if (population == 0 && count != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("choice: {} of an empty population: give one of at least 1", count));
  }
  std::vector<std::size_t> chosen(count);
  for (std::size_t& item : chosen) item = draw_bounded(bits_, population - 1);
  return chosen;
}

std::vector<std::size_t> Generator::choice_without_replacement(std::size_t population, std::size_t count,
                                                               bool in_random_order) {
  if (count > population) {
    throw Error(ErrorKind::usage,
                fmt::format("choice: {} different ones of a population of {}: give at most {}", count,
                            population, population));
  }
  if (population > 10000 && count > population / (in_random_order ? 50 : 20)) {
    std::vector<std::size_t> all = counting_up(population);
    shuffle_bounded(bits_, all, std::max(population - count, std::size_t{1}));
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(count));
    return all;
  }
  // Floyd's method: the i-th pick is from a population that grows by one, and the newcomer replaces a repeat.
  std::vector<std::size_t> chosen;
  std::unordered_set<std::size_t> seen;
  for (std::size_t newcomer = population - count; newcomer < population; ++newcomer) {
    const std::size_t pick = draw_bounded(bits_, newcomer);
    chosen.push_back(seen.contains(pick) ? newcomer : pick);
    seen.insert(chosen.back());
  }
  if (in_random_order) shuffle_bounded(bits_, chosen, 1);
  return chosen;
}

Matrix normal_matrix(Generator& rng, std::size_t rows, std::size_t columns, double loc, double scale) {
  element_count({rows, columns});  // refuses what cannot be counted before memory is taken
  require_memory({rows, columns}, "random numbers");
  Matrix matrix = Matrix::from_shape({rows, columns});
  rng.fill_normal(elements(matrix), loc, scale);
  return matrix;
}

Vector normal_vector(Generator& rng, std::size_t length, double loc, double scale) {
  require_memory({length}, "random numbers");
  Vector vector = Vector::from_shape({length});
  rng.fill_normal(elements(vector), loc, scale);
  return vector;
}

}  // namespace attnlab

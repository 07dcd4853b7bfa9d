// NumPy's default_rng(seed): the stream of random numbers that every experiment draws from.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/random/bounded.hpp"
#include "core/random/pcg64.hpp"
#include "core/random/seed_sequence.hpp"
#include "core/tensor.hpp"

namespace attnlab {

/// Whether the upper end of a range can be drawn.
enum class Endpoint { excluded, included };

/// The Generator of NumPy 1.24 over PCG64, bit for bit: each call gives NumPy's values and leaves NumPy's
/// state. A copy is cheap and draws the same numbers again.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : Generator(SeedSequence(seed)) {}
  explicit Generator(SeedSequence seeds) : bits_(seeds), seeds_(std::move(seeds)) {}

  /// The bit generator: to draw words, to compare states, to set one.
  Pcg64& bits() { return bits_; }
  const Pcg64& bits() const { return bits_; }

  /// [count] independent generators: NumPy's bit_generator.seed_seq.spawn(count), each seeding one.
  std::vector<Generator> spawn(std::size_t count);

  /// Uniform in [0, 1): multiples of 2^-53, for float of 2^-24.
  double random() { return unit_double(bits_.next64()); }
  void fill_random(std::span<double> out);
  void fill_random(std::span<float> out);

  /// Uniform in [low, high). Throws Error(usage) when high is below low or their difference is not finite.
  double uniform(double low, double high);
  void fill_uniform(std::span<double> out, double low, double high);

  /// Standard normal.
  double standard_normal();
  void fill_standard_normal(std::span<double> out);
  void fill_standard_normal(std::span<float> out);

  /// loc + scale * standard normal. Throws Error(usage) when scale has a minus sign.
  double normal(double loc = 0.0, double scale = 1.0);
  void fill_normal(std::span<double> out, double loc = 0.0, double scale = 1.0);

  /// Leaves the state that drawing `count` normals leaves.
  void skip_normals(std::size_t count);

  /// A whole number in [low, high), or in [low, high] with the endpoint: NumPy's integers with dtype int64.
  /// Throws Error(usage) when the range is empty.
  std::int64_t integers(std::int64_t low, std::int64_t high, Endpoint endpoint = Endpoint::excluded);

  /// The same for every dtype: bool and the signed and unsigned integers of 8 to 64 bits. They consume words
  /// differently, as in NumPy.
  template <class Integer>
  void fill_integers(std::span<Integer> out, Integer low, Integer high,
                     Endpoint endpoint = Endpoint::excluded);

  /// Puts items in random order.
  template <class Item>
  void shuffle(std::span<Item> items);

  /// 0 .. count-1 in random order.
  std::vector<std::size_t> permutation(std::size_t count);

  /// The matrix with its elements in random order within every row: permuted(matrix, axis=1).
  Matrix permuted_rows(Matrix matrix);

  /// [count] of 0 .. population-1, repeats allowed: choice(population, count).
  /// Throws Error(usage) when population is 0 and count is not.
  std::vector<std::size_t> choice(std::size_t population, std::size_t count);

  /// [count] different ones of 0 .. population-1: choice(population, count, replace=False); with
  /// `in_random_order` false, shuffle=False. Throws Error(usage) when count is above population.
  std::vector<std::size_t> choice_without_replacement(std::size_t population, std::size_t count,
                                                      bool in_random_order = true);

 private:
  Pcg64 bits_;
  SeedSequence seeds_;
};

/// [rows, columns] normals in row order. Throws as Generator::normal.
Matrix normal_matrix(Generator& rng, std::size_t rows, std::size_t columns, double loc = 0.0,
                     double scale = 1.0);
/// [length] normals. Throws as Generator::normal.
Vector normal_vector(Generator& rng, std::size_t length, double loc = 0.0, double scale = 1.0);

template <class Item>
void Generator::shuffle(std::span<Item> items) {
  if (items.empty()) return;
  constexpr std::uint32_t max32 = std::numeric_limits<std::uint32_t>::max();
  Pcg64 bits = bits_;  // a copy, which the items cannot be part of, stays in registers
  std::size_t last = items.size() - 1;
  for (; last > max32; --last) std::swap(items[last], items[draw_masked(bits, last)]);
  // draw_masked without its branch, which is mispredicted every other time: a number above `last` is rejected
  // by swapping the last item with itself and drawing again.
  while (last > 0) {
    const std::size_t drawn = bits.next32() & (max32 >> std::countl_zero(static_cast<std::uint32_t>(last)));
    std::swap(items[last], items[std::min(drawn, last)]);
    last -= drawn <= last;
  }
  bits_ = bits;
}

}  // namespace attnlab

#include <algorithm>
#include <bit>
#include <cmath>

#include <doctest/doctest.h>

#include "core/random/normal_engine.hpp"
#include "core/random/ziggurat.hpp"
#include "support/random_oracle.hpp"

using namespace attnlab;
using namespace attnlab::test;

namespace {

constexpr double canary = -123.25;
constexpr std::size_t canary_count = 64;

std::vector<NormalEngine> supported_engines() {
  std::vector<NormalEngine> engines;
  for (const NormalEngine engine : {NormalEngine::portable, NormalEngine::avx2, NormalEngine::avx512}) {
    if (is_supported(engine)) engines.push_back(engine);
  }
  return engines;
}

/// The plain loop.
std::vector<double> draw_one_by_one(Pcg64& bits, std::size_t count,
                                    const std::optional<LocScale>& loc_scale) {
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    const double z = draw_normal(bits);
    number = loc_scale ? loc_scale->loc + loc_scale->scale * z : z;
  }
  return numbers;
}

/// Whether every engine fills and skips `count` numbers as the plain loop draws them, writes nothing else,
/// and leaves the plain loop's state. Moves `bits` on.
void check_engines(Pcg64& bits, std::size_t count, const std::optional<LocScale>& loc_scale = std::nullopt) {
  CAPTURE(count);
  Pcg64 after = bits;
  const std::vector<double> expected = draw_one_by_one(after, count, loc_scale);
  for (const NormalEngine engine : supported_engines()) {
    CAPTURE(static_cast<int>(engine));
    Pcg64 filled = bits;
    std::vector<double> numbers(count + canary_count, canary);
    fill_normals(filled, std::span(numbers).first(count), loc_scale, engine);
    REQUIRE(first_difference(std::span(numbers).first(count), expected) == "");
    REQUIRE(std::count(numbers.end() - canary_count, numbers.end(), canary) == canary_count);
    REQUIRE(filled == after);
    Pcg64 skipped = bits;
    skip_normals(skipped, count, engine);
    REQUIRE(skipped == after);
  }
  bits = after;
}

/// A generator whose word number `index` from now is `word`.
Pcg64 with_word_at(std::size_t index, std::uint64_t word, std::uint64_t seed) {
  Pcg64 bits{SeedSequence(seed)};
  bits.state = word;  // the high half is zero, so that the output is the low half
  bits.advance(-UInt128{index + 1});
  return bits;
}

constexpr std::uint64_t largest_magnitude = (std::uint64_t{1} << 52) - 1;

}  // namespace

TEST_CASE("normal engine: every engine draws as the plain loop whatever the sizes of the calls") {
  Pcg64 bits(SeedSequence(466));
  bits.has_spare = true;
  bits.spare = 99;
  for (std::size_t count = 0; count <= 200; ++count) check_engines(bits, count);
  Pcg64 sizes(SeedSequence(1));
  for (int call = 0; call < 300; ++call) check_engines(bits, sizes.next64() % 3000);
  for (int call = 0; call < 6; ++call) check_engines(bits, sizes.next64() % 200'000);
}

TEST_CASE("normal engine: product and sum are rounded one after the other") {
  Pcg64 bits(SeedSequence(466));
  Pcg64 sizes(SeedSequence(2));
  for (int call = 0; call < 100; ++call) {
    const LocScale loc_scale{draw_normal(sizes), std::abs(draw_normal(sizes))};
    check_engines(bits, sizes.next64() % 5000, loc_scale);
  }
  check_engines(bits, 5000, LocScale{0.0, 0.02});
  check_engines(bits, 5000, LocScale{1e300, 0.0});
}

TEST_CASE("normal engine: recorded states that take the tail or a wedge are drawn as the plain loop does") {
  for (const nlohmann::json& recorded : oracle_cases("normals_slow_path")) {
    Pcg64 bits = state_of(recorded.at("initial"));
    check_engines(bits, 100);
  }
}

TEST_CASE("normal engine: draws that reach over the end of a block are those of the plain loop") {
  for (const std::uint64_t piece : {0, 1, 2, 128, 254, 255}) {
    for (const std::size_t index : {0, 1, 62, 63, 64, 127, 1021, 1022, 1023, 1024, 2047}) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        CAPTURE(piece);
        CAPTURE(index);
        const std::uint64_t sign_and_piece = (seed % 2) << 8 | piece;
        Pcg64 bits = with_word_at(index, (largest_magnitude - seed * 1000) << 9 | sign_and_piece, seed);
        check_engines(bits, 2500);
      }
    }
  }
}

TEST_CASE("normal engine: a last number from the tail or a wedge leaves the plain loop's state") {
  for (const std::uint64_t piece : {0, 1, 200}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      for (const std::size_t count : {98, 99, 100, 101}) {
        Pcg64 bits = with_word_at(99, largest_magnitude << 9 | piece, seed);
        check_engines(bits, count);
      }
    }
  }
}

TEST_CASE("normal engine: a magnitude just below and just at its limit is judged by all its bits") {
  const ZigguratTables& tables = ziggurat_tables();
  for (std::uint64_t piece = 0; piece < 256; ++piece) {
    for (const std::uint64_t below : {0, 1, 2}) {
      if (tables.accept[piece] < below) continue;
      Pcg64 bits = with_word_at(17, (tables.accept[piece] - below) << 9 | piece, piece);
      check_engines(bits, 64);
    }
  }
}

TEST_CASE("normal engine: a negative zero stays one unless it is moved") {
  for (const NormalEngine engine : supported_engines()) {
    Pcg64 bits = with_word_at(3, std::uint64_t{1} << 8 | 2, 5);
    Pcg64 again = bits;
    std::vector<double> numbers(64);
    fill_normals(bits, numbers, std::nullopt, engine);
    CHECK(std::bit_cast<std::uint64_t>(numbers[3]) == std::bit_cast<std::uint64_t>(-0.0));
    fill_normals(again, numbers, LocScale{0.0, 1.0}, engine);
    CHECK(std::bit_cast<std::uint64_t>(numbers[3]) == 0);
  }
}

TEST_CASE("normal engine: the fastest is supported and portable always is") {
  CHECK(is_supported(NormalEngine::portable));
  CHECK(is_supported(fastest_normal_engine()));
}

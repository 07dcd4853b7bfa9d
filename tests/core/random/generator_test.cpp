#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/random/generator.hpp"
#include "support/random_oracle.hpp"
#include "support/sha256.hpp"

using namespace attnlab;
using namespace attnlab::test;
using nlohmann::json;

namespace {

std::vector<double> standard_normals(Generator& rng, std::size_t count) {
  std::vector<double> values(count);
  rng.fill_standard_normal(values);
  return values;
}

/// Float draws, widened to compare them.
std::vector<double> standard_normals_f32(Generator& rng, std::size_t count) {
  std::vector<float> values(count);
  rng.fill_standard_normal(std::span(values));
  return {values.begin(), values.end()};
}

std::vector<double> randoms_f32(Generator& rng, std::size_t count) {
  std::vector<float> values(count);
  rng.fill_random(std::span(values));
  return {values.begin(), values.end()};
}

std::vector<double> randoms(Generator& rng, std::size_t count) {
  std::vector<double> values(count);
  rng.fill_random(std::span(values));
  return values;
}

std::vector<double> normals(Generator& rng, double loc, double scale, std::size_t count) {
  std::vector<double> values(count);
  rng.fill_normal(values, loc, scale);
  return values;
}

/// The fingerprint of numbers as NumPy's int64.
std::string sha256_of_indices(const std::vector<std::size_t>& indices) {
  const std::vector<std::int64_t> wide(indices.begin(), indices.end());
  return sha256_of(std::span<const std::int64_t>(wide));
}

std::vector<std::size_t> indices_of(const json& values) { return values.get<std::vector<std::size_t>>(); }

/// Draws what a recorded call of `integers` drew, as its dtype.
template <class Integer>
bool integers_agree(Generator& rng, const json& recorded) {
  const std::size_t count = recorded.at("values").size();
  std::vector<Integer> values(count);
  // The recorded high may lie one beyond the dtype.
  const auto low = static_cast<Integer>(recorded.at("low").get<std::int64_t>());
  const auto last = static_cast<Integer>(recorded.at("high").get<std::int64_t>() - 1);
  rng.fill_integers(std::span(values), low, last, Endpoint::included);
  return values == recorded.at("values").get<std::vector<Integer>>();
}

/// The same for bool, which has no vector of its own; recorded as 0 and 1.
template <>
bool integers_agree<bool>(Generator& rng, const json& recorded) {
  const auto values = std::make_unique<bool[]>(recorded.at("values").size());
  const std::span<bool> drawn(values.get(), recorded.at("values").size());
  rng.fill_integers(drawn, false, true, Endpoint::included);
  return std::equal(drawn.begin(), drawn.end(), recorded.at("values").begin(),
                    [](bool a, const json& b) { return a == (b == 1); });
}

bool integers_agree_as_recorded(Generator& rng, const json& recorded) {
  const std::string dtype = recorded.at("dtype");
  if (dtype == "bool") return integers_agree<bool>(rng, recorded);
  if (dtype == "uint8") return integers_agree<std::uint8_t>(rng, recorded);
  if (dtype == "int16") return integers_agree<std::int16_t>(rng, recorded);
  if (dtype == "int32") return integers_agree<std::int32_t>(rng, recorded);
  REQUIRE(dtype == "int64");
  return integers_agree<std::int64_t>(rng, recorded);
}

std::vector<std::size_t> chosen_as_recorded(Generator& rng, const json& recorded) {
  const std::size_t population = recorded.at("pop");
  const std::size_t count = recorded.at("size");
  if (recorded.at("replace") == true) return rng.choice(population, count);
  return rng.choice_without_replacement(population, count, recorded.at("shuffle"));
}

/// Runs one recorded call other than `sequence` and compares its values.
void check_call(Generator& rng, const json& recorded) {
  const std::string call = recorded.at("call");
  const json& values = recorded.at("values");
  if (call == "integers") {
    CHECK(integers_agree_as_recorded(rng, recorded));
  } else if (call == "choice") {
    CHECK(chosen_as_recorded(rng, recorded) == indices_of(values));
  } else if (call == "random") {
    CHECK(first_difference(randoms(rng, values.size()), doubles_of(values)) == "");
  } else if (call == "uniform") {
    std::vector<double> drawn(values.size());
    rng.fill_uniform(drawn, recorded.at("low"), recorded.at("high"));
    CHECK(first_difference(drawn, doubles_of(values)) == "");
  } else if (call == "normal") {
    const std::vector<double> loc_scale = doubles_of({recorded.at("loc"), recorded.at("scale")});
    CHECK(first_difference(normals(rng, loc_scale[0], loc_scale[1], values.size()), doubles_of(values)) ==
          "");
  } else {
    REQUIRE(call == "shuffle(arange(40))");
    std::vector<std::size_t> items(40);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
    rng.shuffle(std::span(items));
    CHECK(items == indices_of(values));
  }
}

/// Runs one step [name, arguments, values] of a recorded sequence.
void check_step(Generator& rng, const json& step) {
  const std::string name = step.at(0);
  const json& arguments = step.at(1);
  const json& values = step.at(2);
  CAPTURE(step.dump());
  if (name == "permutation") {
    CHECK(rng.permutation(arguments) == indices_of(values));
  } else if (name == "normal") {
    CHECK(first_difference(normals(rng, arguments[0], arguments[1], arguments[2]), doubles_of(values)) == "");
  } else if (name == "integers") {
    for (const json& value : values) CHECK(rng.integers(arguments[0], arguments[1]) == value);
  } else if (name == "random") {
    CHECK(first_difference(randoms(rng, arguments), doubles_of(values)) == "");
  } else if (name == "random_float32") {
    CHECK(first_difference(randoms_f32(rng, arguments), doubles_of(values)) == "");
  } else if (name == "standard_normal_float32") {
    CHECK(first_difference(standard_normals_f32(rng, arguments), doubles_of(values)) == "");
  } else if (name == "standard_normal") {
    CHECK(first_difference(standard_normals(rng, arguments), doubles_of(values)) == "");
  } else {
    REQUIRE(name == "choice");
    REQUIRE(arguments[2] == false);
    CHECK(rng.choice_without_replacement(arguments[0], arguments[1]) == indices_of(values));
  }
}

/// The fingerprint of `count` items drawn a chunk at a time.
template <class Item, class Fill>
std::string sha256_of_stream(std::size_t count, Fill fill) {
  Sha256 hash;
  std::vector<Item> chunk(100'000);
  for (std::size_t drawn = 0; drawn < count; drawn += chunk.size()) {
    chunk.resize(std::min(chunk.size(), count - drawn));
    fill(std::span(chunk));
    hash.update(std::as_bytes(std::span(chunk)));
  }
  return hash.finish();
}

std::string sha256_as_recorded(Generator& rng, const json& recorded) {
  const std::size_t count = recorded.at("n");
  const std::string call = recorded.value("call", "standard_normal(" + recorded.value("dtype", "") + ")");
  if (call == "standard_normal(float64)") {
    return sha256_of_stream<double>(count, [&](std::span<double> out) { rng.fill_standard_normal(out); });
  }
  if (call == "standard_normal(float32)") {
    return sha256_of_stream<float>(count, [&](std::span<float> out) { rng.fill_standard_normal(out); });
  }
  if (call == "normal(0.0, 0.02, 1000000)") {
    return sha256_of_stream<double>(count, [&](std::span<double> out) { rng.fill_normal(out, 0.0, 0.02); });
  }
  if (call == "random(1000000)") {
    return sha256_of_stream<double>(count, [&](std::span<double> out) { rng.fill_random(out); });
  }
  REQUIRE(call == "permutation(1000000)");
  return sha256_of_indices(rng.permutation(count));
}

}  // namespace

TEST_CASE("generator: a thousand standard normals are NumPy's for every recorded seed and dtype") {
  for (const json& recorded : oracle_cases("normals_hex")) {
    CAPTURE(recorded.at("seed").dump());
    const bool is_double = recorded.at("dtype") == "float64";
    Generator rng = generator_of(recorded.at("seed"));
    const std::vector<double> values =
        is_double ? standard_normals(rng, 1000) : standard_normals_f32(rng, 1000);
    CHECK(first_difference(values, doubles_of(recorded.at("values"))) == "");
    CHECK(rng.bits() == state_of(recorded.at("final")));
  }
}

TEST_CASE("generator: normals from the tail and the wedges are NumPy's") {
  for (const json& recorded : oracle_cases("normals_slow_path")) {
    Generator rng(0);
    rng.bits() = state_of(recorded.at("initial"));
    CHECK(first_difference(standard_normals(rng, 4), doubles_of(recorded.at("normals4"))) == "");
    CHECK(rng.bits() == state_of(recorded.at("final")));
  }
}

TEST_CASE("generator: every recorded call gives NumPy's values and leaves its state") {
  for (const json& recorded : oracle_cases("distributions")) {
    Generator rng = generator_of(recorded.at("seed"));
    CAPTURE(recorded.at("call").get<std::string>());
    CAPTURE(recorded.at("seed").dump());
    if (recorded.at("call") == "sequence") {
      for (const json& step : recorded.at("steps")) check_step(rng, step);
    } else {
      check_call(rng, recorded);
    }
    CHECK(rng.bits() == state_of(recorded.at("final")));
  }
}

TEST_CASE("generator: permutations of 1 to 2000 items are NumPy's from one generator and from fresh ones") {
  for (const json& recorded : oracle_cases("permutations")) {
    if (recorded.contains("perm")) {
      CAPTURE(recorded.at("n").get<std::size_t>());
      Generator rng = generator_of(recorded.at("seed"));
      CHECK(rng.permutation(recorded.at("n")) == indices_of(recorded.at("perm")));
      CHECK(rng.bits() == state_of(recorded.at("final")));
      continue;
    }
    // All of them in turn: from one generator where a state is recorded, else from one with seed n + 1000
    // each.
    Generator rng(0);
    std::vector<std::size_t> all;
    for (std::size_t count = 1; count <= 2000; ++count) {
      if (!recorded.contains("final")) rng = Generator(count + 1000);
      const std::vector<std::size_t> order = rng.permutation(count);
      all.insert(all.end(), order.begin(), order.end());
    }
    CHECK(sha256_of_indices(all) == recorded.at("sha256"));
    if (recorded.contains("final")) CHECK(rng.bits() == state_of(recorded.at("final")));
  }
}

TEST_CASE("generator: long streams have NumPy's fingerprints") {
  for (const json& recorded : oracle_cases("sha256")) {
    CAPTURE(recorded.dump());
    Generator rng = generator_of(recorded.at("seed"));
    CHECK(sha256_as_recorded(rng, recorded) == recorded.at("sha256"));
    CHECK(rng.bits() == state_of(recorded.at("final")));
  }
}

TEST_CASE("generator: one number at a time is the same stream as many at once") {
  Generator one(3);
  Generator many(3);
  for (const double value : standard_normals(many, 2000)) REQUIRE(one.standard_normal() == value);
  for (const double value : normals(many, -1.5, 0.3, 2000)) REQUIRE(one.normal(-1.5, 0.3) == value);
  for (const double value : randoms(many, 20)) REQUIRE(one.random() == value);
  CHECK(one.bits() == many.bits());
}

TEST_CASE("generator: a copy draws the same numbers again") {
  Generator rng(466);
  rng.integers(0, 10);
  Generator copy = rng;
  CHECK(standard_normals(rng, 100) == standard_normals(copy, 100));
  CHECK(rng.integers(0, 10) == copy.integers(0, 10));
  CHECK(rng.bits() == copy.bits());
}

TEST_CASE("generator: skipped normals leave the state that drawn ones leave") {
  for (const std::size_t count : {0, 1, 2, 47, 100, 1023, 1024, 5000, 100'001}) {
    CAPTURE(count);
    Generator drawn(count + 1);
    drawn.integers(0, 10);
    Generator skipped = drawn;
    standard_normals(drawn, count);
    skipped.skip_normals(count);
    CHECK(skipped.bits() == drawn.bits());
  }
}

TEST_CASE("generator: matrices and vectors are filled in row order") {
  Generator rng(466);
  Generator flat(466);
  const Matrix matrix = normal_matrix(rng, 3, 5);
  const Vector vector = normal_vector(rng, 7, 2.0, 0.5);
  CHECK(shape_text(matrix) == "[3, 5]");
  CHECK(shape_text(vector) == "[7]");
  CHECK(first_difference(elements(matrix), normals(flat, 0.0, 1.0, 15)) == "");
  CHECK(first_difference(elements(vector), normals(flat, 2.0, 0.5, 7)) == "");
  CHECK(normal_matrix(rng, 0, 5).size() == 0);
  CHECK(normal_vector(rng, 0).size() == 0);
  CHECK(rng.bits() == flat.bits());
}

TEST_CASE("generator: a matrix beyond counting is refused before memory is taken") {
  Generator rng(0);
  CHECK_THROWS_AS(normal_matrix(rng, std::size_t{1} << 62, 8), Error);
}

TEST_CASE("generator: rows are permuted one after the other") {
  Generator rng(5);
  Generator expected(5);
  Matrix matrix = Matrix::from_shape({4, 9});
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 9; ++column) matrix(row, column) = static_cast<double>(column);
  }
  const Matrix permuted = rng.permuted_rows(matrix);
  for (std::size_t row = 0; row < 4; ++row) {
    const std::vector<std::size_t> order = expected.permutation(9);
    CHECK(std::equal(order.begin(), order.end(), row_of(permuted, row).begin()));
  }
  CHECK(rng.bits() == expected.bits());
}

TEST_CASE("generator: ranges of one number and of all numbers draw what NumPy draws") {
  Generator rng(9);
  const Pcg64 before = rng.bits();
  CHECK(rng.integers(7, 8) == 7);
  CHECK(rng.integers(-7, -7, Endpoint::included) == -7);
  CHECK(rng.permutation(0).empty());
  CHECK(rng.permutation(1) == std::vector<std::size_t>{0});
  CHECK(rng.bits() == before);

  Pcg64 words = before;
  std::vector<std::uint64_t> wide(2);
  rng.fill_integers(std::span(wide), std::uint64_t{0}, ~std::uint64_t{0}, Endpoint::included);
  CHECK(wide == std::vector<std::uint64_t>{words.next64(), words.next64()});
  CHECK(rng.integers(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                     Endpoint::included) ==
        static_cast<std::int64_t>(words.next64() ^ std::uint64_t{1} << 63));
  // A whole 8-bit range takes the bytes of one half as they are, and the rest of the half is dropped.
  std::vector<std::uint8_t> bytes(3);
  rng.fill_integers(std::span(bytes), std::uint8_t{0}, std::uint8_t{255}, Endpoint::included);
  const std::uint32_t half = words.next32();
  for (unsigned i = 0; i < 3; ++i) CHECK(bytes[i] == (half >> (8 * i) & 255));
  CHECK(rng.bits() == words);
}

TEST_CASE("generator: arguments that NumPy refuses are refused with what would be right") {
  Generator rng(0);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(rng.normal(0.0, -1.0), "normal: scale -1 is negative: give 0 or more", Error);
  CHECK_THROWS_WITH_AS(normal_matrix(rng, 2, 2, 0.0, -0.0), "normal: scale -0 is negative: give 0 or more",
                       Error);
  CHECK_THROWS_WITH_AS(rng.uniform(2.0, 1.0), "uniform: high 1 is below low 2", Error);
  CHECK_THROWS_WITH_AS(rng.uniform(0.0, infinity), "uniform: the range from 0 to inf is not finite", Error);
  CHECK_THROWS_WITH_AS(rng.integers(5, 5), "integers: low 5 must be below high 5", Error);
  CHECK_THROWS_WITH_AS(rng.integers(5, 4, Endpoint::included), "integers: low 5 must be at most high 4",
                       Error);
  CHECK_THROWS_WITH_AS(rng.choice(0, 2), "choice: 2 of an empty population: give one of at least 1", Error);
  CHECK_THROWS_WITH_AS(rng.choice_without_replacement(5, 6),
                       "choice: 6 different ones of a population of 5: give at most 5", Error);
  CHECK(rng.uniform(1.0, 1.0) == 1.0);
  CHECK(rng.normal(3.0, 0.0) == 3.0);
  CHECK(std::isnan(rng.normal(0.0, std::nan(""))));
  CHECK(rng.choice(0, 0).empty());
  CHECK(rng.choice_without_replacement(0, 0).empty());
}

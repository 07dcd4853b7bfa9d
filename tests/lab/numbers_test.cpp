#include <doctest/doctest.h>

#include "core/error.hpp"
#include "lab/numbers.hpp"

using namespace attnlab;

namespace {

constexpr double largest = 1.7976931348623157e308;

}  // namespace

TEST_CASE("numbers: a whole number is read whole or refused with its range") {
  CHECK(parse_integer("42", "--n", 0, 100) == 42);
  CHECK(parse_integer("+7", "--n", 0, 100) == 7);
  CHECK(parse_integer("-3", "--n", -5, 100) == -3);
  CHECK(parse_integer("9223372036854775807", "--n", 0, INT64_MAX) == INT64_MAX);
  for (const char* text : {"5x", "", " 5", "5 ", "nan", "0x10", "1e3", "1.5", "--5", "+-5", "++5", "+"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_integer(text, "--n", 0, 100), Error);
  }
  CHECK_THROWS_WITH_AS(parse_integer("3x", "--n", 1, 9), "--n: 3x is not a whole number in [1, 9]", Error);
  CHECK_THROWS_WITH_AS(parse_integer("", "--n", 1, 9), "--n: \"\" is not a whole number in [1, 9]", Error);
  CHECK_THROWS_WITH_AS(parse_integer("-1", "--n", 0, 9), "--n: -1 is outside [0, 9]", Error);
  CHECK_THROWS_WITH_AS(parse_integer("99999999999999999999", "--n", 0, 9),
                       "--n: 99999999999999999999 is outside [0, 9]", Error);
}

TEST_CASE("numbers: a real number is finite and in its range") {
  CHECK(parse_real("0.1", "--x", 0, 1) == 0.1);
  CHECK(parse_real("1e-3", "--x", 0, 1) == 1e-3);
  CHECK(parse_real("-2.5", "--x", -largest, largest) == -2.5);
  for (const char* text : {"nan", "inf", "-inf", "1e999", "", "1,5", "0x1p3", "1.5.2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_real(text, "--x", -largest, largest), Error);
  }
  CHECK_THROWS_WITH_AS(parse_real("2", "--power", 0, 1), "--power: 2 is outside [0, 1]", Error);
  CHECK_THROWS_WITH_AS(parse_real("nan", "--x", 0, largest),
                       "--x: nan is not a finite number in [0, infinity)", Error);
  CHECK_THROWS_WITH_AS(parse_real("nan", "--x", -largest, largest),
                       "--x: nan is not a finite number in (-infinity, infinity)", Error);
}

TEST_CASE("numbers: lists and ranges include both ends") {
  using Integers = std::vector<std::int64_t>;
  CHECK(parse_integers("4,64,512", "--n", 1, 1000) == Integers{4, 64, 512});
  CHECK(parse_integers("1:16:x2", "--n", 1, 1000) == Integers{1, 2, 4, 8, 16});
  CHECK(parse_integers("0:100:25", "--n", 0, 1000) == Integers{0, 25, 50, 75, 100});
  CHECK(parse_integers("0:10:4", "--n", 0, 1000) == Integers{0, 4, 8});
  CHECK(parse_integers("2:5,9", "--n", 0, 1000) == Integers{2, 3, 4, 5, 9});
  CHECK(parse_integers("5:5", "--n", 0, 1000) == Integers{5});
  const std::vector<double> tenths = parse_reals("0:1:0.1", "--x", 0, 1);
  CHECK(tenths.size() == 11);
  CHECK(parse_reals("-3:-1:1", "--x", -5, 5) == std::vector<double>{-3, -2, -1});
}

TEST_CASE("numbers: no item of a range passes its end by rounding") {
  const std::vector<double> steps = parse_reals("0:1:0.040000000000000016507", "--x", 0, 1);
  CHECK(steps.size() == 26);
  CHECK(steps.back() == 1);
}

TEST_CASE("numbers: a list that is none is refused") {
  for (const char* text : {"", ",", "1,", "1,,3", "5:1", "1:9:0", "1:9:-1", "0:8:x2", "1:8:x1", "1:2:3:4",
                           "1:9:x", "1:1000000"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_integers(text, "--n", 0, 2'000'000), Error);
  }
  CHECK_THROWS_WITH_AS(parse_integers("1,,3", "--n", 0, 9), "--n: 1,,3 has an empty item: a list is 4,64,512",
                       Error);
  CHECK_THROWS_WITH_AS(parse_integers("5:1", "--n", 0, 9), "--n: 5:1 is a range whose end is below its start",
                       Error);
}

TEST_CASE("numbers: splitting keeps empty items") {
  CHECK(split("a,,b", ',') == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
}

TEST_CASE("numbers: a whole number may be written with an exponent and stays exact") {
  const auto parsed = [](const char* text) { return parse_integer(text, "--n", 0, INT64_MAX); };
  CHECK(parsed("15e12") == 15'000'000'000'000);
  CHECK(parsed("1.5e6") == 1'500'000);
  CHECK(parsed("+2E3") == 2000);
  for (const char* text : {"1.5e0", "1e-1", "1e16x", "1e16", "e5", "1e", "0x1e5", "inf", "1e400"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parsed(text), Error);
  }
  CHECK_THROWS_WITH_AS(parse_integer("2e3", "--n", 0, 100), "--n: 2e3 is outside [0, 100]", Error);
}

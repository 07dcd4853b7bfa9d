#include "io/decimal.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace attnlab;

TEST_CASE("decimal: only whole decimal numbers are accepted") {
  double value = 0.0;
  for (const char* text : {"1", "-1", "1.5", ".5", "5.", "1e3", "1E+3", "-.5e-3", "007"}) {
    CAPTURE(text);
    CHECK(parse_decimal(text, value) == DecimalStatus::good);
  }
  for (const char* text : {"", "-", ".", "-.", "+1", " 1", "1 ", "1x", "0x10", "1e", "1e+", "nan", "inf",
                           "-inf", "1,5", "--1"}) {
    CAPTURE(text);
    CHECK(parse_decimal(text, value) == DecimalStatus::not_decimal);
  }
}

TEST_CASE("decimal: numbers out of range are told apart by their magnitude") {
  const std::string zeros(400, '0');
  double value = 1.0;
  for (const std::string& text : std::vector<std::string>{"1e309", "1" + zeros, "0.00001e400",
                                                          "1" + zeros + "e-50", "9e99999999999999999999"}) {
    CAPTURE(text);
    CHECK(parse_decimal(text, value) == DecimalStatus::too_large);
    CHECK(value == std::numeric_limits<double>::infinity());
    CHECK(parse_decimal("-" + text, value) == DecimalStatus::too_large);
    CHECK(value == -std::numeric_limits<double>::infinity());
  }
  for (const std::string& text : std::vector<std::string>{"1e-400", "0." + zeros + "1", "0." + zeros + "1e50",
                                                          "1e-99999999999999999999"}) {
    CAPTURE(text);
    CHECK(parse_decimal(text, value) == DecimalStatus::good);
    CHECK(value == 0.0);
    CHECK(parse_decimal("-" + text, value) == DecimalStatus::good);
    CHECK(std::signbit(value));
  }
  CHECK(parse_decimal("0." + zeros + "1e401", value) == DecimalStatus::good);
  CHECK(value == 1.0);
  CHECK(parse_decimal("0e99999999999999999999", value) == DecimalStatus::good);
  CHECK(value == 0.0);
}

TEST_CASE("decimal: whole numbers of up to 127 bits are read in full") {
  Int128 value = 0;
  CHECK(parse_whole("-170141183460469231731687303715884105727", value));
  CHECK(to_string(value) == "-170141183460469231731687303715884105727");
  for (const char* text : {"", "-", "1.0", "1e3", "+1", " 1", "170141183460469231731687303715884105728"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_whole(text, value));
  }
}

#include "io/half.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace attnlab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("half: all 65536 bit patterns come back from double unchanged") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const BFloat16 brain{static_cast<std::uint16_t>(bits)};
    CAPTURE(bits);
    if (std::isnan(to_double(half))) {
      REQUIRE(std::isnan(to_double(to_float16(to_double(half)))));
    } else {
      REQUIRE(to_float16(to_double(half)).bits == bits);
    }
    if (std::isnan(to_double(brain))) {
      REQUIRE(std::isnan(to_double(to_bfloat16(to_double(brain)))));
    } else {
      REQUIRE(to_bfloat16(to_double(brain)).bits == bits);
    }
  }
}

TEST_CASE("half: known patterns have the values of the standard") {
  CHECK(to_double(Float16{0x3C00}) == 1.0);
  CHECK(to_double(Float16{0x0001}) == 0x1p-24);
  CHECK(to_double(Float16{0x03FF}) == 6.097555160522461e-05);
  CHECK(to_double(Float16{0x0400}) == 0x1p-14);
  CHECK(to_double(Float16{0x7BFF}) == 65504.0);
  CHECK(to_double(Float16{0xFC00}) == -infinity);
  CHECK(std::isnan(to_double(Float16{0x7C01})));
  CHECK(std::signbit(to_double(Float16{0x8000})));
  CHECK(to_double(BFloat16{0x3F80}) == 1.0);
  CHECK(to_double(BFloat16{0x4049}) == 3.140625);
  CHECK(to_double(BFloat16{0x0001}) == 0x1p-133);
  CHECK(to_double(BFloat16{0xFF80}) == -infinity);
}

TEST_CASE("half: every midpoint rounds to the even neighbour and its sides to the nearer one") {
  for (unsigned bits = 0; bits < 0x7BFF; ++bits) {
    const double low = to_double(Float16{static_cast<std::uint16_t>(bits)});
    const double high = to_double(Float16{static_cast<std::uint16_t>(bits + 1)});
    const double middle = low + (high - low) / 2;
    CAPTURE(bits);
    REQUIRE(to_float16(middle).bits == bits + bits % 2);
    REQUIRE(to_float16(std::nextafter(middle, 0.0)).bits == bits);
    REQUIRE(to_float16(std::nextafter(middle, infinity)).bits == bits + 1);
    REQUIRE(to_float16(-middle).bits == ((bits + bits % 2) | 0x8000U));
  }
  for (unsigned bits = 0; bits < 0x7F7F; ++bits) {
    const double low = to_double(BFloat16{static_cast<std::uint16_t>(bits)});
    const double high = to_double(BFloat16{static_cast<std::uint16_t>(bits + 1)});
    const double middle = low + (high - low) / 2;
    CAPTURE(bits);
    REQUIRE(to_bfloat16(middle).bits == bits + bits % 2);
    REQUIRE(to_bfloat16(std::nextafter(middle, infinity)).bits == bits + 1);
  }
}

TEST_CASE("half: what is too large becomes infinite and what is too small becomes zero") {
  CHECK(to_float16(65519.999).bits == 0x7BFF);
  CHECK(to_float16(65520.0).bits == 0x7C00);
  CHECK(to_float16(1e300).bits == 0x7C00);
  CHECK(to_float16(-infinity).bits == 0xFC00);
  CHECK(to_float16(0x1p-25).bits == 0);
  CHECK(to_float16(0x1.8p-25).bits == 1);
  CHECK(to_float16(-5e-324).bits == 0x8000);
  CHECK(to_bfloat16(std::numeric_limits<double>::max()).bits == 0x7F80);
  CHECK(to_bfloat16(static_cast<double>(std::numeric_limits<float>::max())).bits == 0x7F80);
  // Rounding to single precision first would make a tie of this and lose the last bit.
  CHECK(to_bfloat16(1.0 + 0x1p-8 + 0x1p-40).bits == 0x3F81);
}

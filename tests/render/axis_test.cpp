#include "render/axis.hpp"

#include <cmath>
#include <limits>
#include <set>

#include <doctest/doctest.h>

using namespace attnlab;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();

std::string tick_texts(const AxisRange& range, std::size_t most) {
  std::string texts;
  for (const Tick& tick : axis_ticks(range, most)) texts += tick.text + ' ';
  return texts;
}

AxisRange range_of(std::initializer_list<double> values, Scale scale = Scale::linear) {
  return axis_range(std::span<const double>(values.begin(), values.size()), scale);
}

}  // namespace

TEST_CASE("axis: ticks are 1 2 or 5 times a power of ten with the digits they need") {
  CHECK(tick_texts({Scale::linear, 0, 1}, 5) == "0 0.2 0.4 0.6 0.8 1.0 ");
  CHECK(tick_texts({Scale::linear, 0, 100}, 4) == "0 50 100 ");
  CHECK(tick_texts({Scale::linear, 0, 0.3}, 4) == "0 0.1 0.2 0.3 ");
  CHECK(tick_texts({Scale::linear, -1.05, 1.3}, 5) == "-1.0 -0.5 0 0.5 1.0 ");
  CHECK(tick_texts({Scale::linear, 3, 47}, 5) == "10 20 30 40 ");
  CHECK(tick_texts({Scale::linear, 0.999, 1.001}, 2) == "0.999 1.000 1.001 ");
}

TEST_CASE("axis: large and small ticks have short exponents") {
  CHECK(tick_texts({Scale::linear, 0, 4e6}, 4) == "0 1e6 2e6 3e6 4e6 ");
  CHECK(tick_texts({Scale::linear, 0, 1e9}, 2) == "0 5.0e8 1.0e9 ");
  CHECK(tick_texts({Scale::linear, 0, 3e-7}, 3) == "0 1e-7 2e-7 3e-7 ");
  CHECK(tick_texts({Scale::linear, 1000000, 1000002}, 2) == "1.000000e6 1.000001e6 1.000002e6 ");
}

TEST_CASE("axis: logarithmic ticks are powers of the base") {
  CHECK(tick_texts({Scale::log2, 1, 1024}, 5) == "1 4 16 64 256 1024 ");
  CHECK(tick_texts({Scale::log2, 0.125, 4}, 6) == "0.125 0.25 0.5 1 2 4 ");
  CHECK(tick_texts({Scale::log2, 1048576, 4194304}, 6) == "1048576 2^21 2^22 ");
  CHECK(tick_texts({Scale::log10, 0.001, 1e6}, 9) == "0.001 0.01 0.1 1 10 100 1000 10000 100000 1e6 ");
  CHECK(tick_texts({Scale::log10, 1e-7, 1e-5}, 3) == "1e-7 1e-6 1e-5 ");
}

TEST_CASE("axis: a logarithmic range within one decade has linear ticks") {
  CHECK(tick_texts({Scale::log10, 2, 9}, 4) == "2 4 6 8 ");
}

TEST_CASE("axis: the range is that of the drawable values") {
  const AxisRange range = range_of({3.0, std::nan(""), 1.0, infinity, -infinity});
  CHECK(range.low == 1.0);
  CHECK(range.high == 3.0);
  const AxisRange logarithmic = range_of({-4.0, 0.0, 1.0, 8.0}, Scale::log2);
  CHECK(logarithmic.low == 1.0);
  CHECK(logarithmic.high == 8.0);
  CHECK(std::abs(logarithmic.position(2.0) - 1.0 / 3.0) < 1e-15);
}

TEST_CASE("axis: equal values get room and none at all a range of its own") {
  const AxisRange constant = range_of({4.0, 4.0});
  CHECK(constant.low == 2.0);
  CHECK(constant.high == 6.0);
  CHECK(constant.position(4.0) == 0.5);
  const AxisRange zero = range_of({0.0});
  CHECK(zero.low == -1.0);
  CHECK(zero.high == 1.0);
  const AxisRange noise = range_of({1.0, 1.0 + 1e-15});
  CHECK(noise.high - noise.low > 0.9);
  const AxisRange power = range_of({8.0}, Scale::log2);
  CHECK(power.low == 4.0);
  CHECK(power.high == 16.0);
  CHECK(range_of({std::nan("")}).high == 1.0);
  CHECK(range_of({-1.0}, Scale::log10).high == 10.0);
}

TEST_CASE("axis: a rounded range ends on ticks") {
  const AxisRange range = rounded_range({Scale::linear, 0.03, 0.97}, 5);
  CHECK(range.low == 0.0);
  CHECK(range.high == 1.0);
  const AxisRange kept = rounded_range({Scale::linear, -1.0, 1.0}, 5);
  CHECK(kept.low == -1.0);
  CHECK(kept.high == 1.0);
  CHECK(rounded_range({Scale::log2, 3.0, 5.0}, 5).low == 3.0);
}

TEST_CASE("axis: hostile ranges still have a few finite ticks with texts of their own") {
  for (const std::initializer_list<double> values : {std::initializer_list<double>{-largest, largest},
                                                     {0.0, largest},
                                                     {largest},
                                                     {5e-324},
                                                     {0.0, 5e-324},
                                                     {1e-300, 2e-300},
                                                     {1e16, 1e16 + 2},
                                                     {1.0, 1.0 + 1e-11},
                                                     {-1e-9, 3e5},
                                                     {123456.789, 123456.790}}) {
    for (const Scale scale : {Scale::linear, Scale::log2, Scale::log10}) {
      const AxisRange range = range_of(values, scale);
      CAPTURE(range.low);
      CAPTURE(range.high);
      REQUIRE(range.low < range.high);
      for (const AxisRange& shown : {range, rounded_range(range, 5)}) {
        const std::vector<Tick> ticks = axis_ticks(shown, 5);
        CHECK(ticks.size() <= 8);
        std::set<std::string> texts;
        for (const Tick& tick : ticks) {
          CHECK(std::isfinite(tick.value));
          CHECK(tick.text.find_first_of("naif") == std::string::npos);
          CHECK(tick.text.size() <= 20);
          CHECK(shown.position(tick.value) > -1e-4);
          CHECK(shown.position(tick.value) < 1 + 1e-4);
          texts.insert(tick.text);
        }
        CHECK(texts.size() == ticks.size());
      }
    }
  }
}

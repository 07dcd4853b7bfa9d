#include "core/statistics.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::infinity;
using testing::not_a_number;

TEST_CASE("statistics: sums follow NumPy's order where orders differ") {
  // numpy.sum of 1/(i+1) over n items, as NumPy 1.24 prints it.
  const auto harmonic = [](std::size_t n) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = 1.0 / static_cast<double>(i + 1);
    return pairwise_sum(values);
  };
  CHECK(harmonic(0) == 0);
  CHECK(harmonic(7) == 2.5928571428571425);
  CHECK(harmonic(100) == 5.187377517639621);
  CHECK(harmonic(129) == 5.440899030573669);
  CHECK(harmonic(1000) == 7.485470860550345);
  CHECK(harmonic(12345) == 9.998262568361627);
}

TEST_CASE("statistics: mean and deviation divide by n") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(mean(values) == 5);
  CHECK(variance(values) == 4);
  CHECK(standard_deviation(values) == 2);
  CHECK(standard_deviation(std::vector<double>{3}) == 0);
  CHECK(std::isnan(mean({})));
}

TEST_CASE("statistics: the deviation of large close numbers does not cancel") {
  const std::vector<double> values{1e9, 1e9 + 1, 1e9 + 2};
  CHECK(std::abs(variance(values) - 2.0 / 3) < 1e-15);
}

TEST_CASE("statistics: the largest is the first of equals and NaN is not lost") {
  CHECK(argmax(std::vector<double>{1, 3, 3}) == 1);
  CHECK(maximum(std::vector<double>{-3, -2}) == -2);
  CHECK(std::isnan(maximum(std::vector<double>{not_a_number, 1})));
  CHECK(std::isnan(maximum(std::vector<double>{1, not_a_number, 2})));
  CHECK_THROWS_WITH_AS(maximum({}), "the largest of no values is not defined: give at least one", Error);
}

TEST_CASE("statistics: a dot product needs equal lengths") {
  CHECK(dot(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}) == 32);
  CHECK_THROWS_WITH_AS(dot(std::vector<double>{1}, std::vector<double>{1, 2}),
                       "a dot product of lengths 1 and 2 needs equal lengths", Error);
}

TEST_CASE("statistics: closeness is relative and absolute and never accepts NaN or another length") {
  CHECK(all_close(std::vector<double>{1 + 1e-6, 0}, std::vector<double>{1, 1e-9}));
  CHECK_FALSE(all_close(std::vector<double>{1 + 1e-4}, std::vector<double>{1}));
  CHECK_FALSE(all_close(std::vector<double>{not_a_number}, std::vector<double>{not_a_number}));
  CHECK(all_close(std::vector<double>{infinity}, std::vector<double>{infinity}));
  CHECK_FALSE(all_close(std::vector<double>{1}, std::vector<double>{infinity}));
  CHECK_FALSE(all_close(std::vector<double>{1, 2}, std::vector<double>{1}));
}

TEST_CASE("statistics: the standard error shrinks with the root of the count") {
  CHECK(standard_error(std::vector<double>{1, 3}) == 1);
  CHECK(std::abs(standard_error(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9}) - std::sqrt(4.0 / 7)) < 1e-15);
  CHECK(std::isnan(standard_error(std::vector<double>{1})));
  CHECK(std::isnan(standard_error({})));
}

TEST_CASE("statistics: entropy is zero for one certain outcome and largest for equal ones") {
  CHECK(entropy(std::vector<double>{0, 1, 0}) == 0);
  CHECK(std::abs(entropy(std::vector<double>(8, 0.125)) - std::log(8.0)) < 1e-15);
  CHECK(entropy({}) == 0);
  CHECK(std::isnan(entropy(std::vector<double>{not_a_number, 0.5})));
}

TEST_CASE("statistics: the largest difference hides neither NaN nor unequal lengths") {
  const std::vector<double> a{1, -2, infinity};
  CHECK(largest_difference(a, std::vector<double>{1, -2.5, infinity}) == 0.5);
  CHECK(largest_difference(a, std::vector<double>{1, -2, -infinity}) == infinity);
  CHECK(std::isnan(largest_difference(a, std::vector<double>{not_a_number, -2, infinity})));
  CHECK(largest_difference({}, {}) == 0);
  CHECK_THROWS_WITH_AS(largest_difference(a, {}), "lengths 3 and 0 have no difference: give equal lengths",
                       Error);
}

#include "core/power_law.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

TEST_CASE("power law: points on one give its exponent without error") {
  const PowerLaw fit = fit_power_law({1, 2, 4, 10}, {3, 12, 48, 300});
  CHECK(std::abs(fit.exponent - 2) < 1e-14);
  CHECK(fit.standard_error < 1e-14);
}

TEST_CASE("power law: exponent and standard error of three points are those computed by hand") {
  // In units of ln 2: x = 0, 1, 2 and y = 0, 2, 2. Slope 1, residuals -1/3, 2/3, -1/3, so s^2 = 6/9 and the
  // standard error is sqrt(6/9 / 2).
  const PowerLaw fit = fit_power_law({1, 2, 4}, {1, 4, 4});
  CHECK(std::abs(fit.exponent - 1) < 1e-14);
  CHECK(std::abs(fit.standard_error - std::sqrt(1.0 / 3)) < 1e-14);
}

TEST_CASE("power law: two points have an exponent and no error to tell") {
  const PowerLaw fit = fit_power_law({2, 8}, {5, 2.5});
  CHECK(std::abs(fit.exponent + 0.5) < 1e-14);
  CHECK(std::isnan(fit.standard_error));
}

TEST_CASE("power law: what cannot be fitted is refused") {
  const char* points = "a power law is fitted to two points or more, each with an x and a y";
  CHECK_THROWS_WITH_AS(fit_power_law({1}, {1}), points, Error);
  CHECK_THROWS_WITH_AS(fit_power_law({1, 2}, {1}), points, Error);
  CHECK_THROWS_WITH_AS(fit_power_law({3, 3}, {1, 2}), "a power law needs points at more than one x", Error);
}

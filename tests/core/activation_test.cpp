#include "core/activation.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::infinity;
using testing::not_a_number;

namespace {

constexpr Activation all_kinds[] = {Activation::gelu, Activation::gelu_tanh, Activation::relu,
                                    Activation::silu};

bool relatively_close(double got, double want) { return std::abs(got - want) <= 1e-13 * std::abs(want); }

}  // namespace

TEST_CASE("activation: both variants of GELU at known values") {
  const Matrix x{{-2, -0.5, 0, 1, 3}};
  CHECK(difference(activated(Activation::gelu, x), Matrix{{-0.04550026389635842, -0.15426876936299344, 0,
                                                           0.8413447460685429, 2.99595030590511}}) == "");
  CHECK(difference(activated(Activation::gelu_tanh, x), Matrix{{-0.04540230591222498, -0.15428599017485609, 0,
                                                                0.8411919906082767, 2.996362607918227}}) ==
        "");
}

TEST_CASE("activation: tails keep their relative accuracy") {
  CHECK(relatively_close(activate(Activation::gelu, -8), -4.976768459417427e-15));
  CHECK(relatively_close(activate(Activation::gelu, -9.5), -9.969789321594476e-21));
  // x / (1 + exp(-x)) is x exp(x) to 17 digits here.
  CHECK(relatively_close(activate(Activation::silu, -50), -50 * std::exp(-50.0)));
  CHECK(activate(Activation::silu, -700) < 0);
  // (1 + tanh u) / 2 is exp(2u) to 17 digits here.
  const double u = std::sqrt(2 / std::acos(-1.0)) * (-9 + 0.044715 * -729);
  CHECK(relatively_close(activate(Activation::gelu_tanh, -9), -9 * std::exp(2 * u)));
}

TEST_CASE("activation: the limits are exact and NaN stays") {
  for (const Activation kind : all_kinds) {
    CHECK(activate(kind, infinity) == infinity);
    CHECK(activate(kind, 1e300) == 1e300);
    CHECK(activate(kind, -infinity) == 0);
    CHECK(activate(kind, -1e300) == 0);
    CHECK(activate(kind, 0) == 0);
    CHECK(std::isnan(activate(kind, not_a_number)));
  }
}

TEST_CASE("activation: relu cuts and silu is known") {
  CHECK(difference(activated(Activation::relu, Matrix{{-2, 3}}), Matrix{{0, 3}}) == "");
  CHECK(relatively_close(activate(Activation::silu, 1), 0.7310585786300049));
}

TEST_CASE("activation: swiglu gates with the first and needs equal shapes") {
  CHECK(difference(swiglu(Matrix{{1, -2, 0.5}}, Matrix{{3, 0.5, -1}}),
                   Matrix{{2.193175735890015, -0.11920292202211756, -0.3112296656009273}}) == "");
  CHECK_THROWS_WITH_AS(swiglu(zeros(1, 2), zeros(1, 3)), "gate [1, 2] and up [1, 3] need equal shapes",
                       Error);
}

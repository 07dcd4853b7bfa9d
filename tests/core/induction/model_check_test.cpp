#include <doctest/doctest.h>

#include "core/induction/model_check.hpp"

using namespace attnlab;

TEST_CASE("model check: gradients are right to 1e-6 and a forgotten one is noticed") {
  for (const PositionKind positions : {PositionKind::shortformer, PositionKind::rope}) {
    CHECK(worst_model_gradient_error(positions, true, Generator(466)) <= 1e-6);
    CHECK(worst_model_gradient_error(positions, true, Generator(466), true) > 0.1);
  }
}

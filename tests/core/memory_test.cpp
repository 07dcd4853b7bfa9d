#include "core/memory.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

TEST_CASE("memory: what fits passes and what does not is named before it is taken") {
  require_memory({1000, 1000}, "scores");
  require_memory({0, std::size_t{1} << 63}, "scores");
  CHECK_THROWS_AS(require_memory({std::size_t{1} << 40, 1000}, "scores"), Error);
  CHECK_THROWS_AS(require_memory({std::size_t{1} << 63, std::size_t{1} << 63}, "scores"), Error);
}

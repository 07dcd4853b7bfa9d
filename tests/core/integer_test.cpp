#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/integer.hpp"

using namespace attnlab;

TEST_CASE("integer: text beyond 64 bits keeps every digit") {
  const Int128 flops = Int128{405853388800} * 6 * 15'000'000'000'000;
  CHECK(to_string(flops) == "36526804992000000000000000");
  CHECK(with_thousands(flops) == "36,526,804,992,000,000,000,000,000");
  CHECK(to_string(-flops) == "-36526804992000000000000000");
  CHECK(to_string(0) == "0");
}

TEST_CASE("integer: thousands are grouped from the right") {
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(-100000) == "-100,000");
}

TEST_CASE("integer: overflow of 127 bits is refused by name") {
  const Int128 large = Int128{1} << 120;
  CHECK_THROWS_WITH_AS(checked_multiply(large, large, "FLOPs"),
                       "FLOPs is beyond 127 bits: choose smaller sizes", Error);
  CHECK(checked_add(large, 1, "FLOPs") - large == 1);
  CHECK_THROWS_AS(checked_add(large * 127, large, "FLOPs"), Error);
}

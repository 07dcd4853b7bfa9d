#include "core/mask.hpp"

#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/positions.hpp"

using namespace attnlab;

namespace {

// "10/11" for a mask with those rows.
std::string drawn(const Mask& mask) {
  std::string text;
  for (std::size_t i = 0; i < mask.shape(0); ++i) {
    if (i > 0) text += '/';
    for (std::size_t j = 0; j < mask.shape(1); ++j) text += mask(i, j) ? '1' : '0';
  }
  return text;
}

Mask reach_of(std::size_t length, const Reach& reach) {
  return reach_mask(counted_positions(length), counted_positions(length), reach);
}

}  // namespace

TEST_CASE("mask: causal includes the diagonal") { CHECK(drawn(causal_mask(3, 3)) == "100/110/111"); }

TEST_CASE("mask: alignment decides where extra keys or queries lie") {
  CHECK(drawn(causal_mask(2, 4)) == "1110/1111");
  CHECK(drawn(causal_mask(2, 4, CausalAlign::top_left)) == "1000/1100");
  CHECK(drawn(causal_mask(3, 2)) == "00/10/11");
  CHECK(drawn(causal_mask(3, 2, CausalAlign::top_left)) == "10/11/11");
  CHECK(drawn(causal_mask(1, 3)) == "111");
}

TEST_CASE("mask: bounds are inclusive on both sides") {
  Reach reach;
  reach.left = 1;
  CHECK(drawn(reach_of(4, reach)) == "1111/1111/0111/0011");
  reach.right = 0;
  CHECK(drawn(reach_of(4, reach)) == "1000/1100/0110/0011");
  reach.left.reset();
  reach.right = 1;
  CHECK(drawn(reach_of(3, reach)) == "110/111/111");
}

TEST_CASE("mask: the strided pattern counts from the query") {
  Reach reach;
  reach.causal = true;
  reach.local = 2;
  reach.stride = 3;
  CHECK(drawn(reach_of(6, reach)) == "100000/110000/011000/101100/010110/001011");
  reach.stride = 0;
  CHECK_THROWS_WITH_AS(reach_of(2, reach), "a stride of 0 selects no distance: give at least 1", Error);
}

TEST_CASE("mask: padding hides the same keys from every query") {
  CHECK(drawn(padding_mask(2, {true, false, true})) == "101/101");
}

TEST_CASE("mask: joining keeps what both allow and needs equal shapes") {
  CHECK(drawn(both(causal_mask(3, 3), padding_mask(3, {false, true, true}))) == "000/010/011");
  CHECK(drawn(inverted(causal_mask(2, 2))) == "01/00");
  CHECK_THROWS_WITH_AS(both(full_mask(2, 3), full_mask(3, 3)),
                       "masks of shapes [2, 3] and [3, 3] cannot be joined: give equal shapes", Error);
}

#include "operations/inputs.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

namespace {

Inputs with(Array array) {
  Inputs inputs;
  inputs.set("x", std::move(array), "--x x.npy");
  return inputs;
}

}  // namespace

TEST_CASE("inputs: a list is one row of a matrix and a vector may be a row or a column") {
  CHECK(with({{3}, {1, 2, 3}}).matrix("x").shape(0) == 1);
  for (const Shape& shape : {Shape{3}, Shape{1, 3}, Shape{3, 1}}) {
    CHECK(with({shape, {1, 2, 3}}).numbers("x") == std::vector<double>{1, 2, 3});
    CHECK(with({shape, {1, 2, 3}}).vector("x").size() == 3);
  }
  CHECK(with({{}, {7}}).numbers("x") == std::vector<double>{7});
}

TEST_CASE("inputs: three dimensions are a list of matrices") {
  const std::vector<Matrix> all = with({{2, 1, 3}, {1, 2, 3, 4, 5, 6}}).matrices("x");
  CHECK(all.size() == 2);
  CHECK(all[1](0, 2) == 6);
}

TEST_CASE("inputs: masks are zeros and ones of any type") {
  const Mask mask = with({{2, 2}, {1, 0, 0, 1}}).mask("x");
  CHECK(mask(0, 0));
  CHECK_FALSE(mask(0, 1));
  CHECK(with({{1, 2}, {0, 1}}).flags("x") == std::vector<bool>{false, true});
  CHECK_THROWS_WITH_AS(with({{1, 2}, {0, 0.5}}).mask("x"), "--x x.npy: 0.5 at [0, 1] is neither 0 nor 1",
                       Error);
  CHECK_THROWS_WITH_AS(with({{2}, {0, -1}}).flags("x"), "--x x.npy: -1 at [1] is neither 0 nor 1", Error);
}

TEST_CASE("inputs: errors name the option and the file") {
  CHECK_THROWS_WITH_AS(with({{2, 2}, {1, 2, 3, 4}}).numbers("x"),
                       "--x x.npy: shape [2, 2] where a vector was expected", Error);
  CHECK_THROWS_WITH_AS(with({{1, 1, 1}, {1}}).matrix("x"),
                       "--x x.npy: shape [1, 1, 1] where a matrix was expected", Error);
  CHECK_THROWS_WITH_AS(with({{1, 1}, {1}}).matrices("x"),
                       "--x x.npy: shape [1, 1] where three dimensions were expected", Error);
  CHECK_THROWS_WITH_AS(
      with({{0}, {}}).matrix("x"),
      "--x x.npy: an empty list has no width: give at least one row, or shape [0, width] in .npy", Error);
  CHECK_THROWS_WITH_AS(Inputs().matrix("key"), "--key is missing: give the file of an array", Error);
}

TEST_CASE("inputs: what is optional is absent or read") {
  Inputs inputs = with({{2}, {1, 2}});
  CHECK_FALSE(inputs.optional_matrix("y"));
  CHECK(inputs.optional_vector("x")->size() == 2);
  inputs.set("y", {{1}, {1}});
  CHECK(inputs.labels() == "--x x.npy, --y");
}

#include <limits>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/tensor.hpp"

using namespace attnlab;

TEST_CASE("tensor: conversions keep shape and order") {
  const Matrix m{{1, 2, 3}, {4, 5, 6}};
  const Array a = to_array(m);
  CHECK(a.shape == Shape{2, 3});
  CHECK(a.values == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(to_matrix(a, "x")(1, 0) == 4);
  CHECK_THROWS_WITH_AS(to_vector(a, "x"), "x: shape [2, 3] where a vector was expected", Error);
  CHECK_THROWS_WITH_AS(to_matrix(Array{{1, 2, 1}, {1, 2}}, "x"),
                       "x: shape [1, 2, 1] where a matrix was expected", Error);
}

TEST_CASE("tensor: element_count refuses a product beyond 63 bits and takes zero before overflow") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({3, 0, std::size_t{1} << 62, 8}) == 0);
  CHECK_THROWS_AS(element_count({std::size_t{1} << 62, 8}), Error);
}

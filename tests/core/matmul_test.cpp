#include "core/matmul.hpp"

#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

namespace {

Matrix plain_product(const Matrix& a, const Matrix& b) {
  Matrix product = zeros(a.shape(0), b.shape(1));
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < b.shape(1); ++j) {
      for (std::size_t n = 0; n < a.shape(1); ++n) product(i, j) += a(i, n) * b(n, j);
    }
  }
  return product;
}

}  // namespace

TEST_CASE("matmul: agrees with three loops for every transpose and odd sizes") {
  for (const std::size_t rows : {1U, 2U, 7U, 33U}) {
    for (const std::size_t inner : {1U, 3U, 17U, 64U}) {
      for (const std::size_t columns : {1U, 5U, 31U}) {
        CAPTURE(rows);
        CAPTURE(inner);
        CAPTURE(columns);
        const Matrix a = scattered(rows, inner, 1);
        const Matrix b = scattered(inner, columns, 2);
        const Matrix want = plain_product(a, b);
        CHECK(difference(matmul(a, b), want) == "");
        CHECK(difference(matmul(transposed(a), b, Transpose::yes), want) == "");
        CHECK(difference(matmul(a, transposed(b), Transpose::no, Transpose::yes), want) == "");
        CHECK(difference(matmul(transposed(a), transposed(b), Transpose::yes, Transpose::yes), want) == "");
      }
    }
  }
}

TEST_CASE("matmul: sizes of zero give empty products or zeros") {
  CHECK(matmul(zeros(0, 3), zeros(3, 2)).shape(0) == 0);
  CHECK(matmul(zeros(2, 3), zeros(3, 0)).shape(1) == 0);
  CHECK(difference(matmul(zeros(2, 0), zeros(0, 3)), zeros(2, 3)) == "");
}

TEST_CASE("matmul: unequal inner sizes are refused with both shapes") {
  CHECK_THROWS_WITH_AS(matmul(zeros(2, 3), zeros(4, 5)),
                       "a product of [2, 3] and [4, 5] needs equal inner sizes", Error);
  CHECK_THROWS_WITH_AS(matmul(zeros(2, 3), zeros(3, 5), Transpose::no, Transpose::yes),
                       "a product of [2, 3] and [3, 5] transposed needs equal inner sizes", Error);
}

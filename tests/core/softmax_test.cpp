#include "core/softmax.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::infinity;
using testing::not_a_number;
using testing::scattered;

TEST_CASE("softmax: every row sums to one and keeps the order of the scores") {
  const Matrix weights = softmax(scattered(9, 37, 3));
  for (std::size_t row = 0; row < 9; ++row) {
    double sum = 0;
    for (const double weight : row_of(weights, row)) {
      CHECK(weight > 0);
      sum += weight;
    }
    CHECK(std::abs(sum - 1) < 1e-15 * 37);
  }
}

TEST_CASE("softmax: known values and the log of the sum") {
  std::vector<double> row{0, std::log(2.0), std::log(5.0)};
  CHECK(std::abs(softmax_in_place(row) - std::log(8.0)) < 1e-15);
  CHECK(difference(row, std::vector<double>{0.125, 0.25, 0.625}) == "");
}

TEST_CASE("softmax: huge and tiny scores neither overflow nor vanish") {
  std::vector<double> row{1600, 1600, 1580};
  softmax_in_place(row);
  CHECK(std::abs(row[0] - 0.4999999994847116) < 1e-15);
  row = {-1000, -1050, -1100};
  CHECK(softmax_in_place(row) == -1000);
  CHECK(row[0] == 1);
  CHECK(row[1] == std::exp(-50.0));
}

TEST_CASE("softmax: hidden keys weigh exactly nothing and an empty row is zeros") {
  std::vector<double> row{1, -infinity, 1};
  softmax_in_place(row);
  CHECK(row == std::vector<double>{0.5, 0, 0.5});
  row = {-infinity, -infinity};
  CHECK(softmax_in_place(row) == -infinity);
  CHECK(row == std::vector<double>{0, 0});
  CHECK(softmax_in_place({}) == -infinity);
}

TEST_CASE("softmax: a NaN shows in the whole row but not at hidden keys") {
  std::vector<double> row{1, not_a_number, -infinity};
  softmax_in_place(row);
  CHECK(std::isnan(row[0]));
  CHECK(std::isnan(row[1]));
  CHECK(row[2] == 0);
}

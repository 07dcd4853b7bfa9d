#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "lab/embedded_files.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("rope: the text is the end of the lesson's third listing") {
  const Report report = run_experiment("rope");
  std::string text;
  for (const Report::Item& item : report.items()) text += item.text + '\n';
  CHECK(text.size() > 100);
  CHECK(embedded_file("lesson/positions.txt").ends_with(text));
}

TEST_CASE("rope: every claim holds for twenty seeds and both layouts") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("rope", {}, seed).passed());
    CHECK(run_experiment("rope", {{"style", "half"}, {"d-k", "6"}}, seed).passed());
  }
}

TEST_CASE("rope: a pair of dimensions at position 1 is a plane rotation by one radian") {
  // d_k = 2: score(1, 0) = q0 (k0 cos 1 + k1 sin 1) + q1 (k1 cos 1 - k0 sin 1), here with query and key known
  // only through two scores: offset 0 gives q . k at every position.
  const Report report =
      run_experiment("rope", {{"d-k", "2"}, {"offset", "0"}, {"query-positions", "0,1,1000"}});
  const Table& table = *report.find_table("scores");
  const double product = number_of(table.rows[0][2]);
  CHECK(std::abs(number_of(table.rows[1][2]) - product) < 1e-12);
  CHECK(std::abs(number_of(table.rows[2][2]) - product) < 1e-12);
}

TEST_CASE("rope: an unrotated key leaves the position in the score and the claim notices") {
  const Report report = run_experiment("rope", {}, 466, "absolute");
  CHECK_FALSE(report.find_check("relative").passed());
  CHECK(report.find_check("norm-kept").passed());
  CHECK_FALSE(run_experiment("rope", {}, 466, "stretched").find_check("norm-kept").passed());
  CHECK_FALSE(run_experiment("rope", {}, 466, "same-angle").find_check("decades-fall-100").passed());
}

TEST_CASE("rope: odd widths and keys before position 0 are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("rope", {{"d-k", "7"}}),
                       "--d-k: 7 is odd; rotary pairs need an even width", Error);
  CHECK_THROWS_WITH_AS(run_experiment("rope", {{"offset", "4"}}),
                       "--offset: 4 puts the key of query position 3 before 0", Error);
}

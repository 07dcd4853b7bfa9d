#include <cmath>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("architectures: every claim holds for fifty seeds") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    CHECK(run_experiment("architectures", {}, seed).passed());
  }
}

TEST_CASE("architectures: the decoder's pattern is a lower triangle") {
  const Report report = run_experiment("architectures", {{"seq-len", "4"}});
  CHECK(report.find_grid("decoder")->array.values ==
        std::vector<double>{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1});
  CHECK(report.find_grid("cross")->array.shape == Shape{4, 5});
}

TEST_CASE("architectures: without residual connections and norms the stream is not what it was") {
  const Report with = run_experiment("architectures");
  const Report without = run_experiment("architectures", {{"norm", "none"}, {"layers", "3"}});
  const auto chosen = [](const Report& report) {
    const Table& table = *report.find_table("stream");
    return number_of(table.rows[1][table.column("chosen")]);
  };
  CHECK(chosen(with) != chosen(without));
  CHECK(without.find_table("stream")->rows.size() == 4);
}

TEST_CASE("architectures: what a feed-forward layer adds to the stream is the mean square of GELU") {
  const Report report = run_experiment("architectures", {{"draws", "200"}});
  const Check& gain = report.find_check("feed-forward-gain");
  // By the trapezoidal rule over the normal density.
  double expected = 0;
  for (int step = -12000; step <= 12000; ++step) {
    const double z = step * 1e-3;
    const double gelu = 0.5 * z * std::erfc(-z / std::sqrt(2.0));
    expected += gelu * gelu * std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)) * 1e-3;
  }
  CHECK(std::abs(gain.expected - expected) < 1e-12);
  CHECK(*gain.standard_error < 0.02);
  CHECK(gain.passed());
}

TEST_CASE(
    "architectures: a stream without residual connections or without norms does not grow as it should") {
  CHECK_FALSE(run_experiment("architectures", {}, 466, "no-residual")
                  .find_check("pre-norm-stream-grows-least")
                  .passed());
  CHECK_FALSE(
      run_experiment("architectures", {}, 466, "no-norm").find_check("pre-norm-stream-grows-most").passed());
}

TEST_CASE("architectures: masks that trade places are noticed") {
  const Report report = run_experiment("architectures", {}, 466, "masks-swapped");
  // Of 36 pairs of positions 15 are later ones.
  CHECK(report.find_check("encoder-sees-all").measured == 15);
  CHECK(report.find_check("decoder-sees-no-later").measured == 15);
}

TEST_CASE("architectures: heads that do not divide the width are refused") {
  CHECK_THROWS_WITH_AS(run_experiment("architectures", {{"heads", "3"}}),
                       "--heads: 3 do not divide a width of 16", Error);
}

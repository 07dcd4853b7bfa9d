#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"

using namespace attnlab;

TEST_CASE("equivariance: the text is the last line of the lesson's first listing") {
  const Report report = run_experiment("equivariance");
  REQUIRE(report.items().size() == 1);
  CHECK(report.items()[0].text == "without positions, self-attention is permutation-equivariant: True");
}

TEST_CASE("equivariance: every claim holds for twenty seeds and other sizes") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    for (const char* seq_len : {"1", "2", "3", "5", "16"}) {
      CAPTURE(seq_len);
      CHECK(run_experiment("equivariance", {{"seq-len", seq_len}}, seed).passed());
    }
  }
}

TEST_CASE("equivariance: one causal layer is blind to the order of the prefix and two are not") {
  const Report report = run_experiment("equivariance");
  CHECK(report.find_check("causal-one-layer").measured < 1e-15);
  CHECK(report.find_check("causal-two-layers").measured > 1e-3);
  const Report unmasked = run_experiment("equivariance", {}, 466, "no-mask");
  CHECK_FALSE(unmasked.find_check("causal-two-layers").passed());
  const Report positions = run_experiment("equivariance", {}, 466, "positions");
  CHECK_FALSE(positions.find_check("causal-one-layer").passed());
  const Report causal = run_experiment("equivariance", {}, 466, "causal");
  CHECK_FALSE(causal.find_check("equivariant").passed());
  CHECK_FALSE(causal.find_check("pooled").passed());
}

TEST_CASE("equivariance: an option out of range names the option and the range") {
  CHECK_THROWS_WITH_AS(run_experiment("equivariance", {{"seq-len", "0"}}),
                       "--seq-len: 0 is outside [1, 2048]", Error);
}

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/run.hpp"
#include "support/scratch.hpp"

using namespace attnlab;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

/// A setting small enough to train in a blink.
Options tiny(Options more = {}) {
  Options options{{"vocabulary", "8"}, {"seq-len", "16"},   {"d-model", "16"},      {"heads", "2"},
                  {"min-period", "3"}, {"max-period", "6"}, {"batch", "4"},         {"test-period", "8"},
                  {"steps", "10"},     {"every", "5"},      {"control-steps", "10"}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

TEST_CASE("induction: the curve has a row for each measurement and the control ends where its steps end") {
  const Report report = run_experiment("induction", tiny({{"control-steps", "5"}}));
  const Table* curve = report.find_table("curve");
  REQUIRE(curve != nullptr);
  REQUIRE(curve->rows.size() == 3);
  CHECK(number_of(curve->rows[2][0]) == 10);
  CHECK(number_of(curve->rows[2][curve->column("repeated_loss")]) > 0);
  CHECK(std::holds_alternative<std::monostate>(curve->rows[2][curve->column("control_loss")]));
  CHECK(report.find_table("heads")->rows.size() == 4);
  CHECK(report.find_table("head-curve")->rows.size() == 12);
  CHECK(report.find_grid("after-2-2") != nullptr);
  CHECK(report.passed());
}

TEST_CASE("induction: heads that are taken out are named from 1 and whole layers with a star") {
  const Report report = run_experiment("induction", tiny({{"ablate", "2.1,1.*"}}));
  const Table* ablation = report.find_table("ablation");
  REQUIRE(ablation != nullptr);
  REQUIRE(ablation->rows.size() ==
          9);  // nothing, what was asked, layer 1, each of four heads, those of layer 1 in two sets
  CHECK(std::get<std::string>(ablation->rows[1][0]) == "2.1,1.*");
  CHECK(number_of(ablation->rows[0][1]) != number_of(ablation->rows[2][1]));
  CHECK_THROWS_WITH_AS(run_experiment("induction", tiny({{"ablate", "1"}})),
                       "--ablate: 1 is not LAYER.HEAD, as 2.3 or 1.*", Error);
  CHECK_THROWS_AS(run_experiment("induction", tiny({{"ablate", "3.1"}})), Error);
  CHECK_THROWS_AS(run_experiment("induction", tiny({{"ablate", "1.0"}})), Error);
}

TEST_CASE("induction: weights that were saved give the same measurements when they are loaded") {
  const Scratch folder;
  const std::string path = folder.path("heads.safetensors");
  const Report trained = run_experiment("induction", tiny({{"save", path}, {"positions", "rope"}}));
  const Report loaded = run_experiment(
      "induction", {{"load", path}, {"min-period", "3"}, {"max-period", "6"}, {"test-period", "8"}});
  const Table* before = trained.find_table("curve");
  const Table* after = loaded.find_table("curve");
  REQUIRE(after->rows.size() == 1);
  const std::size_t column = after->column("repeated_loss");
  CHECK(number_of(after->rows[0][column]) == number_of(before->rows[2][column]));
}

TEST_CASE("induction: every way to know positions trains and its gradients are right") {
  for (const char* positions : {"shortformer", "learned", "rope", "alibi", "none"}) {
    CAPTURE(positions);
    const Report report = run_experiment("induction", tiny({{"positions", positions}}));
    CHECK(report.find_check("gradients").measured <= 1e-6);
    CHECK(report.find_table("curve")->rows.size() == 3);
  }
}

TEST_CASE("induction: the circuit set by hand needs no training and its claims notice when it is broken") {
  const Report report = run_experiment("induction", {{"wire", "true"}});
  CHECK(report.find_check("wire-copies").measured == 1.0);
  CHECK(report.find_table("curve") == nullptr);
  CHECK_FALSE(run_experiment("induction", {{"wire", "true"}}, 466, "no-previous-token")
                  .find_check("wire-copies")
                  .passed());
  CHECK_FALSE(run_experiment("induction", {{"wire", "true"}}, 466, "two-layer-control")
                  .find_check("wire-control")
                  .passed());
  CHECK_FALSE(run_experiment("induction", {{"wire", "true"}}, 466, "forgotten-gradient")
                  .find_check("gradients")
                  .passed());
}

TEST_CASE("induction: sizes that do not fit are refused with what would be right") {
  CHECK_THROWS_WITH_AS(run_experiment("induction", {{"heads", "3"}}),
                       "heads: 3 do not divide a d_model of 64", Error);
  CHECK_THROWS_WITH_AS(run_experiment("induction", {{"period", "63"}}),
                       "period: 63 leaves nothing to predict in a length of 64; at most 62", Error);
}

TEST_CASE("induction: what cannot be taken out, or has no effect, is refused before the training") {
  CHECK_THROWS_WITH_AS(run_experiment("induction", {{"ablate", "9.1"}}), "--ablate: 9 is outside [1, 2]",
                       Error);
  CHECK_THROWS_WITH_AS(run_experiment("induction", {{"wire", ""}, {"ablate", "1.1"}}),
                       "--wire trains nothing: leave out --ablate, --save and --load", Error);
}

#include "core/moe.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::infinity;
using testing::not_a_number;

using Experts = std::vector<std::vector<std::size_t>>;

TEST_CASE("moe: weights are kept as probabilities or renormalised over the chosen") {
  const Matrix logits{{2, 1, 0.5, -1}};
  CHECK(route(logits, 2, true).experts == Experts{{0, 1}});
  CHECK(difference(route(logits, 2, true).weights, Matrix{{0.7310585786300049, 0.2689414213699951}}) == "");
  CHECK(difference(route(logits, 2, false).weights, Matrix{{0.6094600375988771, 0.22420781804820114}}) == "");
}

TEST_CASE("moe: ties go to the lower index and the highest logit comes first") {
  CHECK(route(Matrix{{1, 1, 1, 1}, {0, 3, 2, 3}}, 2, true).experts == Experts{{0, 1}, {1, 3}});
}

TEST_CASE("moe: large and far apart logits neither overflow nor vanish") {
  CHECK(difference(route(Matrix{{800, 799, 0}}, 2, false).weights,
                   Matrix{{0.7310585786300049, 0.2689414213699951}}) == "");
  CHECK(difference(route(Matrix{{-2000, -1000, -infinity}}, 3, true).weights, Matrix{{1, 0, 0}}) == "");
}

TEST_CASE("moe: one chosen expert weighs one after renormalising") {
  const Routing routing = route(Matrix{{0, 2, 1}, {3, 1, 1}}, 1, true);
  CHECK(routing.experts == Experts{{1}, {0}});
  CHECK(difference(routing.weights, Matrix{{1}, {1}}) == "");
}

TEST_CASE("moe: impossible choices and logits that cannot be ranked are refused") {
  CHECK_THROWS_WITH_AS(route(zeros(1, 4), 5, true),
                       "5 chosen of 4 experts: choose at least 1 and at most all of them", Error);
  CHECK_THROWS_AS(route(zeros(1, 4), 0, true), Error);
  CHECK_THROWS_WITH_AS(route(Matrix{{0, not_a_number}}, 1, true),
                       "logits: nan at [0, 1] cannot be ranked: finite numbers can", Error);
  CHECK_THROWS_AS(route(Matrix{{0, infinity}}, 1, true), Error);
}

TEST_CASE("moe: only chosen experts contribute") {
  const Routing routing = route(Matrix{{2, 0, 1}}, 2, true);
  const Matrix outputs{{1, 0}, {not_a_number, infinity}, {0, 3}};
  CHECK(difference(mix(routing, {outputs}), Matrix{{0.7310585786300049, 0.8068242641099853}}) == "");
}

TEST_CASE("moe: each token can have its own expert outputs") {
  const Routing routing = route(Matrix{{1, 0}, {0, 1}}, 1, true);
  CHECK(difference(mix(routing, {Matrix{{5}, {6}}, Matrix{{7}, {8}}}), Matrix{{5}, {8}}) == "");
  CHECK_THROWS_WITH_AS(mix(routing, {zeros(2, 1), zeros(2, 1), zeros(2, 1)}),
                       "expert outputs for 3 tokens where 2 are routed: give one for each, or one for all",
                       Error);
  CHECK_THROWS_AS(mix(routing, {}), Error);
  CHECK_THROWS_WITH_AS(mix(routing, {zeros(1, 1)}), "expert 1 is chosen but only 1 experts answered", Error);
}

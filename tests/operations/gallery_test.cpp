#include "operations/gallery.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "experiments/all.hpp"
#include "operations/diagnosis.hpp"
#include "operations/scenes.hpp"

using namespace attnlab;

TEST_CASE("exhibit_of: every mistake shows in its example") {
  for (const Mistake& mistake : mistakes()) {
    CAPTURE(mistake.name);
    const Exhibit exhibit = exhibit_of(mistake);
    CHECK(exhibit.right.shape == exhibit.wrong.shape);
    CHECK(difference(exhibit.wrong.values, exhibit.right.values).residual > 1e-4);
    const Diagnosis found = diagnose(exhibit.call, exhibit.result, exhibit.wrong, "");
    CHECK(std::any_of(found.explanations.begin(), found.explanations.end(),
                      [&](const Explanation& one) { return one.mistakes == std::vector{&mistake}; }));
  }
}

TEST_CASE("exhibit_of: mistakes of plain attention show on the lesson's own data") {
  for (const char* name : {"scale-missing", "causal-missing", "softmax-over-queries", "mask-after-softmax"}) {
    const Exhibit exhibit = exhibit_of(*find_mistake(name));
    CHECK(exhibit.of_lesson);
    CHECK(exhibit.result == "weights");
    CHECK(exhibit.right.shape == Shape{5, 5});
    CHECK(std::abs(exhibit.right.values[5] - 0.772) < 0.0005);  // as the lesson prints it
  }
}

TEST_CASE("mistakes: the claims that catch them exist and most mistakes have one") {
  std::set<std::string> claims;
  for (const Experiment& experiment : experiments::all()) {
    for (const Claim& claim : experiment.claims) claims.insert(experiment.name + "/" + claim.id);
  }
  std::size_t caught = 0;
  for (const Mistake& mistake : mistakes()) {
    CAPTURE(mistake.name);
    if (!mistake.claim.empty()) CHECK(claims.count(mistake.claim) == 1);
    caught += mistake.claim.empty() ? 0 : 1;
  }
  CHECK(caught > mistakes().size() * 3 / 4);
}

TEST_CASE("options_text: what differs from the defaults as one types it") {
  const auto session = find_operation("attention")->start();
  Trial call(*find_operation("attention"), session->options, {});
  CHECK(options_text(call).empty());
  call.set("causal", "");
  call.set("heads", 2);
  call.set("scale", 0.5);
  CHECK(options_text(call) == "--heads 2 --causal --scale 0.5");
}

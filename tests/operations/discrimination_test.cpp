#include "operations/discrimination.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace attnlab;

TEST_CASE("tell_apart: mistakes that agree on one input differ on the arrays that are found") {
  const auto session = find_operation("attention")->start();
  session->options.set("causal", "");
  Trial call(*find_operation("attention"), session->options, {});
  call.inputs.set("query", {{2, 2}, {1, 0, 0, 1}});
  call.inputs.set("key", {{2, 2}, {1, 0, 0, 1}});
  call.inputs.set("value", {{2, 2}, {1, 2, 3, 4}});
  const std::vector<const Mistake*> missing = {find_mistake("causal-missing")};
  const Array yours = numeric_results(*wrong_results(call, missing))[0].second;
  const Diagnosis found = diagnose(call, "output", yours, "");
  REQUIRE(found.explanations.size() >= 2);
  const Discrimination told = tell_apart(call, found, 466);
  REQUIRE(told.call);
  CHECK(told.alike.size() < found.explanations.size() * (found.explanations.size() - 1) / 2);
  for (std::size_t a = 0; a < found.explanations.size(); ++a) {
    for (std::size_t b = a + 1; b < found.explanations.size(); ++b) {
      const bool alike = std::count(told.alike.begin(), told.alike.end(), std::pair(a, b)) > 0;
      const auto first = wrong_results(*told.call, found.explanations[a].mistakes);
      const auto second = wrong_results(*told.call, found.explanations[b].mistakes);
      if (alike || !first || !second) continue;
      CHECK(difference(numeric_results(*first)[0].second.values, numeric_results(*second)[0].second.values)
                .residual > 1e-3);
    }
  }
}

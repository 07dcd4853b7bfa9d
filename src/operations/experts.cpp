// Mixture of experts.
#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/moe.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

struct RouteParams {
  std::size_t chosen = 2;
  bool renormalize = false;
  bool no_renormalize = false;
};

void declare_route(OptionSet& options, RouteParams& params) {
  options.integer("k", params.chosen, 1, std::int64_t{1} << 31, "experts chosen for each token");
  options.flag("renormalize", params.renormalize,
               "weights of the chosen experts sum to 1 (Mixtral, Qwen 3); so unless --no-renormalize");
  options.flag("no-renormalize", params.no_renormalize,
               "probabilities over all experts, kept as they are (Switch, DeepSeek-V2, Qwen 1.5)");
}

Routing routing_of(const RouteParams& params, const Inputs& inputs) {
  if (params.renormalize && params.no_renormalize) {
    throw Error(ErrorKind::usage, "--renormalize and --no-renormalize exclude each other");
  }
  return route(inputs.matrix("logits"), params.chosen, !params.no_renormalize);
}

NamedResult experts_result(const Routing& routing) {
  Array experts{{routing.weights.shape(0), routing.weights.shape(1)}, {}};
  for (const std::vector<std::size_t>& row : routing.experts) {
    experts.values.insert(experts.values.end(), row.begin(), row.end());
  }
  return whole_result("experts", std::move(experts));
}

Results run_route(const RouteParams& params, const Inputs& inputs) {
  const Routing routing = routing_of(params, inputs);
  return {experts_result(routing), array_result("weights", routing.weights)};
}

Results run_mix(const RouteParams& params, const Inputs& inputs) {
  const Routing routing = routing_of(params, inputs);
  const bool for_each_token = inputs.array("expert-outputs").shape.size() == 3;
  const std::vector<Matrix> outputs = for_each_token ? inputs.matrices("expert-outputs")
                                                     : std::vector<Matrix>{inputs.matrix("expert-outputs")};
  return {array_result("output", mix(routing, outputs)), experts_result(routing),
          array_result("weights", routing.weights)};
}

}  // namespace

std::vector<Operation> expert_operations() {
  const std::string family = "Experts";
  const std::string details = "The highest logits win, ties go to the lower index.";
  return {
      make_operation<RouteParams>(
          {.name = "moe-route",
           .family = family,
           .summary = "which experts each token goes to, and with which weights",
           .source = "Shazeer et al. 2017, section 2.1",
           .inputs = {{"logits", "[T, experts]", "what the router says of each expert"}},
           .results = {{"experts", "[T, k]"}, {"weights", "[T, k]"}},
           .details = details},
          declare_route, run_route),
      make_operation<RouteParams>(
          {.name = "moe-mix",
           .family = family,
           .summary = "the mix of what the chosen experts answer",
           .source = "Shazeer et al. 2017, section 2",
           .inputs = {{"logits", "[T, experts]", "what the router says of each expert"},
                      {"expert-outputs", "[experts, d] or [T, experts, d]",
                       "what each expert answers, to all tokens or to each"}},
           .results = {{"output", "[T, d]"}, {"experts", "[T, k]"}, {"weights", "[T, k]"}},
           .details = details},
          declare_route, run_mix),
  };
}

}  // namespace attnlab

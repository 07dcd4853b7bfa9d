// Layer norm and root-mean-square norm.
#include "core/norm.hpp"

#include <limits>

#include "operations/operation.hpp"

namespace attnlab {
namespace {

struct NormParams {
  NormKind kind = NormKind::layer;
  double eps = 1e-5;
  double offset = 0;
};

void declare_norm(OptionSet& options, NormParams& params) {
  options.choice<NormKind>(
      "kind", params.kind, {{"layer", NormKind::layer}, {"rms", NormKind::rms}},
      "layer: mean removed (GPT-2, BERT); rms: root mean square only (Llama, Mistral, Qwen)");
  options.real("eps", params.eps, 0, std::numeric_limits<double>::max(),
               "added to the variance, inside the root");
  options.real("offset", params.offset, -std::numeric_limits<double>::max(),
               std::numeric_limits<double>::max(),
               "added to the gain: 1 for weights stored as gain - 1 (Gemma)");
}

Results run_norm(const NormParams& params, const Inputs& inputs) {
  const NormOptions options{params.eps, inputs.optional_vector("gain"), inputs.optional_vector("bias"),
                            params.offset};
  return {array_result("output", normalized(inputs.matrix("x"), params.kind, options))};
}

}  // namespace

std::vector<Operation> norm_operations() {
  return {
      make_operation<NormParams>({.name = "norm",
                                  .family = "Norms",
                                  .summary = "layer norm or root-mean-square norm of rows",
                                  .source = "Ba, Kiros and Hinton 2016; Zhang and Sennrich 2019",
                                  .inputs = {{"x", "[T, d]", "rows to normalise"},
                                             {"gain", "[d]", "multiplies; 1 unless given", false},
                                             {"bias", "[d]", "added last; 0 unless given", false}},
                                  .results = {{"output", "[T, d]"}},
                                  .details = "The variance divides by d. A row without spread gives zeros."},
                                 declare_norm, run_norm)};
}

}  // namespace attnlab

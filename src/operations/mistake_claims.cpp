// Which claim of `verify` fails when a mistake is made.
#include <string>
#include <utility>
#include <vector>

#include "operations/mistake.hpp"

namespace attnlab {
namespace {

using Claims = std::vector<std::pair<const char*, std::vector<const char*>>>;

const Claims& claims() {
  static const Claims all = {
      {"scaling/unit-variance",
       {"scale-missing", "scale-by-model-width", "scale-by-value-width", "scale-inverted"}},
      {"scaling/peak-linear", {"scale-by-width", "scale-twice"}},
      {"attention/formula", {"scale-ignored", "key-value-swapped", "query-key-swapped"}},
      {"attention/rows-sum-to-one",
       {"softmax-over-queries", "softmax-over-everything", "softmax-missing", "softmax-maximum-from-0",
        "mask-after-softmax", "mask-times-infinity", "mask-twice"}},
      {"attention/hard-lookup", {"softmax-not-shifted", "softmax-float32-not-shifted"}},
      {"attention/hidden-weight-zero",
       {"mask-multiplied", "mask-added-as-numbers", "mask-inverted", "mask-ignored"}},
      {"attention/no-leak", {"mask-times-hidden-values"}},
      {"attention/future-weight-zero", {"causal-missing", "causal-one-ahead", "causal-reversed"}},
      {"attention/projections", {"query-key-weights-swapped", "key-value-weights-swapped"}},
      {"masking/fully-masked-is-zero",
       {"mask-finite-sentinel", "mask-finite-added", "empty-row-nan", "empty-row-mean"}},
      {"masking/pad-weight-zero", {"padding-ignored"}},
      {"masking/padded-equals-alone", {"padding-on-queries", "positions-of-columns"}},
      {"masking/one-pass-is-every-prefix", {"causal-alignment", "causal-diagonal-hidden"}},
      {"approximations/pairs", {"window-too-wide", "window-too-narrow", "window-ignored"}},
      {"heads/right-split-keeps-the-mask", {"heads-not-transposed"}},
      {"heads/plain-loops",
       {"heads-split-without-transpose", "heads-joined-without-transpose", "heads-innermost",
        "heads-joined-innermost", "heads-joined-reversed", "output-projection-missing",
        "output-projection-transposed", "projections-transposed", "all-projections-transposed"}},
      {"heads/two-heads-read-two", {"heads-ignored"}},
      {"gqa/equals-repeated", {"kv-heads-tiled"}},
      {"gqa/heads-used", {"kv-heads-first-only"}},
      {"qk-norm/rms-bound", {"qk-norm-missing", "qk-norm-over-all-heads"}},
      {"qk-norm/bound-is-reached", {"qk-norm-gain-missing"}},
      {"positions/inside-attention", {"rope-on-values"}},
      {"positions/order-matters", {"rope-missing"}},
      {"rope/layouts-agree", {"rope-pairs", "rope-columns-not-permuted"}},
      {"rope/relative",
       {"rope-keys-not-rotated", "rope-queries-not-rotated", "rope-float32-angles", "rope-bfloat16-angles"}},
      {"rope/definition",
       {"rope-positions-from-1", "rope-angle-sign", "rope-base-default", "rope-exponent-halved",
        "rope-width-of-head", "rope-partial-ignored"}},
      {"rope-scaling/linear-divides-all", {"rope-scaling-ignored", "rope-factor-inverted"}},
      {"rope-scaling/ntk-base", {"ntk-base-times-factor"}},
      {"rope-scaling/dynamic-waits", {"dynamic-ntk-fixed", "dynamic-ntk-below-length"}},
      {"rope-scaling/yarn-temperature",
       {"yarn-factor-twice", "yarn-factor-missing", "yarn-factor-without-one", "yarn-factor-on-queries"}},
      {"alibi/window", {"alibi-sign"}},
      {"alibi/proportional", {"alibi-signed-offset", "alibi-missing"}},
      {"alibi/twelve-heads", {"alibi-slopes-geometric"}},
      {"alibi/eight-heads", {"alibi-slopes-from-0"}},
      {"sinusoidal/same-length", {"sinusoidal-exponent"}},
      {"sinusoidal/listing",
       {"sinusoidal-halves", "sinusoidal-exponent-halved", "sinusoidal-exponent-doubled",
        "sinusoidal-swapped", "sinusoidal-from-1"}},
      {"architectures/post-norm-stream-is-kept", {"norm-root-missing", "norm-by-length"}},
      {"architectures/decoder-sees-no-later", {"norm-over-tokens"}},
      {"architectures/block-formula", {"block-parallel", "block-norm-kind", "block-norms-swapped"}},
      {"architectures/residual-passes",
       {"block-residual-normalised", "block-first-residual-normalised", "block-residual-missing",
        "block-second-residual-missing"}},
      {"architectures/cross-sees-the-source", {"cross-causal"}},
      {"norm-placement/pre-norm-falls", {"block-post-norm"}},
      {"activations/gelu-definition", {"gelu-tail-cancelled", "silu-for-gelu", "relu-for-gelu"}},
      {"activations/tanh-form", {"gelu-tanh-for-exact", "gelu-exact-for-tanh"}},
      {"activations/sigmoid-form", {"gelu-sigmoid"}},
      {"activations/silu-minimum", {"gelu-for-silu"}},
      {"activations/gated-parity", {"swiglu-width-of-plain-layer"}},
      {"ffn-memory/sum-of-memories", {"memory-keys-transposed", "memory-normalised"}},
      {"moe/weighted-answers",
       {"experts-not-renormalised", "experts-softmax-over-chosen", "experts-lowest-chosen",
        "experts-best-twice", "experts-sigmoid", "experts-equal-weights", "experts-softmax-over-tokens",
        "experts-weights-over-tokens", "experts-softmax-overflow", "experts-all-mixed"}},
      {"kv-cache/equals-recomputed",
       {"rope-query-restart", "cache-chunk-unmasked", "cache-ignored", "cache-position-reset",
        "cache-query-position-reset"}},
      {"kv-cache/pages-change-nothing", {"paged-stale-tail", "paged-table-ignored"}},
      {"kv-cache/ring-is-a-window", {"ring-slot-order", "ring-unbounded"}},
      {"kv-cache/keys-by-channel", {"codes-wrong-axis"}},
      {"kv-cache/half-a-step",
       {"codes-one-range", "codes-truncated", "codes-truncated-symmetric", "codes-too-many-levels",
        "codes-scale-of-128", "codes-empty-range", "codes-empty-range-symmetric", "codes-offset-missing"}},
      {"kv-cache/known-sizes", {"cache-size-keys-only", "overflow-of-32-bits", "overflow-of-32-bits-signed"}},
      {"cost/backward-4n", {"training-without-backward"}},
      {"approximations/linear-recurrent",
       {"linear-denominator-missing", "linear-denominator-without-query", "linear-denominator-epsilon",
        "linear-feature-relu", "linear-feature-exp", "linear-feature-elu", "linear-feature-missing"}},
      {"approximations/leak", {"linear-causal-missing"}},
      {"lookup/hard-limit", {"lookup-temperature-multiplied", "lookup-softmax-overflow"}},
  };
  return all;
}

}  // namespace

std::string claim_against(std::string_view mistake) {
  for (const auto& [claim, caught] : claims()) {
    for (const char* name : caught) {
      if (name == mistake) return claim;
    }
  }
  return "";
}

}  // namespace attnlab

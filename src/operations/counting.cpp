// Sizes and operations that follow from a few numbers alone.
#include <limits>

#include "core/integer.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

constexpr const char* family = "Counting";
constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

Int128 product(std::initializer_list<std::int64_t> factors, const char* what) {
  Int128 total = 1;
  for (const std::int64_t factor : factors) total = checked_multiply(total, factor, what);
  return total;
}

struct CacheSize {
  std::int64_t layers = 12;
  std::int64_t num_kv_heads = 12;
  std::int64_t head_dim = 64;
  std::int64_t length = 1024;
  std::int64_t batch = 1;
  std::int64_t bits = 16;
};

void declare_cache_size(OptionSet& options, CacheSize& size) {
  options.integer("layers", size.layers, 1, any_size, "layers that have a cache");
  options.integer("kv-heads", size.num_kv_heads, 1, any_size, "key heads, not query heads");
  options.integer("head-dim", size.head_dim, 1, any_size, "width of a head, which need not be width / heads");
  options.integer("length", size.length, 0, any_size, "tokens of a sequence");
  options.integer("batch", size.batch, 1, any_size, "sequences");
  options.integer("bits", size.bits, 1, 64, "of one number: 16 for half precision");
}

Results run_cache_size(const CacheSize& size, const Inputs&) {
  const Int128 bits = product(
      {2, size.layers, size.num_kv_heads, size.head_dim, size.length, size.batch, size.bits}, "the cache");
  return {{"bytes", bits / 8 + (bits % 8 != 0 ? 1 : 0)}};
}

struct Training {
  std::int64_t parameters = 124'439'808;
  std::int64_t tokens = 1;
};

void declare_training(OptionSet& options, Training& training) {
  options.integer("parameters", training.parameters, 1, any_size, "weights that multiply, N");
  options.integer("tokens", training.tokens, 0, any_size, "training tokens, D");
}

Results run_training(const Training& training, const Inputs&) {
  return {{"flops", product({6, training.parameters, training.tokens}, "the number of operations")}};
}

struct Length {
  std::int64_t length = 1024;
};

void declare_length(OptionSet& options, Length& params) {
  options.integer("length", params.length, 0, any_size, "tokens of a sequence");
}

Results run_score_entries(const Length& params, const Inputs&) {
  return {{"entries", product({params.length, params.length}, "the score matrix")}};
}

struct SwigluWidth {
  std::int64_t d_model = 4096;
  std::int64_t multiple_of = 256;
};

void declare_swiglu_width(OptionSet& options, SwigluWidth& params) {
  options.integer("d-model", params.d_model, 1, any_size, "width of the model").short_form('d');
  options.integer("multiple-of", params.multiple_of, 1, any_size, "rounded up to a multiple of this");
}

Results run_swiglu_width(const SwigluWidth& params, const Inputs&) {
  const Int128 two_thirds = product({8, params.d_model}, "the width") / 3;
  const Int128 multiple = params.multiple_of;
  return {{"hidden", (two_thirds + multiple - 1) / multiple * multiple}};
}

}  // namespace

std::vector<Operation> counting_operations() {
  return {
      make_operation<CacheSize>(
          {.name = "kv-cache-size",
           .family = family,
           .summary = "bytes of a key-value cache",
           .source = "Pope et al. 2022, section 2.1",
           .inputs = {},
           .results = {{"bytes", "a number"}},
           .details = "Keys and values: 2 * layers * kv-heads * head-dim * length * batch * bits / 8."},
          declare_cache_size, run_cache_size),
      make_operation<Training>({.name = "training-compute",
                                .family = family,
                                .summary = "operations of a training run, 6 N D",
                                .source = "Kaplan et al. 2020, section 2.1",
                                .inputs = {},
                                .results = {{"flops", "a number"}}},
                               declare_training, run_training),
      make_operation<Length>({.name = "score-entries",
                              .family = family,
                              .summary = "entries of the score matrix of a head in a layer",
                              .source = "Vaswani et al. 2017, section 4",
                              .inputs = {},
                              .results = {{"entries", "a number"}}},
                             declare_length, run_score_entries),
      make_operation<SwigluWidth>(
          {.name = "swiglu-width",
           .family = family,
           .summary = "hidden width of a gated feed-forward layer",
           .source = "Touvron et al. 2023 (Llama), section 2.2",
           .inputs = {},
           .results = {{"hidden", "a number"}},
           .details = "Two thirds of 4 d-model, rounded down, then up to a multiple."},
          declare_swiglu_width, run_swiglu_width),
  };
}

}  // namespace attnlab

// The key-value cache: decoding in chunks, rings, pages and codes of few bits.
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kv_cache.hpp"
#include "operations/attention_parameters.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

constexpr const char* family = "Key-value cache";
constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

const std::vector<InputInfo> one_sequence = {{"query", "[T, d]", "queries, one a token"},
                                             {"key", "[T, d]", "keys, one a token"},
                                             {"value", "[T, dv]", "values, one a token"}};

struct DecodeParams {
  std::vector<std::int64_t> chunks;
  bool causal = false;
  std::optional<std::size_t> window;
  std::optional<double> scale;
  std::optional<RopeStyle> rope;
  RotaryParams rotary;  // its style is not used
};

void declare_decode(OptionSet& options, DecodeParams& params) {
  constexpr double any = std::numeric_limits<double>::max();
  options.integers("chunks", params.chunks, 1, any_size,
                   "tokens fed at a time, together all of them; one at a time unless given");
  options.flag("causal", params.causal, "no query sees a later key, inside a chunk too");
  options.integer("window", params.window, 1, any_size, "a token sees itself and the N - 1 tokens before it");
  options.real("scale", params.scale, -any, any, "factor of the dot products; 1/sqrt(d) unless given");
  options.choice<std::optional<RopeStyle>>(
      "rope", params.rope,
      {{"none", std::nullopt}, {"interleaved", RopeStyle::interleaved}, {"half", RopeStyle::half}},
      "rotary embedding by position in the sequence; keys are rotated once, when stored");
  options.real("rope-base", params.rotary.base, 0, any, "base of the rotary frequencies");
  options.integer("rope-dim", params.rotary.width, 1, any_size, "columns that rotate; all unless given");
  declare_scaling(options, params.rotary.scaling, "rope-");
}

Results run_decode(const DecodeParams& params, const Inputs& inputs) {
  const Matrix query = inputs.matrix("query");
  const Matrix key = inputs.matrix("key");
  DecodeOptions options{params.causal, params.window, {}, params.scale};
  if (params.rope) {
    RotaryParams rotary = params.rotary;
    rotary.style = *params.rope;
    options.rope = rotary.rope(key.shape(1), counted_positions(key.shape(0)));
  }
  std::vector<std::size_t> chunks(params.chunks.begin(), params.chunks.end());
  if (chunks.empty()) chunks.assign(key.shape(0), 1);
  return {array_result("output", decode_in_chunks(query, key, inputs.matrix("value"), chunks, options))};
}

struct RingParams {
  std::size_t capacity = 4;
};

void declare_ring(OptionSet& options, RingParams& params) {
  options.integer("capacity", params.capacity, 1, 1 << 30, "slots: tokens that the cache holds");
}

Results run_ring(const RingParams& params, const Inputs& inputs) {
  const RingReading ring =
      ring_attention(inputs.matrix("query"), inputs.matrix("key"), inputs.matrix("value"), params.capacity);
  return {array_result("output", ring.output),
          whole_result("slot_positions", {{ring.slot_positions.size()},
                                          {ring.slot_positions.begin(), ring.slot_positions.end()}}),
          whole_result("logical_order", {{ring.logical_order.size()},
                                         {ring.logical_order.begin(), ring.logical_order.end()}})};
}

struct PagedParams {
  std::optional<std::size_t> block_size;
  std::optional<std::size_t> length;
};

void declare_paged(OptionSet& options, PagedParams& params) {
  options.integer("block-size", params.block_size, 1, any_size,
                  "tokens a block; the pools' own unless given");
  options.integer("length", params.length, 0, any_size,
                  "tokens in the cache; all that the table holds unless given");
}

Results run_paged(const PagedParams& params, const Inputs& inputs) {
  const std::vector<Matrix> keys = inputs.matrices("pool-k");
  const std::vector<double> table = inputs.numbers("block-table");
  const std::size_t block_size = params.block_size.value_or(keys.empty() ? 1 : keys[0].shape(0));
  const Attention result = paged_attention(inputs.matrix("query"), keys, inputs.matrices("pool-v"), table,
                                           block_size, params.length.value_or(table.size() * block_size));
  return {array_result("output", result.output), array_result("weights", result.weights)};
}

struct QuantizeParams {
  QuantScheme scheme = QuantScheme::affine;
  std::size_t bits = 8;
  QuantAxis axis = QuantAxis::row;
};

void declare_quantize(OptionSet& options, QuantizeParams& params) {
  options.choice<QuantScheme>(
      "scheme", params.scheme, {{"affine", QuantScheme::affine}, {"symmetric", QuantScheme::symmetric}},
      "minimum + code * range / (2^bits - 1), or code * largest magnitude / (2^(bits-1) - 1)");
  options.integer("bits", params.bits, 1, 16, "of a code; symmetric needs 2");
  options.choice<QuantAxis>("axis", params.axis, {{"row", QuantAxis::row}, {"column", QuantAxis::column}},
                            "one range a row (a token) or a column (a channel, as KIVI does for keys)");
}

Results run_quantize(const QuantizeParams& params, const Inputs& inputs) {
  if (params.scheme == QuantScheme::symmetric && params.bits < 2) {
    throw Error(ErrorKind::usage, "--bits: 1 leaves symmetric codes no level but 0: give at least 2");
  }
  const Quantized result = quantized(inputs.matrix("x"), params.scheme, params.bits, params.axis);
  return {whole_result("codes", to_array(result.codes)), array_result("dequantized", result.dequantized)};
}

Results run_pack(const NoParams&, const Inputs& inputs) {
  const Matrix codes = inputs.matrix("codes");
  const Matrix bytes = packed_int4(codes);
  return {whole_result("bytes", to_array(bytes)),
          whole_result("unpacked", to_array(unpacked_int4(bytes, codes.shape(1))))};
}

}  // namespace

std::vector<Operation> cache_operations() {
  return {
      make_operation<DecodeParams>({.name = "kv-decode",
                                    .family = family,
                                    .summary = "a sequence fed through the cache in chunks",
                                    .source = "Shazeer 2019, section 2.4 (incremental decoding)",
                                    .inputs = one_sequence,
                                    .results = {{"output", "[T, dv]"}},
                                    .details = "With --causal the rows are those of one full causal pass."},
                                   declare_decode, run_decode),
      make_operation<RingParams>(
          {.name = "kv-ring",
           .family = family,
           .summary = "a cache of fixed size that overwrites its oldest token",
           .source = "Jiang et al. 2023 (Mistral 7B), section 2",
           .inputs = {{"query", "[Tq, d]", "queries of the last Tq tokens"},
                      {"key", "[T, d]", "keys, one a token"},
                      {"value", "[T, dv]", "values, one a token"}},
           .results = {{"output", "[Tq, dv]"},
                       {"slot_positions", "[capacity]; -1 in an empty slot"},
                       {"logical_order", "positions held, oldest first"}},
           .details = "Position p lives in slot p mod capacity. Each query sees the newest tokens "
                      "up to its own."},
          declare_ring, run_ring),
      make_operation<PagedParams>(
          {.name = "kv-paged",
           .family = family,
           .summary = "attention over a cache in pages",
           .source = "Kwon et al. 2023 (PagedAttention), section 4",
           .inputs = {{"query", "[Tq, d]", "queries, one a row"},
                      {"pool-k", "[blocks, block-size, d]", "keys of all blocks"},
                      {"pool-v", "[blocks, block-size, dv]", "values of all blocks"},
                      {"block-table", "[n]", "the sequence's blocks in order"}},
           .results = {{"output", "[Tq, dv]"}, {"weights", "[Tq, length]"}},
           .details = "Slots after the last token, and reserved blocks, are never read."},
          declare_paged, run_paged),
      make_operation<QuantizeParams>(
          {.name = "kv-quantize",
           .family = family,
           .summary = "keys or values as codes of few bits",
           .source = "Liu et al. 2024 (KIVI), section 3",
           .inputs = {{"x", "[T, d]", "keys or values, finite"}},
           .results = {{"codes", "[T, d]"}, {"dequantized", "[T, d]"}},
           .details = "Nearest code, ties to even. A row without range has codes 0 and comes "
                      "back exactly."},
          declare_quantize, run_quantize),
      make_operation<NoParams>({.name = "kv-pack4",
                                .family = family,
                                .summary = "four-bit codes, two a byte",
                                .source = "two's complement, low half first, as in GGUF's Q4 types and GPTQ",
                                .inputs = {{"codes", "[T, n]", "whole numbers from -8 to 7"}},
                                .results = {{"bytes", "[T, ceil(n / 2)]"}, {"unpacked", "[T, n]"}}},
                               declare_nothing, run_pack),
  };
}

}  // namespace attnlab

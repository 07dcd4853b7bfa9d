// Positions: sinusoidal, rotary with its scaling, ALiBi, learned tables, and positions under padding.
#include "core/positions.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/statistics.hpp"
#include "operations/attention_parameters.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

constexpr const char* family = "Positions";
constexpr double any = std::numeric_limits<double>::max();
constexpr std::int64_t any_size = std::numeric_limits<std::int64_t>::max();

Results run_rope(const RotaryParams& params, const Inputs& inputs) {
  const Matrix x = inputs.matrix("x");
  const std::vector<double> positions =
      inputs.has("pos") ? inputs.numbers("pos") : counted_positions(x.shape(0));
  const Matrix output = rotated(x, positions, params.rope(x.shape(1), positions));
  const std::vector<std::size_t> order = interleaved_to_half(params.width.value_or(x.shape(1)), x.shape(1));
  return {array_result("output", output),
          whole_result("permutation", {{order.size()}, {order.begin(), order.end()}})};
}

Results run_rope_score(const RotaryParams& params, const Inputs& inputs) {
  const Matrix query = inputs.matrix("query");
  const Matrix key = inputs.matrix("key");
  const Matrix pairs = inputs.matrix("pairs");
  if (query.shape(0) != 1 || key.shape(0) != 1 || query.shape(1) != key.shape(1)) {
    throw Error(ErrorKind::data, fmt::format("query {} and key {}: one row of equal width each was expected",
                                             shape_text(query), shape_text(key)));
  }
  if (pairs.shape(1) != 2) {
    throw Error(ErrorKind::data,
                fmt::format("{}: shape {} where [n, 2] was expected, a query and a key position a row",
                            inputs.label("pairs"), shape_text(pairs)));
  }
  const Rope rope = params.rope(query.shape(1), {pairs.begin(), pairs.end()});
  std::vector<double> scores;
  for (std::size_t n = 0; n < pairs.shape(0); ++n) {
    scores.push_back(
        dot(elements(rotated(query, {pairs(n, 0)}, rope)), elements(rotated(key, {pairs(n, 1)}, rope))));
  }
  return {array_result("scores", scores)};
}

struct FrequencyParams {
  std::size_t dim = 64;
  double base = 10000;
  RopeScaling scaling;
};

void declare_frequencies(OptionSet& options, FrequencyParams& params) {
  options.integer("dim", params.dim, 1, any_size, "rotary width, even").short_form('d');
  options.real("base", params.base, 0, any, "base of the frequencies; 500000 in Llama 3, 1000000 in Qwen 2");
  declare_scaling(options, params.scaling);
}

Results run_frequencies(const FrequencyParams& params, const Inputs&) {
  require_memory({params.dim}, "frequencies");
  const Rope rope = make_rope(params.dim, RopeStyle::half, params.base, params.scaling);
  return {array_result("inv_freq", std::vector<double>(rope.inv_freq.begin(), rope.inv_freq.end())),
          {"attention_factor", rope.attention_factor}};
}

struct HeadCount {
  std::size_t num_heads = 8;
};

void declare_slopes(OptionSet& options, HeadCount& params) {
  options.integer("heads", params.num_heads, 1, 1 << 20, "number of heads");
}

Results run_slopes(const HeadCount& params, const Inputs&) {
  return {array_result("slopes", alibi_slopes(params.num_heads))};
}

struct SinusoidalParams {
  std::size_t seq_len = 50;
  std::size_t d_model = 16;
  double base = 10000;
};

void declare_sinusoidal(OptionSet& options, SinusoidalParams& params) {
  options.integer("seq-len", params.seq_len, 1, any_size, "positions, from 0").short_form('T');
  options.integer("d-model", params.d_model, 1, any_size, "width; an odd one has one cosine fewer")
      .short_form('d');
  options.real("base", params.base, 0, any, "base of the wavelengths");
}

Results run_sinusoidal(const SinusoidalParams& params, const Inputs&) {
  require_memory({params.seq_len, params.d_model}, "encodings");
  return {array_result("output", sinusoidal(params.seq_len, params.d_model, params.base))};
}

Results run_learned(const NoParams&, const Inputs& inputs) {
  return {array_result("output", learned_positions(inputs.matrix("table"), inputs.numbers("pos")))};
}

Results run_positions(const NoParams&, const Inputs& inputs) {
  const Mask mask = inputs.mask("mask");
  Array positions{{mask.shape(0), mask.shape(1)}, {}};
  Array next{{mask.shape(0)}, {}};
  for (std::size_t row = 0; row < mask.shape(0); ++row) {
    std::vector<bool> is_real(mask.shape(1));
    for (std::size_t c = 0; c < is_real.size(); ++c) is_real[c] = mask(row, c);
    const std::vector<std::size_t> counted = positions_without_padding(is_real);
    positions.values.insert(positions.values.end(), counted.begin(), counted.end());
    next.values.push_back(static_cast<double>(std::count(is_real.begin(), is_real.end(), true)));
  }
  return {whole_result("positions", positions), whole_result("next", next)};
}

}  // namespace

std::vector<Operation> position_operations() {
  const std::string scaling_sources =
      "Su et al. 2021, section 3.2.2; scaling: Chen et al. 2023, Peng et al. 2023";
  return {
      make_operation<RotaryParams>(
          {.name = "rope",
           .family = family,
           .summary = "rotary embedding of rows at given positions",
           .source = scaling_sources,
           .inputs = {{"x", "[T, d]", "queries or keys of one head, one a row"},
                      {"pos", "[T]", "position of each row; 0, 1, 2.. unless given", false}},
           .results = {{"output", "[T, d]"}, {"permutation", "[d]: columns that turn interleaved into half"}},
           .details = "Angle = position * base^(-2i/d) with d the rotary width. A vector in one "
                      "style turns into the other by taking the even channels first."},
          declare_rotary, run_rope),
      make_operation<RotaryParams>(
          {.name = "rope-score",
           .family = family,
           .summary = "dot products of one query and one key rotated to pairs of positions",
           .source = scaling_sources,
           .inputs = {{"query", "[1, d]", "the query"},
                      {"key", "[1, d]", "the key"},
                      {"pairs", "[n, 2]", "position of the query and of the key"}},
           .results = {{"scores", "[n]"}},
           .details =
               "Without a scale; an attention factor multiplies both vectors, so the score has its square."},
          declare_rotary, run_rope_score),
      make_operation<FrequencyParams>(
          {.name = "rope-frequencies",
           .family = family,
           .summary = "rotary frequencies under the scalings for long texts",
           .source = scaling_sources,
           .inputs = {},
           .results = {{"inv_freq", "[dim / 2]"}, {"attention_factor", "a number"}}},
          declare_frequencies, run_frequencies),
      make_operation<HeadCount>(
          {.name = "alibi-slopes",
           .family = family,
           .summary = "the slope of each head in ALiBi",
           .source = "Press, Smith and Lewis 2022, section 3",
           .inputs = {},
           .results = {{"slopes", "[heads]"}},
           .details = "2^(-8(h+1)/n) for a power of two; else those of the next lower power of two, "
                      "then every other one of twice that power."},
          declare_slopes, run_slopes),
      make_operation<SinusoidalParams>({.name = "sinusoidal",
                                        .family = family,
                                        .summary = "sinusoidal encodings, sines and cosines alternating",
                                        .source = "Vaswani et al. 2017, section 3.5",
                                        .inputs = {},
                                        .results = {{"output", "[seq-len, d-model]"}}},
                                       declare_sinusoidal, run_sinusoidal),
      make_operation<NoParams>({.name = "learned-positions",
                                .family = family,
                                .summary = "rows of a learned table, which ends",
                                .source = "Devlin et al. 2018 (BERT), section 3",
                                .inputs = {{"table", "[maximum, d]", "one row a position, from 0"},
                                           {"pos", "[T]", "positions to look up"}},
                                .results = {{"output", "[T, d]"}}},
                               declare_nothing, run_learned),
      make_operation<NoParams>({.name = "positions",
                                .family = family,
                                .summary = "positions counted over real tokens, for padded batches",
                                .source = "the position_ids of generation with left padding",
                                .inputs = {{"mask", "[batch, T]", "1 = real token, 0 = padding"}},
                                .results = {{"positions", "[batch, T]; 0 at padding"}, {"next", "[batch]"}}},
                               declare_nothing, run_positions),
  };
}

}  // namespace attnlab

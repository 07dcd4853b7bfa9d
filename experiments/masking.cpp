// Masks: the causal mask of decoders, padding masks of batches, and what a fully masked row becomes.
//
// A hidden score is -inf before the softmax, so its weight is exactly zero. Under the causal mask one pass
// over a whole sequence gives what every prefix alone would give; without it a position can look at the very
// token it is to predict. Padding masks make the rows of a batch independent of how far they were padded.
//
//   x: [batch][longest, d_model]    weights: [longest, longest]
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.2.3.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/bounds.hpp"
#include "lab/lesson_inputs.hpp"

namespace attnlab::experiments {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Params {
  std::vector<std::int64_t> lengths = {5, 3, 2};
  std::size_t d_model = 8;
  std::size_t d_k = 4;
  std::string padding_side = "right";
  std::size_t sequence = 1;
};

void declare(OptionSet& options, Params& p) {
  options.integers("lengths", p.lengths, 1, 64, "tokens of each sequence of the batch");
  options.integer("d-model", p.d_model, 1, 256, "width of a token").short_form('d');
  options.integer("d-k", p.d_k, 1, 256, "width of query, key and value");
  options.choice("padding-side", p.padding_side, {"right", "left"}, "where padding fills up short sequences");
  options.integer("sequence", p.sequence, 0, 63, "which sequence of the batch to show");
}

// One sequence of the batch: projected tokens, padding included, and where it is real.
struct Sequence {
  Matrix query, key, value;
  std::vector<bool> is_real;
};

Matrix rows_between(const Matrix& a, std::size_t first, std::size_t end) {
  Matrix out = zeros(end - first, a.shape(1));
  for (std::size_t i = first; i < end; ++i) {
    std::copy(row_of(a, i).begin(), row_of(a, i).end(), row_of(out, i - first).begin());
  }
  return out;
}

struct Layer {
  Matrix w_query, w_key, w_value;
};

Sequence projected(const Layer& layer, const Matrix& x, std::vector<bool> is_real) {
  return {matmul(x, layer.w_query), matmul(x, layer.w_key), matmul(x, layer.w_value), std::move(is_real)};
}

struct Batch {
  Layer layer;
  std::vector<Matrix> alone;       // [length, d_model]
  std::vector<Sequence> padded;    // [longest, ...]
  std::vector<std::size_t> start;  // where the real tokens of each begin
};

Batch draw(Generator& rng, const Params& p) {
  const auto longest = static_cast<std::size_t>(*std::max_element(p.lengths.begin(), p.lengths.end()));
  Batch batch;
  SelfAttentionInputs first = draw_self_attention(rng, longest, p.d_model, p.d_k);
  batch.layer = {first.w_query, first.w_key, first.w_value};
  for (const std::int64_t tokens : p.lengths) {
    const auto length = static_cast<std::size_t>(tokens);
    const std::size_t start = p.padding_side == "left" ? longest - length : 0;
    // Padding holds numbers that would show if they were seen.
    Matrix x = normal_matrix(rng, longest, p.d_model, 100);
    const Matrix real = normal_matrix(rng, length, p.d_model);
    std::copy(real.begin(), real.end(), row_of(x, start).begin());
    std::vector<bool> is_real(longest);
    for (std::size_t i = 0; i < length; ++i) is_real[start + i] = true;
    batch.alone.push_back(real);
    batch.padded.push_back(projected(batch.layer, x, is_real));
    batch.start.push_back(start);
  }
  return batch;
}

Attention attend(const Sequence& s, const std::optional<Mask>& mask, const Context& context) {
  AttentionOptions options;
  if (!context.breaks("no-mask")) options.mask = mask;
  return attention(s.query, s.key, s.value, options);
}

Mask causal_of(const Sequence& s) { return causal_mask(s.query.shape(0), s.query.shape(0)); }
Mask padding_of(const Sequence& s) { return padding_mask(s.query.shape(0), s.is_real); }

// Changes each token in turn. [changed token, position]: the largest change of that position's output.
Matrix influences(const Sequence& s, const std::optional<Mask>& mask, const Context& context) {
  const Matrix output = attend(s, mask, context).output;
  Matrix influence = zeros(output.shape(0), output.shape(0));
  for (std::size_t token = 0; token < output.shape(0); ++token) {
    Sequence changed = s;
    for (std::size_t c = 0; c < s.key.shape(1); ++c) {
      changed.query(token, c) += 1;
      changed.key(token, c) += 1;
      changed.value(token, c) += 1;
    }
    const Matrix other = attend(changed, mask, context).output;
    for (std::size_t i = 0; i < output.shape(0); ++i) {
      influence(token, i) = largest_difference(row_of(other, i), row_of(output, i));
    }
  }
  return influence;
}

double largest_influence_on_the_past(const Matrix& influence) {
  double worst = 0;
  for (std::size_t token = 0; token < influence.shape(0); ++token) {
    for (std::size_t i = 0; i < token; ++i) worst = std::max(worst, influence(token, i));
  }
  return worst;
}

// Each prefix by itself, without a mask, against the row of one masked pass over all.
double prefix_difference(const Sequence& s, const Context& context) {
  const Matrix all = attend(s, causal_of(s), context).output;
  double worst = 0;
  for (std::size_t length = 1; length <= all.shape(0); ++length) {
    const Matrix last = rows_between(s.query, length - 1, length);
    const Matrix alone =
        attention(last, rows_between(s.key, 0, length), rows_between(s.value, 0, length)).output;
    worst = std::max(worst, largest_difference(row_of(alone, 0), row_of(all, length - 1)));
  }
  return worst;
}

// Each sequence alone, causal, against its rows of the padded batch.
double padding_difference(const Batch& batch, const Context& context) {
  double worst = 0;
  for (std::size_t n = 0; n < batch.padded.size(); ++n) {
    const Sequence& padded = batch.padded[n];
    const std::size_t length = batch.alone[n].shape(0);
    const Sequence single = projected(batch.layer, batch.alone[n], {});
    AttentionOptions causal;
    causal.mask = causal_mask(length, length);
    const Matrix alone = attention(single.query, single.key, single.value, causal).output;
    const Matrix all = attend(padded, both(causal_of(padded), padding_of(padded)), context).output;
    const Matrix real = rows_between(all, batch.start[n], batch.start[n] + length);
    worst = std::max(worst, largest_difference(elements(alone), elements(real)));
  }
  return worst;
}

double largest_pad_weight(const Batch& batch, const Context& context) {
  double worst = 0;
  for (const Sequence& s : batch.padded) {
    const Matrix weights = attend(s, padding_of(s), context).weights;
    for (std::size_t i = 0; i < weights.shape(0); ++i) {
      for (std::size_t j = 0; j < weights.shape(1); ++j) {
        if (!s.is_real[j]) worst = std::max(worst, weights(i, j));
      }
    }
  }
  return worst;
}

// How often the token with the most weight is the next one, for a head wired to look one position ahead: the
// share of positions whose output is the answer.
double copied_answers(std::size_t length, bool causal, const Context& context) {
  Sequence s{zeros(length, length), zeros(length, length), zeros(length, length), {}};
  for (std::size_t i = 0; i < length; ++i) {
    s.query(i, std::min(i + 1, length - 1)) = 200;  // position i asks for position i + 1
    s.key(i, i) = 1;
    s.value(i, i) = 1;  // every token is another one
  }
  const std::optional<Mask> mask = causal ? std::optional(causal_mask(length, length)) : std::nullopt;
  const Matrix output = attend(s, mask, context).output;
  std::size_t right = 0;
  for (std::size_t i = 0; i + 1 < length; ++i) {
    if (argmax(row_of(output, i)) == i + 1) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(length - 1);
}

// A number as a format of that many significant bits and that largest value holds it.
double rounded(double value, int bits, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, exponent - bits);
  const double nearest = std::nearbyint(value / unit) * unit;
  return std::abs(nearest) > largest ? std::copysign(infinity, value) : nearest;
}

// What a plain softmax makes of a row of hidden scores that were all set to `fill`: its weights.
Vector plain_softmax(std::size_t keys, double fill) {
  Vector weights = zeros(keys);
  for (double& weight : weights) weight = std::exp(fill - fill);  // -inf - -inf is NaN
  const double sum = static_cast<double>(keys) * weights(0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

struct Format {
  const char* name;
  int bits;
  double largest;
};

// The weight that a plain softmax gives to each of four keys, all hidden by `fill`, in a format of numbers.
double hidden_row_weight(const Format& format, double fill) {
  return plain_softmax(4, rounded(fill, format.bits, format.largest))(0);
}

Grid weights_grid(const std::string& name, const std::string& title, const Sequence& s, const Mask& mask,
                  const Context& context) {
  Grid grid{name, title, to_array(attend(s, mask, context).weights), {"query position", "key position"}};
  for (const bool visible : mask) grid.hidden.push_back(!visible);
  return grid;
}

Report run(const Params& p, const Context& context) {
  Report report("Masks");
  Generator rng = context.rng();
  const Batch batch = draw(rng, p);
  const std::size_t last = batch.padded.size() - 1;
  // The default makes way for a batch of one; a wish does not.
  if (p.sequence > last && p.sequence != Params{}.sequence) {
    throw Error(ErrorKind::usage,
                fmt::format("--sequence: {} is not in the batch, whose last is {}", p.sequence, last));
  }
  const std::size_t shown = std::min(p.sequence, last);
  const Sequence& s = batch.padded[shown];
  const auto longest = static_cast<std::size_t>(s.query.shape(0));
  report.line(fmt::format("attention weights of sequence {}: {} tokens padded to {}, causal and padding mask",
                          shown, batch.alone[shown].shape(0), longest));
  report.grid(weights_grid("both", "Causal and padding", s, both(causal_of(s), padding_of(s)), context));
  report.data(weights_grid("causal", "Causal", s, causal_of(s), context));
  report.data(weights_grid("padding", "Padding", s, padding_of(s), context));
  report.data(weights_grid("none", "No mask", s, full_mask(longest, longest), context));

  const std::vector<Format> formats = {{"double", 53, std::numeric_limits<double>::max()},
                                       {"float", 24, std::numeric_limits<float>::max()},
                                       {"half", 11, 65504}};
  Table fills{"fills",
              "A row whose four keys are all hidden, by the number that hides them: the weight of each",
              {{"number_format"}, {"minus_1e4"}, {"minus_1e9"}, {"minus_infinity"}}};
  for (const Format& format : formats) {
    fills.rows.push_back({std::string(format.name), hidden_row_weight(format, -1e4),
                          hidden_row_weight(format, -1e9), hidden_row_weight(format, -infinity)});
  }
  report.table(std::move(fills));

  // A decoder and an encoder over the whole first sequence.
  const Sequence whole =
      projected(batch.layer, batch.alone[0], std::vector<bool>(batch.alone[0].shape(0), true));
  const Matrix decoder = influences(whole, causal_of(whole), context);
  std::optional<Mask> encoder_mask;
  if (context.breaks("masked-encoder")) encoder_mask = causal_of(whole);
  const Matrix encoder = influences(whole, encoder_mask, context);
  report.data(Grid{"decoder_influence",
                   "Change of each output when a token changes, causal",
                   to_array(decoder),
                   {"changed token", "position"}});
  report.data(Grid{"encoder_influence",
                   "Change of each output when a token changes, no mask",
                   to_array(encoder),
                   {"changed token", "position"}});
  report.check({.id = "future-changes-nothing", .measured = largest_influence_on_the_past(decoder)});
  report.check(
      {.id = "one-pass-is-every-prefix", .measured = prefix_difference(whole, context), .tolerance = 1e-12});
  report.check(
      {.id = "padded-equals-alone", .measured = padding_difference(batch, context), .tolerance = 1e-12});
  report.check({.id = "pad-weight-zero", .measured = largest_pad_weight(batch, context)});
  report.check({.id = "encoder-sees-all",
                .measured = *std::min_element(encoder.begin(), encoder.end()),
                .relation = Relation::at_least,
                .expected = beyond_rounding});
  if (whole.query.shape(0) > 1) {
    report.check({.id = "encoder-revises-the-past",
                  .measured = largest_influence_on_the_past(encoder),
                  .relation = Relation::at_least,
                  .expected = beyond_rounding});
  }
  const bool mask_left_on = context.breaks("masked-encoder");
  report.check({.id = "unmasked-copies-the-answer",
                .measured = copied_answers(8, mask_left_on, context),
                .expected = 1});
  report.check({.id = "masked-cannot-copy", .measured = copied_answers(8, true, context)});

  AttentionOptions nothing_visible;
  if (context.breaks("finite-fill")) {
    nothing_visible.bias = zeros(longest, longest);
    for (double& bias : *nothing_visible.bias) bias = -1e9;
  } else {
    nothing_visible.mask = full_mask(longest, longest, false);
  }
  const Attention empty = attention(s.query, s.key, s.value, nothing_visible);
  report.check(
      {.id = "fully-masked-is-zero",
       .measured = std::max(maximum(elements(empty.weights)),
                            largest_difference(elements(empty.output), elements(zeros(longest, p.d_k))))});
  Format half = formats[2];
  if (context.breaks("half-like-float")) half = formats[1];
  report.check({.id = "half-overflows",
                .measured = std::isnan(hidden_row_weight(half, -1e9)) ? 1.0 : 0.0,
                .expected = 1});
  report.check({.id = "finite-fill-is-uniform",
                .measured = hidden_row_weight(formats[1], context.breaks("infinite-fill") ? -infinity : -1e9),
                .expected = 0.25});
  report.explain("exp(-inf) = 0: a hidden key has weight 0 and its value is never touched");
  report.explain(
      "a row without a visible key has no largest score: -inf - -inf is NaN, so it is defined as zeros");
  report.figure({.name = "masks",
                 .title = "Attention weights under masks",
                 .kind = FigureKind::heat_map,
                 .data = {"none", "causal", "padding", "both"},
                 .x_axis = {"key position"},
                 .y_axis = {"query position"},
                 .domain = {{0, 1}},
                 .caption = "The causal mask hides the future, the padding mask what is no token. Vaswani et "
                            "al. 2017, section 3.2.3."});
  return report;
}

}  // namespace

Experiment masking_experiment() {
  return make_experiment<Params>(
      {.name = "masking",
       .title = "Masks",
       .summary = "causal and padding masks: who sees whom, and rows that see nobody",
       .section = "Causal masking",
       .source = "Vaswani et al. 2017, section 3.2.3",
       .purpose =
           "Pads a batch of sequences of unequal lengths, masks it, and proves by changing tokens who can "
           "see "
           "whom in a decoder and in an encoder. Also shows what becomes of a row whose keys are all hidden "
           "when the scores are set to -1e4, -1e9 or minus infinity in double, float and half precision.",
       .examples = {"attnlab masking", "attnlab masking --padding-side left --sequence 2",
                    "attnlab masking --lengths 8,8,1 --table decoder_influence"},
       .claims = {{"future-changes-nothing",
                   "under the causal mask, changing a token changes no earlier output, not by a bit"},
                  {"one-pass-is-every-prefix",
                   "one causal pass over a sequence gives at each position what its prefix alone gives"},
                  {"padded-equals-alone", "a sequence in a padded batch gives the outputs it gives alone"},
                  {"pad-weight-zero", "padding gets weight exactly 0"},
                  {"encoder-sees-all", "without a mask every output depends on every token",
                   "Devlin et al. 2019, section 3"},
                  {"encoder-revises-the-past",
                   "without a mask a later token changes earlier outputs, so text cannot be generated left "
                   "to right "
                   "without computing all anew",
                   "Devlin et al. 2019, section 3"},
                  {"unmasked-copies-the-answer",
                   "without a mask a head that looks one position ahead predicts every next token"},
                  {"masked-cannot-copy",
                   "under the causal mask a head that looks one position ahead predicts no next token"},
                  {"fully-masked-is-zero", "a row that sees no key has zero weights and zero output"},
                  {"half-overflows",
                   "-1e9 is minus infinity in half precision, so a plain softmax of such a row is NaN",
                   "IEEE 754, binary16: the largest number is 65,504"},
                  {"finite-fill-is-uniform",
                   "a row hidden by -1e9 in float spreads its weight evenly over what is hidden"}},
       .breakages = {{"no-mask", "the masks are left out"},
                     {"masked-encoder", "the causal mask is left on where there should be none"},
                     {"finite-fill", "hidden scores are lowered by 1e9 instead of left out"},
                     {"half-like-float", "half precision is taken to reach as far as float"},
                     {"infinite-fill", "the finite number is replaced by minus infinity"}}},
      declare, run);
}

}  // namespace attnlab::experiments

// What goes wrong in attention: scales, softmaxes, masks, windows, heads, biases and rotary embedding inside
// it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/matmul.hpp"
#include "core/norm.hpp"
#include "core/softmax.hpp"
#include "operations/attention_call.hpp"

namespace attnlab {
namespace {

const std::vector<std::string> anywhere = {"attention", "multi-head", "block", "cross-attention",
                                           "kv-decode"};

Mistake mistake(std::string name, std::string why, std::string remedy, AttentionMistake stages,
                std::string right_when = {}, std::vector<std::string> operations = anywhere) {
  Mistake result{std::move(name),   std::move(operations), std::move(why),
                 std::move(remedy), std::move(right_when), {}};
  result.commit = [shared = std::make_shared<const AttentionMistake>(std::move(stages))](Trial& trial) {
    trial.attention.push_back(shared);
    return true;
  };
  return result;
}

// --- scale

AttentionMistake scaled_by(double (*scale)(const AttentionCall&)) {
  return {.call = [scale](AttentionCall& call) {
    const double wrong = scale(call);
    if (wrong == call.scale()) return false;
    call.params.scale = wrong;
    return true;
  }};
}

double width(std::size_t columns) { return static_cast<double>(columns); }

std::vector<Mistake> scale_mistakes() {
  return {
      mistake("scale-missing", "the dot products grow with the width of a head, so the softmax saturates",
              "multiply the scores by 1/sqrt(width of one head's key)",
              scaled_by([](const AttentionCall&) { return 1.0; }),
              "when queries are scaled already (--scale 1), as in T5"),
      mistake("scale-by-width", "the scores are divided by the width and not by its square root",
              "divide by sqrt(width of one head's key)",
              scaled_by([](const AttentionCall& call) { return 1 / width(call.key_width()); }),
              "under muP (--scale 1/d)"),
      mistake("scale-by-model-width",
              "the square root is that of all heads together, so the scores are too flat",
              "divide by sqrt(width of one head's key), not by sqrt(d_model)",
              scaled_by([](const AttentionCall& call) { return 1 / std::sqrt(width(call.query.shape(1))); }),
              "with a single head"),
      mistake("scale-twice", "the scale is applied to the queries and once more to the scores",
              "apply the scale once",
              scaled_by([](const AttentionCall& call) { return call.scale() * call.scale(); })),
      mistake("scale-by-value-width",
              "the scale takes the width of the values, which may differ from the keys'",
              "divide by sqrt(width of one head's key)", scaled_by([](const AttentionCall& call) {
                return 1 / std::sqrt(width(call.value.shape(1) / call.num_kv_heads()));
              }),
              "when keys and values are equally wide"),
      mistake("scale-inverted", "the scores are multiplied by the square root of the width",
              "divide by sqrt(width of one head's key)",
              scaled_by([](const AttentionCall& call) { return 1 / call.scale(); })),
      mistake("scale-ignored", "the scale that was asked for is not used, only 1/sqrt(width)",
              "pass the scale on to where the scores are computed",
              scaled_by([](const AttentionCall& call) { return default_scale(call.key_width()); })),
  };
}

// --- softmax and masks

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Matrix hidden_as(const HeadWeights& head, double score) {
  Matrix scores = head.scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!head.visible.data()[i]) scores.data()[i] = score;
  }
  return scores;
}

// Every element of the scores changed by whether its key is visible.
AttentionMistake scores_by_mask(double (*change)(double score, bool visible)) {
  return {.weights = [change](HeadWeights& head) {
    Matrix scores = head.scores;
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores.data()[i] = change(scores.data()[i], head.visible.data()[i]);
    head.weights = softmax(scores);
  }};
}

// Something else in the rows that see no key.
AttentionMistake empty_rows(double (*weight)(std::size_t num_keys)) {
  return {.weights = [weight](HeadWeights& head) {
    for (std::size_t row = 0; row < head.weights.shape(0); ++row) {
      const bool* visible = head.visible.data() + row * head.weights.shape(1);
      if (std::find(visible, visible + head.weights.shape(1), true) != visible + head.weights.shape(1))
        continue;
      const std::span<double> weights = row_of(head.weights, row);
      std::fill(weights.begin(), weights.end(), weight(weights.size()));
    }
  }};
}

// Softmax by exponentials of the scores as they are, in the arithmetic of Real.
template <class Real>
void softmax_not_shifted(HeadWeights& head) {
  const Matrix scores = hidden_as(head, minus_infinity);
  for (std::size_t row = 0; row < scores.shape(0); ++row) {
    Real sum = 0;
    const std::span<double> weights = row_of(head.weights, row);
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const Real exponential = std::exp(static_cast<Real>(scores(row, j)));
      sum += exponential;
      weights[j] = static_cast<double>(exponential);
    }
    for (double& weight : weights) weight = static_cast<double>(static_cast<Real>(weight) / sum);
  }
}

// The maximum starts at 0 where it should start at -inf.
void maximum_from_zero(HeadWeights& head) {
  const Matrix scores = hidden_as(head, minus_infinity);
  for (std::size_t row = 0; row < scores.shape(0); ++row) {
    const std::span<const double> own = row_of(scores, row);
    const std::span<double> weights = row_of(head.weights, row);
    const double maximum =
        std::accumulate(own.begin(), own.end(), 0.0, [](double a, double b) { return std::max(a, b); });
    double sum = 0;
    for (std::size_t j = 0; j < own.size(); ++j) sum += weights[j] = std::exp(own[j] - maximum);
    for (double& weight : weights) weight = sum > 0 ? weight / sum : 0;
  }
}

bool hides_something(AttentionCall& call) {
  const AttentionParams& params = call.params;
  return call.inputs.has("mask") || call.inputs.has("key-padding") || params.causal || params.strided ||
         params.window || params.window_left || params.window_right;
}

// Everything NaN: 0 * -inf at visible keys, and a row of -inf where there are none.
void mask_times_infinity(HeadWeights& head) { head.weights.fill(nan); }

// -inf - -inf where two masks hide the same key.
void hidden_twice(HeadWeights& head) {
  AttentionCall ordered = head.call;
  ordered.inputs = Inputs();
  ordered.params.alibi = false;
  AttentionCall masked = head.call;
  masked.params.causal = masked.params.strided = false;
  masked.params.window.reset();
  const Mask by_order = *ordered.options().options_of(0).mask;
  const Mask by_mask = *masked.options().options_of(0).mask;
  for (std::size_t row = 0; row < by_order.shape(0); ++row) {
    bool poisoned = false;
    for (std::size_t j = 0; j < by_order.shape(1); ++j) poisoned |= !by_order(row, j) && !by_mask(row, j);
    const std::span<double> weights = row_of(head.weights, row);
    if (poisoned) std::fill(weights.begin(), weights.end(), nan);
  }
}

bool nan_as_zero(AttentionCall& call) {
  bool found = false;
  for (SharedMatrix* array : {&call.query, &call.key, &call.value}) {
    const Matrix& given = *array;
    if (std::none_of(given.begin(), given.end(), [](double value) { return std::isnan(value); })) continue;
    for (double& value : array->own()) {
      if (std::isnan(value)) found = true, value = 0;
    }
  }
  return found;
}

void softmax_over_queries(HeadWeights& head) {
  head.weights = transposed(softmax(transposed(hidden_as(head, minus_infinity))));
}

void softmax_over_all(HeadWeights& head) {
  Matrix scores = hidden_as(head, minus_infinity);
  softmax_in_place(elements(scores));
  head.weights = std::move(scores);
}

void mask_after_softmax(HeadWeights& head) {
  head.weights = softmax(head.scores);
  for (std::size_t i = 0; i < head.weights.size(); ++i) {
    if (!head.visible.data()[i]) head.weights.data()[i] = 0;
  }
}

void no_softmax(HeadWeights& head) { head.weights = hidden_as(head, 0); }

bool padding_on_queries(AttentionCall& call) {
  if (!call.inputs.has("key-padding") || call.query.shape(0) != call.key.shape(0)) return false;
  const std::vector<bool> is_real = call.inputs.flags("key-padding");
  Matrix mask = call.inputs.has("mask") ? call.inputs.matrix("mask")
                                        : Matrix(xt::ones<double>({is_real.size(), is_real.size()}));
  for (std::size_t row = 0; row < is_real.size(); ++row) {
    if (!is_real[row]) std::fill_n(row_of(mask, row).begin(), is_real.size(), 0.0);
  }
  call.inputs.set("key-padding", {{is_real.size()}, std::vector<double>(is_real.size(), 1.0)});
  call.inputs.set("mask", to_array(mask));
  return !call.params.hide_polarity;
}

// Order as another function of place in the sequence.
AttentionMistake order_as(bool (*may_attend)(double query_position, double key_position)) {
  return {.call = [may_attend](AttentionCall& call) {
    if (!call.params.causal || call.params.strided) return false;
    const std::size_t rows = call.query.shape(0);
    const std::size_t columns = call.key.shape(0);
    const std::vector<double> places = aligned_positions(rows, columns, call.params.causal_align);
    Matrix mask = Matrix::from_shape({rows, columns});
    const Mask given = call.inputs.has("mask") ? call.inputs.mask("mask") : full_mask(rows, columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const bool allowed = given(i, j) != call.params.hide_polarity || !call.inputs.has("mask");
        mask(i, j) = allowed && may_attend(places[i], static_cast<double>(j)) ? 1 : 0;
      }
    }
    call.params.hide_polarity = false;
    call.params.causal = false;
    if (call.params.window) {
      call.params.window_left = *call.params.window - 1;
      call.params.window.reset();
    }
    call.inputs.set("mask", to_array(mask));
    return true;
  }};
}

AttentionMistake window_of(std::ptrdiff_t more) {
  return {.call = [more](AttentionCall& call) {
    std::optional<std::size_t>& window = call.params.window;
    std::optional<std::size_t>& left = call.params.window_left;
    if (!window && !left) return false;
    if (more < 0 && ((window && *window < 2) || (left && *left < 1))) return false;
    if (window) *window += static_cast<std::size_t>(more);
    if (left) *left += static_cast<std::size_t>(more);
    return true;
  }};
}

std::vector<Mistake> mask_mistakes() {
  return {
      mistake("softmax-over-queries",
              "the weights of a query must sum to one over the keys, not those of a key over the queries",
              "take the softmax along the last axis, the keys",
              {.weights = softmax_over_queries, .mixes_rows = true}),
      mistake("softmax-over-everything",
              "one softmax over the whole score matrix makes all rows share one sum",
              "take the softmax of each row by itself", {.weights = softmax_over_all, .mixes_rows = true}),
      mistake("softmax-missing", "the scores themselves weigh the values",
              "take the softmax of each row of the scores", {.weights = no_softmax}),
      mistake("softmax-not-shifted",
              "exp of large scores overflows and of low ones underflows, and inf/inf and 0/0 are NaN",
              "subtract the largest score of the row before the exponential",
              {.weights = softmax_not_shifted<double>}, "where scores stay between -700 and 700"),
      mistake("softmax-float32-not-shifted",
              "exp in single precision overflows above 88.7, and inf/inf is NaN",
              "subtract the largest score of the row before the exponential",
              {.weights = softmax_not_shifted<float>}, "where scores stay between -87 and 88"),
      mistake("softmax-maximum-from-0",
              "the running maximum starts at 0, so a row of very low scores underflows to nothing",
              "start the maximum at -inf, and take that of visible scores only",
              {.weights = maximum_from_zero}, "where a score is above -700"),
      mistake("mask-after-softmax",
              "weights set to zero after the softmax leave rows that sum to less than one",
              "put -inf where the mask hides before the softmax, or renormalise the rows",
              {.weights = mask_after_softmax}),
      mistake("mask-multiplied", "a hidden score becomes 0, which still gets weight exp(0)",
              "put -inf where the mask hides, do not multiply",
              scores_by_mask([](double score, bool visible) { return visible ? score : 0.0; })),
      mistake("mask-added-as-numbers", "the mask's 0 and 1 are added to the scores and hide nothing",
              "turn the mask into 0 and -inf before it is added",
              scores_by_mask([](double score, bool visible) { return score + (visible ? 1.0 : 0.0); })),
      mistake("mask-finite-sentinel",
              "a large finite score is not hidden where the true scores are lower or all keys are hidden",
              "use -inf, and give queries without a key zeros",
              scores_by_mask([](double score, bool visible) { return visible ? score : -1e4; }),
              "where scores stay far above -1e4 and every query sees a key"),
      mistake("mask-finite-added",
              "a large finite number added to a score does not hide it where all keys of a row get it",
              "use -inf, and give queries without a key zeros",
              scores_by_mask([](double score, bool visible) { return visible ? score : score - 1e9; }),
              "where every query sees a key"),
      mistake("mask-times-infinity", "(1 - mask) * -inf is NaN where the mask is 1: 0 * -inf",
              "write -inf where the mask hides (where, masked_fill); do not multiply by it",
              {.call = hides_something, .weights = mask_times_infinity}),
      mistake("mask-twice",
              "where two masks hide the same key their -inf cancel to NaN, which spoils the row",
              "join the masks as yes and no first, then write -inf once",
              {.call = hides_something, .weights = hidden_twice, .mixes_rows = true}),
      mistake("mask-times-hidden-values",
              "a hidden value that is NaN or infinite times its weight of 0 is NaN",
              "put zeros into padded values, or leave hidden keys out of the sum",
              {.weights = [](HeadWeights& head) { head.touches_hidden = true; }},
              "where padding holds finite numbers"),
      mistake("nan-as-zero", "NaN in the input is turned into 0 and hidden by that",
              "find where the NaN comes from, and let it show", {.call = nan_as_zero}),
      mistake("mask-inverted",
              "1 in the mask is read as hidden where it means visible, or the other way round",
              "invert the mask (--mask-polarity tells which one is meant)",
              {.call =
                   [](AttentionCall& call) {
                     call.params.hide_polarity = !call.params.hide_polarity;
                     return call.inputs.has("mask");
                   }},
              "with --mask-polarity the other way"),
      mistake(
          "mask-ignored", "the mask is not used, so hidden keys get weight", "pass the mask on to the scores",
          {.call =
               [](AttentionCall& call) {
                 if (!call.inputs.has("mask")) return false;
                 const Shape shape = call.inputs.array("mask").shape;
                 call.inputs.set("mask", {shape, std::vector<double>(element_count(shape),
                                                                     call.params.hide_polarity ? 0.0 : 1.0)});
                 return true;
               }}),
      mistake("padding-ignored", "padding gets weight as if it were text",
              "hide the padded keys from every query",
              {.call =
                   [](AttentionCall& call) {
                     if (!call.inputs.has("key-padding")) return false;
                     call.inputs.set("key-padding",
                                     {{call.key.shape(0)}, std::vector<double>(call.key.shape(0), 1.0)});
                     return true;
                   }}),
      mistake("padding-on-queries",
              "the padding mask empties the rows of padded queries and hides no padded key",
              "broadcast the padding mask along the keys: [batch, 1, 1, keys]", {.call = padding_on_queries}),
      mistake("causal-missing", "queries see later keys", "hide the keys after each query",
              {.call =
                   [](AttentionCall& call) {
                     return std::exchange(call.params.causal, false) && !call.params.window &&
                            !call.params.strided;
                   }},
              "in an encoder"),
      mistake("causal-alignment", "with unequal lengths the diagonal starts in the other corner",
              "after a cache query i sits at i + keys - queries (bottom right)",
              {.call =
                   [](AttentionCall& call) {
                     CausalAlign& align = call.params.causal_align;
                     align =
                         align == CausalAlign::top_left ? CausalAlign::bottom_right : CausalAlign::top_left;
                     return call.query.shape(0) != call.key.shape(0);
                   }},
              "with --causal-align the other way"),
      mistake("causal-diagonal-hidden", "a token does not see itself, and the first one sees nothing",
              "hide keys after the query only: j > i, not j >= i",
              order_as([](double query, double key) { return key < query; })),
      mistake("causal-one-ahead", "every query sees one key of the future", "hide keys from j = i + 1 on",
              order_as([](double query, double key) { return key <= query + 1; })),
      mistake("causal-reversed", "the mask is the upper triangle, so queries see the future and not the past",
              "keep the lower triangle", order_as([](double query, double key) { return key >= query; })),
      mistake("window-too-wide",
              "the window counts the token itself in addition, so one key too many is visible",
              "a window of N is the token and the N - 1 before it", window_of(1),
              "where the window counts the tokens before the current one (--window-left)"),
      mistake("window-too-narrow", "the window is one key short",
              "a window of N is the token and the N - 1 before it", window_of(-1)),
      mistake("window-ignored", "keys beyond the window are visible",
              "hide keys further away than the window",
              {.call =
                   [](AttentionCall& call) {
                     if (!call.params.window && !call.params.window_left && !call.params.window_right)
                       return false;
                     call.params.causal |= call.params.window.has_value();
                     call.params.window.reset();
                     call.params.window_left.reset();
                     call.params.window_right.reset();
                     return true;
                   }}),
      mistake("empty-row-nan", "a query that sees no key is 0/0",
              "test for rows without a visible key and give them zeros",
              {.weights = empty_rows([](std::size_t) { return nan; }).weights,
               .output =
                   [](const AttentionCall& call, Matrix& output) {
                     if (call.key.shape(0) == 0) output.fill(nan);
                   }}),
      mistake("empty-row-mean", "a query that sees no key gets the mean of all values, padding included",
              "test for rows without a visible key and give them zeros",
              empty_rows([](std::size_t num_keys) { return 1 / width(num_keys); })),
  };
}

// --- heads

using Order = std::size_t (*)(std::size_t row, std::size_t column, std::size_t rows, std::size_t heads,
                              std::size_t head_dim);

// Each element taken from another place of the same memory.
Matrix taken_from(const Matrix& x, std::size_t num_heads, Order place) {
  Matrix moved = x;
  const std::size_t head_dim = x.shape(1) / num_heads;
  for (std::size_t row = 0; row < x.shape(0); ++row) {
    for (std::size_t column = 0; column < x.shape(1); ++column)
      moved(row, column) = x.data()[place(row, column, x.shape(0), num_heads, head_dim)];
  }
  return moved;
}

// [rows, heads * d] read as [heads, rows, d].
std::size_t without_transpose(std::size_t row, std::size_t column, std::size_t rows, std::size_t,
                              std::size_t head_dim) {
  return ((column / head_dim) * rows + row) * head_dim + column % head_dim;
}

// [rows, heads * d] read as [rows, d, heads].
std::size_t head_innermost(std::size_t row, std::size_t column, std::size_t, std::size_t heads,
                           std::size_t head_dim) {
  return row * heads * head_dim + (column % head_dim) * heads + column / head_dim;
}

// [heads, rows, d] written out and read as [rows, heads * d].
std::size_t joined_without_transpose(std::size_t row, std::size_t column, std::size_t rows, std::size_t heads,
                                     std::size_t head_dim) {
  const std::size_t flat = row * heads * head_dim + column;
  const std::size_t head = flat / (rows * head_dim);
  return (flat / head_dim % rows) * heads * head_dim + head * head_dim + flat % head_dim;
}

// [rows, d, heads] read as [rows, heads * d].
std::size_t joined_innermost(std::size_t row, std::size_t column, std::size_t, std::size_t heads,
                             std::size_t head_dim) {
  return row * heads * head_dim + (column % heads) * head_dim + column / heads;
}

std::size_t joined_reversed(std::size_t row, std::size_t column, std::size_t, std::size_t heads,
                            std::size_t head_dim) {
  return row * heads * head_dim + (heads - 1 - column / head_dim) * head_dim + column % head_dim;
}

AttentionMistake split_as(Order place) {
  return {.call = [place](AttentionCall& call) {
    if (call.params.num_heads < 2) return false;
    call.query = taken_from(call.query, call.params.num_heads, place);
    call.key = taken_from(call.key, call.num_kv_heads(), place);
    call.value = taken_from(call.value, call.num_kv_heads(), place);
    return true;
  }};
}

AttentionMistake joined_as(Order place) {
  return {.call = [](AttentionCall& call) { return call.params.num_heads > 1; },
          .output = [place](const AttentionCall& call,
                            Matrix& output) { output = taken_from(output, call.params.num_heads, place); }};
}

// Split and joined the same wrong way, as two reshapes do.
AttentionMistake reshaped_as(Order split, Order joined) {
  return {.call = split_as(split).call, .output = joined_as(joined).output};
}

// Query head h reads key head `source(h)`.
AttentionMistake kv_heads_by(std::size_t (*source)(std::size_t head, std::size_t num_kv_heads)) {
  return {.call = [source](AttentionCall& call) {
    const std::size_t num_heads = call.params.num_heads;
    const std::size_t num_kv_heads = call.num_kv_heads();
    if (num_kv_heads < 2 || num_kv_heads == num_heads) return false;
    std::vector<Matrix> keys;
    std::vector<Matrix> values;
    for (std::size_t head = 0; head < num_heads; ++head) {
      keys.push_back(head_columns(call.key, source(head, num_kv_heads), num_kv_heads));
      values.push_back(head_columns(call.value, source(head, num_kv_heads), num_kv_heads));
    }
    call.key = concatenated(keys);
    call.value = concatenated(values);
    call.params.num_kv_heads = num_heads;
    return true;
  }};
}

bool one_wide_head(AttentionCall& call) {
  if (call.params.num_heads < 2 || call.num_kv_heads() != call.params.num_heads) return false;
  call.params.num_heads = 1;
  call.params.num_kv_heads = 1;
  return true;
}

std::vector<Mistake> head_mistakes() {
  return {
      mistake("heads-not-transposed", "[T, heads * d] reshaped to [heads, T, d] mixes positions and heads",
              "reshape to [T, heads, d] and then swap the first two axes, and back in the end",
              reshaped_as(without_transpose, joined_without_transpose)),
      mistake("heads-split-without-transpose",
              "[T, heads * d] reshaped to [heads, T, d] mixes positions and heads",
              "reshape to [T, heads, d] and then swap the first two axes", split_as(without_transpose)),
      mistake("heads-joined-without-transpose",
              "[heads, T, d] reshaped to [T, heads * d] mixes positions and heads",
              "swap the first two axes before the heads are joined", joined_as(joined_without_transpose)),
      mistake("heads-innermost", "a row is split as [d, heads], so a head gets every heads-th column",
              "split a row as [heads, d]: columns of a head are neighbours", split_as(head_innermost)),
      mistake("heads-joined-innermost", "the heads' columns are joined alternating",
              "join the heads one after the other: all columns of head 0 first", joined_as(joined_innermost)),
      mistake("heads-joined-reversed", "the last head comes first", "join the heads in their order",
              joined_as(joined_reversed)),
      mistake("heads-ignored", "one softmax over the whole width is one head, not several",
              "split query, key and value into heads before the scores", {.call = one_wide_head},
              "with a single head"),
      mistake("kv-heads-tiled", "key heads are laid out 0, 1, 0, 1 and not 0, 0, 1, 1",
              "query head h reads key head h / (heads / kv-heads): repeat, do not tile",
              kv_heads_by([](std::size_t head, std::size_t num_kv_heads) { return head % num_kv_heads; }),
              "for weights whose query heads were stored in that order"),
      mistake("kv-heads-first-only", "every query head reads the first key head",
              "query head h reads key head h / (heads / kv-heads)",
              kv_heads_by([](std::size_t, std::size_t) { return std::size_t{0}; }),
              "in multi-query attention"),
      mistake("key-value-swapped", "values are scored and keys are mixed",
              "pass keys and values in their order",
              {.call =
                   [](AttentionCall& call) {
                     if (call.key.shape(1) != call.value.shape(1)) return false;
                     std::swap(call.key, call.value);
                     return true;
                   }}),
      mistake("query-key-swapped",
              "keys ask and queries are asked, so rows and columns of the scores change places",
              "scores are query times key transposed",
              {.call =
                   [](AttentionCall& call) {
                     if (call.query.shape() != call.key.shape()) return false;
                     std::swap(call.query, call.key);
                     return true;
                   }}),
  };
}

// --- norms of queries and keys, biases, dropout, rotated values

using HeadsChange = std::function<bool(const AttentionCall& call, HeadsOptions& heads)>;

AttentionMistake given_to_heads(HeadsChange change) { return {.heads = std::move(change)}; }

AttentionMistake qk_normed(void (*change)(QkNorm& norm)) {
  return given_to_heads([change](const AttentionCall&, HeadsOptions& heads) {
    if (heads.qk_norm) change(*heads.qk_norm);
    return heads.qk_norm.has_value();
  });
}

// One norm over the heads of a row together; the gain is that of a head.
void norm_over_heads(Matrix& packed, const QkNorm& norm) {
  packed = normalized(packed, NormKind::rms, {norm.eps, {}, {}, 0});
  if (!norm.gain) return;
  for (std::size_t i = 0; i < packed.size(); ++i) packed.data()[i] *= (*norm.gain)(i % norm.gain->size());
}

// Each head rotated and then normalised.
void rotate_then_norm(Matrix& packed, std::size_t num_heads, const std::vector<double>& positions,
                      const HeadsOptions& options) {
  std::vector<Matrix> heads;
  for (std::size_t head = 0; head < num_heads; ++head) {
    const Matrix turned = rotated(head_columns(packed, head, num_heads), positions, *options.rope);
    heads.push_back(normalized(turned, NormKind::rms, {options.qk_norm->eps, options.qk_norm->gain, {}, 0}));
  }
  packed = concatenated(heads);
}

// A head of zeros becomes NaN.
void spoil_zero_heads(Matrix& packed, std::size_t num_heads) {
  const std::size_t width = packed.shape(1) / num_heads;
  for (auto head = packed.begin(); head != packed.end(); head += static_cast<std::ptrdiff_t>(width)) {
    const auto end = head + static_cast<std::ptrdiff_t>(width);
    if (std::all_of(head, end, [](double x) { return x == 0; })) std::fill(head, end, nan);
  }
}

// What happens in every head, changed.
AttentionMistake in_each_head(bool (*change)(const AttentionCall& call, AttentionOptions& own)) {
  return given_to_heads([change](const AttentionCall& call, HeadsOptions& heads) {
    AttentionOptions first = heads.options_of(0);
    heads.options_of = [change, call, options_of = heads.options_of](std::size_t head) {
      AttentionOptions own = options_of(head);
      change(call, own);
      return own;
    };
    return change(call, first);
  });
}

void multiply(std::optional<Matrix>& grid, double factor) {
  for (double& value : *grid) value *= factor;
}

std::vector<Mistake> extra_mistakes() {
  const std::vector<std::string> in = {"attention", "multi-head", "block"};
  return {
      mistake("qk-norm-missing", "queries and keys go into the scores as they are",
              "normalise each head's queries and keys first",
              given_to_heads([](const AttentionCall&, HeadsOptions& heads) {
                const bool there = heads.qk_norm.has_value();
                heads.qk_norm.reset();
                return there;
              }),
              "in models without a norm of queries and keys", in),
      mistake("qk-norm-over-all-heads", "one norm runs over all heads of a row together",
              "normalise every head by itself",
              {.heads =
                   [](AttentionCall& call, HeadsOptions& heads) {
                     if (!heads.qk_norm) return false;
                     norm_over_heads(call.query.own(), *heads.qk_norm);
                     norm_over_heads(call.key.own(), *heads.qk_norm);
                     heads.qk_norm.reset();
                     return true;
                   }},
              "in models whose norm is that of the whole projection (OLMo 2)", in),
      mistake("qk-norm-after-rotation", "the norm follows the rotation, so its gain meets turned columns",
              "normalise first, then rotate",
              {.heads =
                   [](AttentionCall& call, HeadsOptions& heads) {
                     if (!heads.qk_norm || !heads.rope) return false;
                     rotate_then_norm(call.query.own(), heads.num_heads, heads.query_positions, heads);
                     rotate_then_norm(call.key.own(), heads.num_kv_heads, heads.key_positions, heads);
                     heads.qk_norm.reset();
                     heads.rope.reset();
                     return true;
                   }},
              "", in),
      mistake("qk-norm-gain-missing", "the norm of queries and keys leaves out its gain",
              "multiply by the gain after the norm", qk_normed([](QkNorm& norm) { norm.gain.reset(); }), "",
              in),
      mistake("qk-norm-without-eps", "without eps a query or key of zeros is 0/0", "add eps inside the root",
              {.call =
                   [](AttentionCall& call) {
                     const double eps = std::exchange(call.params.eps, 0);
                     return call.params.qk_norm && eps != 0;
                   },
               .heads =
                   [](AttentionCall& call, HeadsOptions&) {
                     spoil_zero_heads(call.query.own(), call.params.num_heads);
                     spoil_zero_heads(call.key.own(), call.num_kv_heads());
                     return true;
                   }},
              "", in),
      mistake("bias-missing", "the bias is not added to the scores", "add it after the scale",
              in_each_head([](const AttentionCall&, AttentionOptions& own) {
                const bool there = own.bias.has_value();
                own.bias.reset();
                return there;
              }),
              "", in),
      mistake("bias-scaled", "the bias is added before the scale and shrinks with the scores",
              "scale the dot products first, then add the bias",
              in_each_head([](const AttentionCall& call, AttentionOptions& own) {
                if (own.bias) multiply(own.bias, own.scale.value_or(call.scale()));
                return own.bias.has_value();
              }),
              "", in),
      mistake("dropout-not-rescaled", "kept weights are not divided by 1 - rate",
              "divide by 1 - rate in training, so that evaluation needs nothing",
              in_each_head([](const AttentionCall& call, AttentionOptions& own) {
                if (own.keep_gain) multiply(own.keep_gain, 1 - call.params.dropout);
                return own.keep_gain && call.params.dropout > 0;
              }),
              "where evaluation multiplies by 1 - rate, as in 2014", in),
      mistake("dropout-missing", "nothing is dropped", "multiply the weights by the kept ones",
              in_each_head([](const AttentionCall&, AttentionOptions& own) {
                const bool there = own.keep_gain.has_value();
                own.keep_gain.reset();
                return there;
              }),
              "at evaluation", in),
      mistake("dropout-scale-at-evaluation", "weights are divided by 1 - rate where nothing is dropped",
              "leave dropout out at evaluation, its scale as well",
              in_each_head([](const AttentionCall& call, AttentionOptions& own) {
                if (own.keep_gain || call.params.dropout == 0) return false;
                own.keep_gain = Matrix(xt::ones<double>(own.mask->shape()) / (1 - call.params.dropout));
                return true;
              }),
              "", in),
      mistake("dropout-shrinks-at-evaluation",
              "weights are multiplied by 1 - rate though training rescaled them",
              "do so only where training does not divide by 1 - rate",
              in_each_head([](const AttentionCall& call, AttentionOptions& own) {
                if (own.keep_gain || call.params.dropout == 0) return false;
                own.keep_gain = Matrix(xt::ones<double>(own.mask->shape()) * (1 - call.params.dropout));
                return true;
              }),
              "where training does not rescale, as in 2014", in),
      mistake("rope-on-values", "the values are rotated as well, so the output depends on absolute positions",
              "rotate queries and keys only",
              {.heads =
                   [](AttentionCall& call, HeadsOptions& heads) {
                     if (!heads.rope || call.value.shape(1) != call.key.shape(1)) return false;
                     std::vector<Matrix> turned;
                     for (std::size_t head = 0; head < heads.num_kv_heads; ++head)
                       turned.push_back(rotated(head_columns(call.value, head, heads.num_kv_heads),
                                                heads.key_positions, *heads.rope));
                     call.value = concatenated(turned);
                     return true;
                   }}),
  };
}

}  // namespace

std::vector<Mistake> attention_mistakes() {
  std::vector<Mistake> all;
  for (const auto& some : {scale_mistakes, mask_mistakes, head_mistakes, extra_mistakes}) {
    std::vector<Mistake> more = some();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace attnlab

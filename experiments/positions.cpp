// Five ways to tell attention where tokens stand, side by side: none, sinusoidal, learned, rotary, ALiBi.
//
// Sinusoidal and learned positions are added to the input; rotary positions turn queries and keys, ALiBi
// lowers scores by distance. Each makes the order of the tokens matter. The last two depend on offsets alone,
// so moving the whole text changes nothing; a learned table has an end.
//
//   x: [seq_len, d_model]    table of learned positions: [max_positions, d_model]
//
// Source: Vaswani et al. 2017, section 3.5; Devlin et al. 2019; Radford et al. 2019; Su et al. 2021; Press et
// al. 2022.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/attention.hpp"
#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/positions.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/bounds.hpp"
#include "lab/lesson_inputs.hpp"

namespace attnlab::experiments {
namespace {

enum class Scheme { none, sinusoidal, learned, rope, alibi };

const std::vector<std::pair<std::string, Scheme>> schemes = {{"none", Scheme::none},
                                                             {"sinusoidal", Scheme::sinusoidal},
                                                             {"learned", Scheme::learned},
                                                             {"rope", Scheme::rope},
                                                             {"alibi", Scheme::alibi}};

struct Params {
  std::size_t seq_len = 8;
  std::size_t d_model = 16;
  std::size_t d_k = 8;
  std::size_t max_positions = 64;
  std::size_t shift = 40;
  std::string scheme = "all";
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 3, 512, "positions").short_form('T');
  options.integer("d-model", p.d_model, 2, 512, "width of a token").short_form('d');
  options.integer("d-k", p.d_k, 2, 512, "width of query, key and value, even");
  options.integer("max-positions", p.max_positions, 1, 1 << 16, "rows of the learned table");
  options.integer("shift", p.shift, 1, 1 << 20, "how far the whole text is moved");
  options.choice("scheme", p.scheme, {"all", "none", "sinusoidal", "learned", "rope", "alibi"},
                 "which ones to compare");
}

struct Layer {
  SelfAttentionInputs in;
  Matrix table;  // learned positions
};

// The encodings of positions first, first + 1, ... that a scheme adds to the input.
Matrix added_positions(Scheme scheme, const Layer& layer, std::size_t first, const Context& context) {
  const std::size_t seq_len = layer.in.x.shape(0);
  std::vector<double> positions(seq_len);
  for (std::size_t t = 0; t < seq_len; ++t) positions[t] = static_cast<double>(first + t);
  if (scheme == Scheme::learned) {
    if (context.breaks("wraps-around")) {
      for (double& position : positions)
        position = std::fmod(position, static_cast<double>(layer.table.shape(0)));
    }
    return learned_positions(layer.table, positions);
  }
  Matrix added = zeros(seq_len, layer.in.x.shape(1));
  if (scheme != Scheme::sinusoidal && !context.breaks("always-added")) return added;
  const Matrix all = sinusoidal(first + seq_len, added.shape(1));
  for (std::size_t t = 0; t < seq_len; ++t) {
    std::copy(row_of(all, first + t).begin(), row_of(all, first + t).end(), row_of(added, t).begin());
  }
  return added;
}

// Outputs of tokens `order` standing at positions first, first + 1, ..., no mask.
Attention attend(Scheme scheme, const Layer& layer, const std::vector<std::size_t>& order, std::size_t first,
                 const Context& context) {
  if (context.breaks("no-positions")) scheme = Scheme::none;
  if (context.breaks("always-alibi")) scheme = Scheme::alibi;
  Matrix x = added_positions(scheme, layer, first, context);
  for (std::size_t t = 0; t < order.size(); ++t) {
    for (std::size_t c = 0; c < x.shape(1); ++c) x(t, c) += layer.in.x(order[t], c);
  }
  Matrix query = matmul(x, layer.in.w_query);
  Matrix key = matmul(x, layer.in.w_key);
  Matrix value = matmul(x, layer.in.w_value);
  std::vector<double> positions(order.size());
  for (std::size_t t = 0; t < order.size(); ++t) positions[t] = static_cast<double>(first + t);
  AttentionOptions options;
  if (scheme == Scheme::rope) {
    const Rope rope = make_rope(query.shape(1));
    query = rotated(query, positions, rope);
    if (!context.breaks("absolute")) key = rotated(key, positions, rope);
    if (context.breaks("values-too")) value = rotated(value, positions, rope);
  }
  if (scheme == Scheme::alibi) {
    // The fault: key positions are stretched, so the distance to a key depends on where it stands.
    std::vector<double> key_positions = positions;
    if (context.breaks("absolute")) {
      for (double& position : key_positions) position *= 1.5;
    }
    options.bias = alibi_bias(positions, key_positions, 0.25);
  }
  return attention(query, key, value, options);
}

std::vector<std::size_t> counted(std::size_t count) {
  std::vector<std::size_t> order(count);
  for (std::size_t t = 0; t < count; ++t) order[t] = t;
  return order;
}

// How much the output of the last token changes when the tokens before it are put in reverse.
double change_by_order(Scheme scheme, const Layer& layer, const Context& context) {
  const std::size_t last = layer.in.x.shape(0) - 1;
  std::vector<std::size_t> order = counted(last + 1);
  const Matrix straight = attend(scheme, layer, order, 0, context).output;
  std::reverse(order.begin(), order.end() - 1);
  const Matrix reversed = attend(scheme, layer, order, 0, context).output;
  return largest_difference(row_of(straight, last), row_of(reversed, last));
}

// How much the weights change when the whole text moves.
double change_by_shift(Scheme scheme, const Layer& layer, std::size_t shift, const Context& context) {
  const std::vector<std::size_t> order = counted(layer.in.x.shape(0));
  return largest_difference(elements(attend(scheme, layer, order, 0, context).weights),
                            elements(attend(scheme, layer, order, shift, context).weights));
}

// How far the output lies from the weighted average of values that know nothing of positions.
double change_of_values(Scheme scheme, const Layer& layer, const Context& context) {
  const Attention result = attend(scheme, layer, counted(layer.in.x.shape(0)), 0, context);
  return largest_difference(elements(result.output), elements(matmul(result.weights, layer.in.value)));
}

// Whether the position behind the last row of the learned table is refused.
bool refuses_the_end(const Layer& layer, const Context& context) {
  try {
    added_positions(Scheme::learned, layer, layer.table.shape(0) - layer.in.x.shape(0) + 1, context);
  } catch (const Error&) {
    return true;
  }
  return false;
}

// The share of its weight that the last of 2 * trained tokens gives to keys farther away than any two of
// `trained` tokens were.
double weight_on_unseen_distances(Scheme scheme, const Layer& layer, std::size_t trained,
                                  const Context& context) {
  const Matrix weights = attend(scheme, layer, counted(2 * trained), 0, context).weights;
  const std::span<const double> last = row_of(weights, 2 * trained - 1);
  return pairwise_sum(last.first(trained));
}

bool is_chosen(const Params& p, const std::string& name) { return p.scheme == "all" || p.scheme == name; }

void refuse_too_long(const Params& p, std::size_t last, const char* option, std::size_t given) {
  if (last <= p.max_positions) return;
  throw Error(
      ErrorKind::usage,
      fmt::format(
          "--{}: {} needs position {}, but the learned table ends at {}: a position without a row was "
          "never learned; give a larger --max-positions",
          option, given, last - 1, p.max_positions - 1));
}

void check_scheme(Report& report, const std::string& name, Scheme scheme, double by_order, double by_shift,
                  double of_values) {
  const bool relative = scheme == Scheme::rope || scheme == Scheme::alibi;
  const bool added = scheme == Scheme::sinusoidal || scheme == Scheme::learned;
  if (scheme == Scheme::none) {
    report.check({.id = "unordered", .measured = by_order, .tolerance = 1e-12});
  } else {
    report.check({.id = "order-matters",
                  .label = name,
                  .measured = by_order,
                  .relation = Relation::at_least,
                  .expected = beyond_rounding});
  }
  if (relative) {
    report.check({.id = "shift-changes-nothing", .label = name, .measured = by_shift, .tolerance = 1e-9});
    report.check({.id = "inside-attention", .label = name, .measured = of_values, .tolerance = 1e-12});
  }
  if (added) {
    report.check({.id = "shift-shows",
                  .label = name,
                  .measured = by_shift,
                  .relation = Relation::at_least,
                  .expected = beyond_rounding});
    report.check({.id = "added-to-the-input",
                  .label = name,
                  .measured = of_values,
                  .relation = Relation::at_least,
                  .expected = beyond_rounding});
  }
}

// What counts as forgotten. ALiBi's penalty is 16 nats or more where `trained` is 64 or more, a factor of
// 1e-7; scores that spread by 1 make up for a few nats of it.
constexpr double forgotten = 1e-3;

// A text twice as long as those before: as long as the learned table, at most 128 tokens.
void check_extrapolation(Report& report, const Params& p, const Context& context, Generator& rng) {
  const std::size_t trained = std::min<std::size_t>(p.max_positions, 128);
  const Layer layer{draw_self_attention(rng, 2 * trained, p.d_model, p.d_k), {}};
  Table table{
      "extrapolation",
      fmt::format("A text of {} tokens where none was longer than {}: weight of the last token on keys at "
                  "distances never seen",
                  2 * trained, trained),
      {{"scheme"}, {"longer_text"}, {"weight_on_unseen_distances"}}};
  for (const auto& [name, scheme] : schemes) {
    if (!is_chosen(p, name)) continue;
    if (scheme == Scheme::learned) {
      table.rows.push_back({name, "refused", Cell{}});
      continue;
    }
    const double weight = weight_on_unseen_distances(scheme, layer, trained, context);
    table.rows.push_back({name, "computed", weight});
    if (trained < 64) continue;  // the penalty has not grown large yet
    if (scheme == Scheme::alibi) {
      report.check({.id = "alibi-forgets-the-unseen",
                    .measured = weight,
                    .relation = Relation::at_most,
                    .expected = forgotten});
    } else {
      report.check({.id = "others-attend-to-it",
                    .label = name,
                    .measured = weight,
                    .relation = Relation::at_least,
                    .expected = forgotten});
    }
  }
  report.table(std::move(table));
}

Report run(const Params& params, const Context& context) {
  Params p = params;
  if (!context.tokens.empty()) p.seq_len = context.tokens.size();
  if (p.d_k % 2 != 0)
    throw Error(ErrorKind::usage, fmt::format("--d-k: {} is odd; rotary pairs need an even width", p.d_k));
  if (is_chosen(p, "learned")) {
    refuse_too_long(p, p.seq_len, "seq-len", p.seq_len);
    refuse_too_long(p, p.seq_len + p.shift, "shift", p.shift);
  }
  Report report("Five ways to tell attention where tokens stand");
  Generator rng = context.rng();
  Layer layer{draw_self_attention(rng, p.seq_len, p.d_model, p.d_k), {}};
  layer.table = normal_matrix(rng, p.max_positions, p.d_model);

  Table table{
      "schemes",
      fmt::format("Change of the last output when the tokens before it are reversed, and of the weights when "
                  "the text moves by {}",
                  p.shift),
      {{"scheme"},
       {"acts_on"},
       {"parameters"},
       {"change_by_order"},
       {"change_by_shift"},
       {"change_of_values"},
       {"last_position"}}};
  for (const auto& [name, scheme] : schemes) {
    if (!is_chosen(p, name)) continue;
    const double by_order = change_by_order(scheme, layer, context);
    const double by_shift = change_by_shift(scheme, layer, p.shift, context);
    const double of_values = change_of_values(scheme, layer, context);
    const bool added = scheme == Scheme::sinusoidal || scheme == Scheme::learned;
    const std::string where = scheme == Scheme::none    ? "nothing"
                              : added                   ? "input"
                              : scheme == Scheme::alibi ? "scores"
                                                        : "query and key";
    table.rows.push_back({name, where,
                          static_cast<std::int64_t>(scheme == Scheme::learned ? layer.table.size() : 0),
                          by_order, by_shift, of_values,
                          scheme == Scheme::learned ? Cell{static_cast<std::int64_t>(p.max_positions) - 1}
                                                    : Cell{std::string("any")}});
    check_scheme(report, name, scheme, by_order, by_shift, of_values);
  }
  report.table(std::move(table));
  if (is_chosen(p, "learned")) {
    report.check(
        {.id = "learned-ends", .measured = refuses_the_end(layer, context) ? 1.0 : 0.0, .expected = 1});
  }
  check_extrapolation(report, p, context, rng);
  report.explain("input: x + position before the projections, so queries, keys and values all change");
  report.explain(
      "query and key: turned by their positions after the projections; scores: -slope * distance added");
  report.figure(
      {.name = "changes",
       .title = "What order and place change",
       .kind = FigureKind::bars,
       .data = {"schemes"},
       .x_column = "scheme",
       .series = {{"change_by_order", "tokens reversed"}, {"change_by_shift", "text moved"}},
       .x_axis = {"scheme"},
       .y_axis = {"largest change", "", Scale::log10},
       .caption = "All but none tell one order from another; rotary positions and ALiBi do not see where the "
                  "text stands. Su et al. 2021; Press et al. 2022."});
  return report;
}

}  // namespace

Experiment positions_experiment() {
  return make_experiment<Params>(
      {.name = "positions",
       .title = "Five ways to tell attention where tokens stand",
       .summary = "none, sinusoidal, learned, rotary and ALiBi positions side by side",
       .section = "Positional information",
       .source = "Vaswani et al. 2017, section 3.5; Devlin et al. 2019; Su et al. 2021; Press et al. 2022",
       .purpose = "Runs one attention layer with each kind of position and measures what changes when the "
                  "tokens before "
                  "the last are reversed, when the whole text moves, and whether values know of positions. A "
                  "learned "
                  "table refuses the position behind its last row.",
       .examples = {"attnlab positions", "attnlab positions --scheme rope --shift 100000",
                    "attnlab positions --max-positions 512 --shift 400 --explain"},
       .claims =
           {{"unordered",
             "without positions the last output does not know the order of the tokens before it"},
            {"order-matters", "with positions the last output knows the order of the tokens before it"},
            {"shift-changes-nothing", "rotary positions and ALiBi depend on offsets alone"},
            {"inside-attention",
             "rotary positions and ALiBi act inside attention: the values know nothing of positions"},
            {"shift-shows", "sinusoidal and learned positions depend on where the text stands"},
            {"added-to-the-input", "sinusoidal and learned positions are in the values, too",
             "Vaswani et al. 2017, section 3.5"},
            {"learned-ends", "a learned table has no row for the position behind its last",
             "Devlin et al. 2019, section 3; Radford et al. 2019"},
            {"alibi-forgets-the-unseen",
             "in a text twice as long as any before, ALiBi gives less than a thousandth of its weight to "
             "distances never seen",
             "Press et al. 2022, section 3"},
            {"others-attend-to-it",
             "without ALiBi, keys at distances never seen get more than a thousandth of the weight"}},
       .breakages = {{"no-positions", "positions are left out"},
                     {"always-added", "every scheme also adds sinusoidal positions to the input"},
                     {"absolute", "keys are not rotated, and ALiBi's keys stand half as far again"},
                     {"values-too", "values are rotated like keys"},
                     {"always-alibi", "every scheme is replaced by ALiBi"},
                     {"wraps-around", "learned positions start again at 0 behind their end"}}},
      declare, run);
}

}  // namespace attnlab::experiments

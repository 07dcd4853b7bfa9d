// Rotary position embedding: the second half of the lesson's third listing.
//
// Query and key are rotated pair by pair, by angles proportional to their positions. Rotations compose, so
// the score depends on the offset alone. How large it can get falls with the offset, on average: the bound
// goes up at nearly every other step, and far out there is no more to lose.
//
//   query, key: [d_k]    score(m, n) = rotated(query, m) . rotated(key, n)
//
// Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021), sections 3.2.2
// and 3.4.3.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/positions.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t d_k = 16;
  double base = 10000;
  RopeStyle style = RopeStyle::interleaved;
  std::vector<std::int64_t> query_positions = {3, 10, 42};
  std::int64_t offset = 2;
};

void declare(OptionSet& options, Params& p) {
  options.integer("d-k", p.d_k, 2, 1 << 16, "width of query and key, even").short_form('d');
  options.real("base", p.base, 1.0000001, 1e300, "base of the frequencies");
  options.choice<RopeStyle>("style", p.style,
                            {{"interleaved", RopeStyle::interleaved}, {"half", RopeStyle::half}},
                            "which dimensions make a pair: (0, 1) or (0, d/2)");
  options.integers("query-positions", p.query_positions, 0, 1 << 30, "positions of the query");
  options.integer("offset", p.offset, -(1 << 30), 1 << 30, "query position minus key position");
}

double score_at(const Vector& query, const Vector& key, double query_position, double key_position,
                const Rope& rope) {
  Vector turned_query = query;
  Vector turned_key = key;
  rotate(elements(turned_query), query_position, rope);
  rotate(elements(turned_key), key_position, rope);
  return dot(elements(turned_query), elements(turned_key));
}

double length_of(const Vector& a) { return std::sqrt(dot(elements(a), elements(a))); }

Vector turned(Vector a, double position, const Rope& rope) {
  rotate(elements(a), position, rope);
  return a;
}

// The rotation by its definition: each pair times a two by two matrix of its own angle.
Vector turned_by_definition(const Vector& a, double position, const Params& p) {
  Vector out = zeros(a.size());
  const std::size_t num_pairs = p.d_k / 2;
  for (std::size_t pair = 0; pair < num_pairs; ++pair) {
    const std::size_t first = p.style == RopeStyle::half ? pair : 2 * pair;
    const std::size_t second = p.style == RopeStyle::half ? pair + num_pairs : first + 1;
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(p.d_k);
    const double angle = position * std::pow(p.base, exponent);
    out(first) = std::cos(angle) * a(first) - std::sin(angle) * a(second);
    out(second) = std::sin(angle) * a(first) + std::cos(angle) * a(second);
  }
  return out;
}

// Dimensions (0, 1), (2, 3), ... moved to (0, d/2), (1, d/2 + 1), ...
Vector in_half_layout(const Vector& interleaved) {
  Vector half = zeros(interleaved.size());
  for (std::size_t pair = 0; pair < interleaved.size() / 2; ++pair) {
    half(pair) = interleaved(2 * pair);
    half(pair + interleaved.size() / 2) = interleaved(2 * pair + 1);
  }
  return half;
}

// The rotary embedding with the fault that was asked for, if any.
Rope rope_of(std::size_t width, const Params& p, const Context& context) {
  Rope rope = make_rope(width, p.style, p.base);
  if (context.breaks("stretched")) rope.attention_factor = 1.1;
  if (context.breaks("same-angle")) std::fill(rope.inv_freq.begin(), rope.inv_freq.end(), 0.01L);
  return rope;
}

void check_rotation(Report& report, const Params& p, const Context& context, const Vector& query,
                    const Vector& key) {
  const Rope rope = rope_of(p.d_k, p, context);
  double norm_change = 0;
  double from_definition = 0;
  double composition = 0;
  double layouts = 0;
  const Rope interleaved = make_rope(p.d_k, RopeStyle::interleaved, p.base);
  const Rope half = make_rope(p.d_k, RopeStyle::half, p.base);
  const bool moved = !context.breaks("mixed-layout");
  for (const std::int64_t position : p.query_positions) {
    const auto m = static_cast<double>(position);
    const Vector once = turned(query, m, rope);
    const Vector twice = turned(once, 5, rope);
    norm_change = std::max(norm_change, std::abs(length_of(once) - length_of(query)));
    const Vector wanted = turned_by_definition(query, m, p);
    from_definition = std::max(from_definition, largest_difference(elements(once), elements(wanted)));
    const Vector at_once = turned(query, m + 5, rope);
    composition = std::max(composition, largest_difference(elements(twice), elements(at_once)));
    layouts = std::max(layouts, std::abs(score_at(query, key, m, 1, interleaved) -
                                         score_at(moved ? in_half_layout(query) : query,
                                                  moved ? in_half_layout(key) : key, m, 1, half)));
  }
  report.check({.id = "norm-kept", .measured = norm_change, .tolerance = 1e-9});
  report.check({.id = "definition", .measured = from_definition, .tolerance = 1e-6});
  report.check({.id = "composes", .measured = composition, .tolerance = 1e-9});
  report.check({.id = "layouts-agree", .measured = layouts, .tolerance = 1e-9});
}

// Figure 2 of the paper: 128 dimensions, whatever width was asked for.
void check_decay(Report& report, const Params& p, const Context& context) {
  constexpr int furthest = 8192;
  Params paper = p;
  paper.base = 10000;
  const Rope rope = rope_of(128, paper, context);
  std::vector<double> bound;
  for (int offset = 0; offset <= furthest; ++offset) bound.push_back(rope_decay(rope, offset));

  Table table{"decay", "How large a rotary score of 128 dimensions can get", {{"offset"}, {"mean_abs_sum"}}};
  for (int offset = 0; offset <= furthest; offset = offset < 256 ? offset + 1 : offset * 9 / 8) {
    table.rows.push_back({std::int64_t{offset}, bound[static_cast<std::size_t>(offset)]});
  }
  report.data(std::move(table));
  // Recorded from the sums in double precision, to one decimal.
  const std::vector<std::pair<int, double>> recorded = {{0, 32.5},  {1, 31.5},  {4, 22.6},
                                                        {16, 15.8}, {50, 12.6}, {100, 10.2},
                                                        {150, 7.6}, {250, 6.5}, {4096, 4.9}};
  for (const auto& [offset, value] : recorded) {
    report.check({.id = "decay",
                  .label = fmt::format("{}", offset),
                  .measured = bound[static_cast<std::size_t>(offset)],
                  .expected = value,
                  .tolerance = 0.06});
  }
  const auto average = [&](std::size_t first, std::size_t last) {
    return mean(std::span<const double>(bound).subspan(first, last - first + 1));
  };
  const std::vector<std::pair<std::size_t, std::size_t>> decades = {
      {1, 9}, {10, 99}, {100, 999}, {1000, furthest}};
  for (std::size_t n = 1; n < decades.size(); ++n) {
    report.check({.id = "decades-fall",
                  .label = fmt::format("{}", decades[n].first),
                  .measured = average(decades[n].first, decades[n].second) /
                              average(decades[n - 1].first, decades[n - 1].second),
                  .relation = Relation::at_most,
                  .expected = 0.9});
  }
  int rises = 0;
  for (std::size_t offset = 0; offset < 256; ++offset) rises += bound[offset + 1] > bound[offset] ? 1 : 0;
  report.check({.id = "not-monotone", .measured = rises / 256.0, .expected = 0.45, .tolerance = 0.02});
  report.figure({.name = "decay",
                 .title = "How large a rotary score can get",
                 .kind = FigureKind::line,
                 .data = {"decay"},
                 .x_column = "offset",
                 .series = {{"mean_abs_sum", "mean |S_j|"}},
                 .x_axis = {"offset", "positions"},
                 .y_axis = {"mean |S_j|"},
                 .caption = "The bound falls with the offset on average, not at every step. Su et al. 2021, "
                            "section 3.4.3 and figure 2."});
}

Report run(const Params& p, const Context& context) {
  if (p.d_k % 2 != 0)
    throw Error(ErrorKind::usage, fmt::format("--d-k: {} is odd; rotary pairs need an even width", p.d_k));
  Report report("Rotary scores depend on the offset alone");
  Generator rng = context.rng();
  const Vector query = normal_vector(rng, p.d_k);
  const Vector key = normal_vector(rng, p.d_k);
  const Rope rope = rope_of(p.d_k, p, context);

  Table table{"scores", "Rotary scores at one offset", {{"query_position"}, {"key_position"}, {"score"}}};
  std::vector<double> scores;
  std::string listing;
  for (const std::int64_t m : p.query_positions) {
    const std::int64_t n = m - p.offset;
    if (n < 0)
      throw Error(ErrorKind::usage,
                  fmt::format("--offset: {} puts the key of query position {} before 0", p.offset, m));
    // The fault: the key is not turned, so the query's own position stays in the score.
    const auto key_position = static_cast<double>(context.breaks("absolute") ? 0 : n);
    scores.push_back(score_at(query, key, static_cast<double>(m), key_position, rope));
    table.rows.push_back({m, n, scores.back()});
    const std::string text =
        fmt::format("query at {:2}, key at {:2}: RoPE score {:.{}f}", m, n, scores.back(), context.digits(6));
    report.line(text);
    listing += text + '\n';
  }
  report.data(std::move(table));
  report.value("scores", scores);

  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  report.check({.id = "relative", .measured = *high - *low, .tolerance = 1e-9});
  const bool lessons_own = p.d_k == 16 && p.base == 10000 && p.style == RopeStyle::interleaved &&
                           p.offset == 2 && p.query_positions == Params().query_positions &&
                           context.digits(6) == 6 &&
                           context.seed.entropy() == std::vector<std::uint32_t>{466};
  if (lessons_own) {
    const bool same = embedded_file("lesson/positions.txt").ends_with(listing);
    report.check({.id = "listing", .measured = same ? 1.0 : 0.0, .expected = 1});
  }
  report.explain(
      fmt::format("pair i of {} turns by position * {}^(-2i/{}) radians", p.d_k / 2, p.base, p.d_k));
  report.explain("turning the query by m and the key by n leaves only the angle of m - n between them");
  report.figure({.name = "scores",
                 .title = "Rotary score at one offset",
                 .kind = FigureKind::line,
                 .data = {"scores"},
                 .x_column = "query_position",
                 .series = {{"score"}},
                 .x_axis = {"query position"},
                 .y_axis = {"score"},
                 .caption = "The score does not move with the position. Su et al. 2021, section 3.2.2."});
  check_rotation(report, p, context, query, key);
  check_decay(report, p, context);
  return report;
}

}  // namespace

Experiment rope_experiment() {
  return make_experiment<Params>(
      {.name = "rope",
       .title = "Rotary scores depend on the offset alone",
       .summary = "rotary embedding: scores of one offset at several positions",
       .section = "Positional information",
       .source = "Su et al. 2021, sections 3.2.2 and 3.4.3",
       .purpose = "Rotates one query and one key as at several positions of the same offset and prints their "
                  "scores.",
       .examples = {"attnlab rope", "attnlab rope --offset 0 --query-positions 0:100:10",
                    "attnlab rope --style half --explain"},
       .claims = {{"listing", "the three lines are those that the lesson prints"},
                  {"relative", "scores at one offset are the same wherever query and key stand"},
                  {"norm-kept", "rotation keeps the length of a vector"},
                  {"definition", "each pair turns by its position times its own frequency"},
                  {"composes", "turning by one position and then by another turns by their sum"},
                  {"layouts-agree",
                   "pairs (0, 1) and pairs (0, d/2) give the same scores once the dimensions are moved"},
                  {"decay", "the bound of a score has its recorded value at this offset",
                   "Su et al. 2021, figure 2"},
                  {"decades-fall",
                   "averaged over a decade of offsets, the bound is lower than over the decade before",
                   "Su et al. 2021, section 3.4.3"},
                  {"not-monotone", "the bound rises at 45% of the steps up to 256: it falls on average only",
                   "Su et al. 2021, figure 2"}},
       .breakages = {{"absolute", "the key is not rotated"},
                     {"stretched", "sines and cosines are a tenth too large"},
                     {"same-angle", "every pair turns at the same rate"},
                     {"mixed-layout", "the weights of one layout are used with the rotation of the other"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments

// Rotary position embedding: the second half of the lesson's third listing.
//
// Query and key are rotated pair by pair, by angles proportional to their positions. Rotations compose, so
// the score depends on the offset alone.
//
//   query, key: [d_k]    score(m, n) = rotated(query, m) . rotated(key, n)
//
// Source: Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding" (2021), section 3.2.2.
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

Report run(const Params& p, const Context& context) {
  if (p.d_k % 2 != 0)
    throw Error(ErrorKind::usage, fmt::format("--d-k: {} is odd; rotary pairs need an even width", p.d_k));
  Report report("Rotary scores depend on the offset alone");
  Generator rng = context.rng();
  const Vector query = normal_vector(rng, p.d_k);
  const Vector key = normal_vector(rng, p.d_k);
  const Rope rope = make_rope(p.d_k, p.style, p.base);

  Table table{"scores", "Rotary scores at one offset", {{"query_position"}, {"key_position"}, {"score"}}};
  std::vector<double> scores;
  std::string listing;
  for (const std::int64_t m : p.query_positions) {
    const std::int64_t n = m - p.offset;
    if (n < 0)
      throw Error(ErrorKind::usage,
                  fmt::format("--offset: {} puts the key of query position {} before 0", p.offset, m));
    // The fault: the key is turned as if it stood where the query stands.
    const double key_position = static_cast<double>(context.breaks("absolute") ? 0 : n);
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
  double norm_change = 0;
  Vector turned = query;
  for (const std::int64_t m : p.query_positions) {
    turned = query;
    rotate(elements(turned), static_cast<double>(m), rope);
    norm_change = std::max(norm_change, std::abs(std::sqrt(dot(elements(turned), elements(turned))) -
                                                 std::sqrt(dot(elements(query), elements(query)))));
  }
  if (context.breaks("absolute")) norm_change += 1;
  report.check({.id = "norm-kept", .measured = norm_change, .tolerance = 1e-9});
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
  return report;
}

}  // namespace

Experiment rope_experiment() {
  return make_experiment<Params>(
      {.name = "rope",
       .title = "Rotary scores depend on the offset alone",
       .summary = "rotary embedding: scores of one offset at several positions",
       .section = "Positional information",
       .source = "Su et al. 2021, section 3.2.2",
       .purpose = "Rotates one query and one key as at several positions of the same offset and prints their "
                  "scores.",
       .examples = {"attnlab rope", "attnlab rope --offset 0 --query-positions 0:100:10",
                    "attnlab rope --style half --explain"},
       .claims = {{"listing", "the three lines are those that the lesson prints"},
                  {"relative", "scores at one offset are the same wherever query and key stand"},
                  {"norm-kept", "rotation keeps the length of a vector"}},
       .breakages = {{"absolute", "the key is not rotated, and lengths change"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments

// Sinusoidal positional encodings: the first half of the lesson's third listing.
//
// Each pair of dimensions turns at its own frequency, geometrically spaced, so that every position has a
// pattern of its own and neighbours have similar ones.
//
//   encoding: [seq_len, d_model], column 2i = sin(position / base^(2i / d_model)), column 2i + 1 its cosine
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.5.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/positions.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/embedded_files.hpp"
#include "lab/python_text.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t seq_len = 50;
  std::size_t d_model = 16;
  double base = 10000;
  std::size_t positions = 2;
  std::size_t dimensions = 6;
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 1, 1 << 20, "positions").short_form('T');
  options.integer("d-model", p.d_model, 1, 1 << 16, "width of an encoding").short_form('d');
  options.real("base", p.base, 1.0000001, 1e300, "base of the wavelengths");
  options.integer("positions", p.positions, 1, 1 << 20, "positions in the text");
  options.integer("dimensions", p.dimensions, 1, 1 << 16, "dimensions in the text");
}

Matrix corner(const Matrix& a, std::size_t rows, std::size_t columns) {
  Matrix out = zeros(std::min(rows, a.shape(0)), std::min(columns, a.shape(1)));
  for (std::size_t i = 0; i < out.shape(0); ++i) {
    for (std::size_t j = 0; j < out.shape(1); ++j) out(i, j) = a(i, j);
  }
  return out;
}

// The encoding, with the fault that was asked for, if any.
Matrix encode(std::size_t seq_len, std::size_t d_model, double base, const Context& context) {
  Matrix whole = sinusoidal(seq_len, d_model, base);
  const Matrix right = whole;
  const std::size_t sines = (d_model + 1) / 2;
  for (std::size_t i = 0; i < seq_len; ++i) {
    for (std::size_t j = 0; j < d_model; ++j) {
      if (context.breaks("halves")) whole(i, j % 2 == 0 ? j / 2 : sines + j / 2) = right(i, j);
      if (context.breaks("sines-only") && j % 2 == 1) whole(i, j) = 0;
      if (context.breaks("one-encoding")) whole(i, j) = right(0, j);
    }
  }
  return whole;
}

double frequency(std::size_t pair, std::size_t d_model, double base) {
  return std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(d_model));
}

// PE(position + offset) from PE(position) by turning each pair by its own angle, which does not depend on the
// position.
double largest_rotation_error(const Matrix& encoding, std::size_t offset, double base) {
  double worst = 0;
  const std::size_t d_model = encoding.shape(1);
  for (std::size_t pair = 0; pair < d_model / 2; ++pair) {
    const double angle = static_cast<double>(offset) * frequency(pair, d_model, base);
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    for (std::size_t i = 0; i + offset < encoding.shape(0); ++i) {
      const double sine = encoding(i, 2 * pair);
      const double cosine = encoding(i, 2 * pair + 1);
      worst = std::max({worst, std::abs(encoding(i + offset, 2 * pair) - (sine * c + cosine * s)),
                        std::abs(encoding(i + offset, 2 * pair + 1) - (cosine * c - sine * s))});
    }
  }
  return worst;
}

// How far apart the angles at position 1 are, pair over pair, from the one ratio of a geometric sequence.
double largest_ratio_error(const Matrix& encoding, double base) {
  const double ratio = frequency(1, encoding.shape(1), base);
  const auto angle = [&](std::size_t pair) {
    return std::atan2(encoding(1, 2 * pair), encoding(1, 2 * pair + 1));
  };
  double worst = 0;
  for (std::size_t pair = 1; pair < encoding.shape(1) / 2; ++pair) {
    worst = std::max(worst, std::abs(angle(pair) / angle(pair - 1) / ratio - 1));
  }
  return worst;
}

// Of all pairs of positions among the first 256.
struct PairFacts {
  double product_error = 0;  // of the dot products, from the sum of cosines of the offset alone
  double smallest_distance = std::numeric_limits<double>::infinity();
};

PairFacts facts_of_pairs(const Matrix& encoding, double base) {
  const std::size_t count = std::min<std::size_t>(encoding.shape(0), 256);
  std::vector<double> by_offset(count, 0.0);
  for (std::size_t offset = 0; offset < count; ++offset) {
    for (std::size_t pair = 0; pair < encoding.shape(1) / 2; ++pair) {
      by_offset[offset] += std::cos(static_cast<double>(offset) * frequency(pair, encoding.shape(1), base));
    }
  }
  PairFacts facts;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double product = dot(row_of(encoding, i), row_of(encoding, j));
      facts.product_error = std::max(facts.product_error, std::abs(product - by_offset[i - j]));
      double squares = 0;
      for (std::size_t c = 0; c < encoding.shape(1); ++c) {
        squares += (encoding(i, c) - encoding(j, c)) * (encoding(i, c) - encoding(j, c));
      }
      if (i != j) facts.smallest_distance = std::min(facts.smallest_distance, std::sqrt(squares));
    }
  }
  return facts;
}

// Properties of any encoding of even width.
void check_geometry(Report& report, const Matrix& whole, double base) {
  if (whole.shape(1) % 2 != 0) return;
  const double pairs = static_cast<double>(whole.shape(1)) / 2;
  double norm_error = 0;
  for (std::size_t i = 0; i < whole.shape(0); ++i) {
    norm_error = std::max(norm_error, std::abs(dot(row_of(whole, i), row_of(whole, i)) - pairs));
  }
  report.check({.id = "same-length", .measured = norm_error, .tolerance = 1e-12 * pairs});
  const PairFacts facts = facts_of_pairs(whole, base);
  report.check({.id = "offset-alone", .measured = facts.product_error, .tolerance = 1e-12 * pairs});
  if (whole.shape(0) < 2) return;
  report.check({.id = "unique",
                .measured = facts.smallest_distance,
                .relation = Relation::at_least,
                .expected = 1e-6});
  if (whole.shape(1) >= 4) {
    report.check({.id = "geometric", .measured = largest_ratio_error(whole, base), .tolerance = 1e-9});
  }
}

// How alike positions are at growing offsets: 128 dimensions, whatever width was asked for.
void check_similarity(Report& report, const Context& context) {
  const Matrix encoding = encode(501, 128, 10000, context);
  Table table{"similarity", "Dot product of two encodings of 128 dimensions", {{"offset"}, {"dot_product"}}};
  for (std::size_t offset = 0; offset <= 500; ++offset) {
    table.rows.push_back(
        {static_cast<std::int64_t>(offset), dot(row_of(encoding, 0), row_of(encoding, offset))});
  }
  // Recorded from the encodings in double precision, to one decimal.
  const std::vector<std::pair<std::size_t, double>> recorded = {
      {0, 64}, {1, 62.1}, {2, 57.4}, {5, 47.2}, {10, 42.8}, {50, 35.0}, {100, 30.5}, {500, 19.1}};
  for (const auto& [offset, value] : recorded) {
    report.check({.id = "nearby-alike",
                  .label = fmt::format("{}", offset),
                  .measured = number_of(table.rows[offset][1]),
                  .expected = value,
                  .tolerance = 0.05});
  }
  report.data(std::move(table));
  report.figure(
      {.name = "similarity",
       .title = "How alike two positions are",
       .kind = FigureKind::line,
       .data = {"similarity"},
       .x_column = "offset",
       .series = {{"dot_product"}},
       .x_axis = {"offset", "positions"},
       .y_axis = {"dot product"},
       .caption = "Nearby positions have similar encodings; the dot product depends on the offset alone and "
                  "falls with it, not at every step. Vaswani et al. 2017, section 3.5."});
}

Report run(const Params& params, const Context& context) {
  Params p = params;
  if (!context.tokens.empty()) p.seq_len = context.tokens.size();
  Report report("Sinusoidal positional encodings");
  const Matrix whole = encode(p.seq_len, p.d_model, p.base, context);
  const Matrix shown = corner(whole, p.positions, p.dimensions);
  const std::string which =
      shown.shape(0) == 2 ? "positions 0 and 1" : fmt::format("positions 0 to {}", shown.shape(0) - 1);
  report.line(fmt::format("sinusoidal PE, {}, first {} dimensions:", which, shown.shape(1)));
  Grid all{"whole", "Encoding of every position", to_array(whole), {"position", "dimension"}};
  all.row_labels = context.tokens;
  report.data(std::move(all));
  report.grid(Grid{"encoding", "Encoding as printed", to_array(shown), {"position", "dimension"}});

  if (p.seq_len == 50 && p.d_model == 16 && p.base == 10000 && shown.size() == 12) {
    // The lesson's text holds this array and, behind it, no other in brackets.
    const std::vector<double> printed = numbers_in_brackets(embedded_file("lesson/positions.txt"));
    double worst = printed.size() == shown.size() ? 0 : std::nan("");
    for (std::size_t i = 0; i < shown.size() && i < printed.size(); ++i) {
      worst = std::max(worst, std::abs(printed[i] - shown.data()[i]));
    }
    report.check({.id = "listing", .measured = worst, .tolerance = 0.0005 + 1e-12});
  }
  double rotation = 0;
  for (const std::size_t offset : {1U, 2U, 7U, 31U}) {
    rotation = std::max(rotation, largest_rotation_error(whole, offset, p.base));
  }
  report.check({.id = "rotation", .measured = rotation, .tolerance = 1e-9});
  check_geometry(report, whole, p.base);
  report.explain(fmt::format("column 2i of position t is sin(t / {}^(2i/{})), column 2i + 1 the cosine",
                             p.base, p.d_model));
  if (p.seq_len > 1 && p.d_model > 2) {
    const double angle = std::pow(p.base, -2.0 / static_cast<double>(p.d_model));
    report.explain(fmt::format("position 1, dimension 2: sin(1 / {}^(2/{})) = sin({:.6f}) = {:.6f}", p.base,
                               p.d_model, angle, std::sin(angle)));
  }
  report.figure({.name = "encoding",
                 .title = "Sinusoidal encodings",
                 .kind = FigureKind::heat_map,
                 .data = {"whole"},
                 .x_axis = {"dimension"},
                 .y_axis = {"position"},
                 .domain = {{-1, 1}},
                 .caption = "Pairs of dimensions turn at geometrically spaced frequencies. Vaswani et al. "
                            "2017, section 3.5."});
  check_similarity(report, context);
  return report;
}

}  // namespace

Experiment sinusoidal_experiment() {
  return make_experiment<Params>(
      {.name = "sinusoidal",
       .title = "Sinusoidal positional encodings",
       .summary = "fixed encodings of positions, sines and cosines",
       .section = "Positional information",
       .source = "Vaswani et al. 2017, section 3.5",
       .purpose = "Computes the encodings of the original transformer and prints the first of them.",
       .examples = {"attnlab sinusoidal", "attnlab sinusoidal --seq-len 128 --d-model 64 --format csv --wide",
                    "attnlab sinusoidal --base 100 --explain"},
       .claims = {{"listing", "the printed encodings are the lesson's, to its three decimals"},
                  {"rotation",
                   "the encoding some positions on is this one's with each pair turned by a fixed angle"},
                  {"same-length", "every encoding has the length sqrt(d_model / 2)"},
                  {"offset-alone", "the dot product of two encodings depends on their offset alone"},
                  {"unique", "no two positions have the same encoding"},
                  {"geometric", "the frequencies of the pairs are geometrically spaced"},
                  {"nearby-alike",
                   "nearby positions are alike: the dot product falls with the offset as recorded"}},
       .breakages = {{"halves", "sines and cosines stand in two halves instead of alternating"},
                     {"sines-only", "the cosines are left out"},
                     {"one-encoding", "every position gets the encoding of the first"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments

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
Matrix encode(const Params& p, const Context& context) {
  Matrix whole = sinusoidal(p.seq_len, p.d_model, p.base);
  if (!context.breaks("halves")) return whole;
  const Matrix right = whole;  // sines in the first half, cosines in the second
  const std::size_t sines = (p.d_model + 1) / 2;
  for (std::size_t i = 0; i < p.seq_len; ++i) {
    for (std::size_t j = 0; j < p.d_model; ++j) {
      whole(i, j % 2 == 0 ? j / 2 : sines + j / 2) = right(i, j);
    }
  }
  return whole;
}

// PE(position + 1) from PE(position) by turning each pair by its own angle, which does not depend on the
// position.
double largest_rotation_error(const Matrix& encoding, double base) {
  double worst = 0;
  const std::size_t pairs = encoding.shape(1) / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const double angle =
        std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(encoding.shape(1)));
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    for (std::size_t i = 0; i + 1 < encoding.shape(0); ++i) {
      const double sine = encoding(i, 2 * pair);
      const double cosine = encoding(i, 2 * pair + 1);
      worst = std::max({worst, std::abs(encoding(i + 1, 2 * pair) - (sine * c + cosine * s)),
                        std::abs(encoding(i + 1, 2 * pair + 1) - (cosine * c - sine * s))});
    }
  }
  return worst;
}

Report run(const Params& params, const Context& context) {
  Params p = params;
  if (!context.tokens.empty()) p.seq_len = context.tokens.size();
  Report report("Sinusoidal positional encodings");
  const Matrix whole = encode(p, context);
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
  report.check({.id = "rotation", .measured = largest_rotation_error(whole, p.base), .tolerance = 1e-9});
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
                   "the encoding of the next position is this one's with each pair turned by a fixed angle"}},
       .breakages = {{"halves", "sines and cosines stand in two halves instead of alternating"}},
       .lesson_listing = true},
      declare, run);
}

}  // namespace attnlab::experiments

// Rotary frequencies stretched for longer texts than a model was trained on.
//
// Each pair of dimensions has a wavelength, from 2 pi tokens to tens of thousands. Pairs whose wavelength
// exceeds the trained length have never made a full turn, so further positions show them new angles. The
// scalings lower the slow frequencies and differ in what they do to the fast ones; all keep scores a function
// of the offset.
//
//   frequency, wavelength: [head_dim / 2], wavelength = 2 pi / frequency in tokens
//
// Source: Chen et al., "Extending Context Window of Large Language Models via Positional Interpolation"
// (2023), section 3; Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models" (2023),
// section 3.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/positions.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t head_dim = 128;
  double base = 10000;
  double factor = 8;
  std::size_t trained_length = 2048;
};

void declare(OptionSet& options, Params& p) {
  options.integer("head-dim", p.head_dim, 4, 1024, "width of a head, even");
  options.real("base", p.base, 1.1, 1e12, "base of the frequencies");
  options.real("factor", p.factor, 1.001, 1024, "how many times longer texts may become");
  options.integer("trained-length", p.trained_length, 16, 1 << 20, "tokens of the texts it was trained on")
      .short_form('T');
}

const std::vector<std::pair<std::string, ScalingKind>> kinds = {
    {"none", ScalingKind::none},       {"linear", ScalingKind::linear}, {"ntk", ScalingKind::ntk},
    {"dynamic", ScalingKind::dynamic}, {"yarn", ScalingKind::yarn},     {"llama3", ScalingKind::llama3}};

Rope scaled_rope(const Params& p, ScalingKind kind, double factor, double length, const Context& context) {
  RopeScaling scaling;
  scaling.kind = kind;
  if (context.breaks("unscaled")) scaling.kind = ScalingKind::none;
  if (context.breaks("always-linear") && kind != ScalingKind::none) scaling.kind = ScalingKind::linear;
  scaling.factor = factor;
  scaling.original_length = static_cast<double>(p.trained_length);
  scaling.length = length;
  const double base = context.breaks("smaller-base") ? p.base / 2 : p.base;
  return make_rope(p.head_dim, RopeStyle::interleaved, base, scaling);
}

Rope plain_rope(const Params& p, const Context& context) {
  return scaled_rope(p, ScalingKind::none, 1, static_cast<double>(p.trained_length), context);
}

double wavelength(const Rope& rope, std::size_t pair) {
  return static_cast<double>(2 * std::numbers::pi_v<long double> / rope.inv_freq[pair]);
}

// Scores of one offset at several places must agree.
double spread_at_one_offset(const Rope& rope, std::size_t width, Generator& rng, bool absolute) {
  const Vector query = normal_vector(rng, width);
  const Vector key = normal_vector(rng, width);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double place : {0.0, 10.0, 1000.0, 30000.0}) {
    Vector turned_query = query;
    Vector turned_key = key;
    rotate(elements(turned_query), place + 7, rope);
    rotate(elements(turned_key), absolute ? 0 : place, rope);
    const double score = dot(elements(turned_query), elements(turned_key));
    low = std::min(low, score);
    high = std::max(high, score);
  }
  return high - low;
}

// Kept, blended and divided pairs by turns made in the trained length: more than 32, in between, less than 1.
struct Parts {
  std::size_t kept = 0, blended = 0, divided = 0;
};

Parts parts_by_turns(const Rope& plain, double trained_length) {
  Parts parts;
  for (std::size_t pair = 0; pair < plain.inv_freq.size(); ++pair) {
    const double turns = trained_length / wavelength(plain, pair);
    ++(turns > 32 ? parts.kept : turns < 1 ? parts.divided : parts.blended);
  }
  return parts;
}

// The last pair that the released code keeps, the first that it divides fully, and how far its ramp in the
// pair's number lies from the paper's ramp in turns.
struct ReleasedRamp {
  std::size_t last_kept = 0, first_divided = 0;
  double from_paper = 0;
};

ReleasedRamp released_ramp(const Rope& plain, const Rope& yarn, double factor, double trained_length) {
  ReleasedRamp ramp;
  ramp.first_divided = plain.inv_freq.size();
  for (std::size_t pair = 0; pair < plain.inv_freq.size(); ++pair) {
    const auto ratio = static_cast<double>(yarn.inv_freq[pair] / plain.inv_freq[pair]);
    if (ratio > 1 - 1e-12) ramp.last_kept = pair;
    if (ratio < 1 / factor + 1e-12) ramp.first_divided = std::min(ramp.first_divided, pair);
    const double turns = trained_length / wavelength(plain, pair);
    const double kept_in_paper = std::clamp((turns - 1) / 31, 0.0, 1.0);
    const double kept_in_code = (ratio - 1 / factor) / (1 - 1 / factor);
    ramp.from_paper = std::max(ramp.from_paper, std::abs(kept_in_code - kept_in_paper));
  }
  return ramp;
}

void add_wavelengths(Report& report, const Params& p, const Context& context) {
  Table table{
      "wavelengths",
      fmt::format("Wavelength of each pair in tokens, factor {}", p.factor),
      {{"pair"}, {"none"}, {"linear"}, {"ntk"}, {"dynamic"}, {"yarn"}, {"llama3"}, {"trained_length"}}};
  const double length = p.factor * static_cast<double>(p.trained_length);
  std::vector<Rope> ropes;
  ropes.reserve(kinds.size());
  for (const auto& [name, kind] : kinds) ropes.push_back(scaled_rope(p, kind, p.factor, length, context));
  for (std::size_t pair = 0; pair < p.head_dim / 2; ++pair) {
    std::vector<Cell> row{static_cast<std::int64_t>(pair)};
    for (const Rope& rope : ropes) row.emplace_back(wavelength(rope, pair));
    row.emplace_back(static_cast<double>(p.trained_length));
    table.rows.push_back(std::move(row));
  }
  report.data(std::move(table));
  report.figure(
      {.name = "wavelengths",
       .title = "Wavelengths of the pairs under each scaling",
       .kind = FigureKind::line,
       .data = {"wavelengths"},
       .x_column = "pair",
       .series = {{"none"},
                  {"linear"},
                  {"ntk"},
                  {"yarn"},
                  {"llama3"},
                  {.column = "trained_length", .label = "trained length", .theory = true}},
       .x_axis = {"pair of dimensions"},
       .y_axis = {"wavelength", "tokens", Scale::log10},
       .caption = "All lengthen the slow waves; ntk, yarn and llama3 leave the fast ones. Chen et al. 2023; "
                  "Peng et al. 2023, section 3."});
}

// What holds for any width, base, factor and length.
void check_scalings(Report& report, const Params& p, const Context& context, Generator& rng) {
  const auto trained = static_cast<double>(p.trained_length);
  const Rope plain = plain_rope(p, context);
  const std::size_t last = plain.inv_freq.size() - 1;
  Table table{"scalings",
              fmt::format("What happens to the fastest and the slowest pair, factor {}, trained on {} tokens",
                          p.factor, p.trained_length),
              {{"scaling"}, {"fastest_divided_by"}, {"slowest_divided_by"}, {"attention_factor"}}};
  for (const auto& [name, kind] : kinds) {
    const Rope rope = scaled_rope(p, kind, p.factor, p.factor * trained, context);
    const auto divided_by = [&](std::size_t pair) {
      return static_cast<double>(plain.inv_freq[pair] / rope.inv_freq[pair]);
    };
    table.rows.push_back({name, divided_by(0), divided_by(last), rope.attention_factor});
    report.check({.id = "relative",
                  .label = name,
                  .measured = spread_at_one_offset(rope, p.head_dim, rng, context.breaks("absolute")),
                  .tolerance = 1e-9});
    if (kind == ScalingKind::linear) {
      report.check({.id = "linear-divides-all",
                    .measured = std::abs(divided_by(0) - p.factor) + std::abs(divided_by(last) - p.factor),
                    .tolerance = 1e-9});
    }
    if (kind == ScalingKind::ntk) {
      report.check(
          {.id = "ntk-keeps-the-fastest", .measured = divided_by(0), .expected = 1, .tolerance = 1e-12});
      report.check({.id = "ntk-divides-the-slowest",
                    .measured = divided_by(last),
                    .expected = p.factor,
                    .tolerance = 1e-9});
    }
    if (kind == ScalingKind::llama3) {
      double worst = 0;  // waves shorter than a quarter of the trained length are kept, longer ones divided
      for (std::size_t pair = 0; pair <= last; ++pair) {
        const double wave = wavelength(plain, pair);
        if (wave < trained / 4) worst = std::max(worst, std::abs(divided_by(pair) - 1));
        if (wave > trained) worst = std::max(worst, std::abs(divided_by(pair) - p.factor));
      }
      report.check({.id = "llama3-ends", .measured = worst, .tolerance = 1e-9});
    }
  }
  report.table(std::move(table));
  const Rope dynamic = scaled_rope(p, ScalingKind::dynamic, p.factor, trained, context);
  double change = 0;
  for (std::size_t pair = 0; pair <= last; ++pair) {
    change = std::max(change, static_cast<double>(std::abs(dynamic.inv_freq[pair] - plain.inv_freq[pair])));
  }
  report.check({.id = "dynamic-waits", .measured = change});
}

// Figures that are printed or recorded for a width of 128 and a base of 10,000, whatever was asked for.
void check_recorded_waves(Report& report, const Context& context) {
  Params p;
  const Rope plain = plain_rope(p, context);
  report.check({.id = "wavelength",
                .label = "shortest",
                .measured = wavelength(plain, 0),
                .expected = 2 * std::numbers::pi,
                .tolerance = 1e-12});
  report.check({.id = "wavelength",
                .label = "longest",
                .measured = wavelength(plain, 63),
                .expected = 54410.14,
                .tolerance = 0.01});
  Table table{"ranges",
              "Pairs of 128 dimensions, base 10,000: kept, blended and divided by the paper's ramp, and the "
              "released code's "
              "bounds",
              {{"trained_length"},
               {"longer_than_trained"},
               {"kept"},
               {"blended"},
               {"divided"},
               {"last_kept_in_code"},
               {"first_divided_in_code"},
               {"ramps_differ_by"}}};
  struct Recorded {
    std::size_t trained_length, longer, kept, blended, divided, last_kept, first_divided;
  };
  for (const Recorded& r : {Recorded{2048, 23, 17, 24, 23, 16, 41}, Recorded{4096, 18, 21, 25, 18, 20, 46}}) {
    p.trained_length = r.trained_length;
    const auto trained = static_cast<double>(r.trained_length);
    const Parts parts = parts_by_turns(plain, trained);
    const Rope yarn = scaled_rope(p, ScalingKind::yarn, 8, trained, context);
    const ReleasedRamp ramp = released_ramp(plain, yarn, 8, trained);
    std::size_t longer = 0;
    for (std::size_t pair = 0; pair < 64; ++pair) longer += wavelength(plain, pair) > trained ? 1 : 0;
    const auto integer = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    table.rows.push_back({integer(r.trained_length), integer(longer), integer(parts.kept),
                          integer(parts.blended), integer(parts.divided), integer(ramp.last_kept),
                          integer(ramp.first_divided), ramp.from_paper});
    const auto exactly = [&](const char* id, const std::string& label, std::size_t got, std::size_t want) {
      report.check({.id = id,
                    .label = fmt::format("{}{}", r.trained_length, label),
                    .measured = static_cast<double>(got),
                    .expected = static_cast<double>(want)});
    };
    exactly("longer-than-trained", "", longer, r.longer);
    exactly("yarn-parts", "-kept", parts.kept, r.kept);
    exactly("yarn-parts", "-blended", parts.blended, r.blended);
    exactly("yarn-parts", "-divided", parts.divided, r.divided);
    exactly("yarn-code", "-last-kept", ramp.last_kept, r.last_kept);
    exactly("yarn-code", "-first-divided", ramp.first_divided, r.first_divided);
  }
  report.table(std::move(table));
}

void check_recorded_factors(Report& report, const Context& context) {
  const Params p;
  Table table{"factors",
              "Stretched 2 to 16 times, 128 dimensions, base 10,000",
              {{"factor"}, {"ntk_base"}, {"yarn_attention_factor"}}};
  struct Recorded {
    double factor, base, attention;
  };
  for (const Recorded& r : {Recorded{2, 20221, 1.069}, Recorded{4, 40890, 1.139}, Recorded{8, 82685, 1.208},
                            Recorded{16, 167199, 1.277}}) {
    const Rope ntk = scaled_rope(p, ScalingKind::ntk, r.factor, 2048, context);
    const Rope yarn = scaled_rope(p, ScalingKind::yarn, r.factor, 2048, context);
    // The second frequency is base^(-2/128), so its power -64 gives the base back.
    const auto base = static_cast<double>(std::pow(ntk.inv_freq[1], -64.0L));
    table.rows.push_back({r.factor, base, yarn.attention_factor});
    const std::string label = fmt::format("{}", r.factor);
    report.check({.id = "ntk-base", .label = label, .measured = base, .expected = r.base, .tolerance = 0.5});
    report.check({.id = "yarn-temperature",
                  .label = label,
                  .measured = yarn.attention_factor,
                  .expected = r.attention,
                  .tolerance = 0.0005});
  }
  report.table(std::move(table));
}

// The bound of the error of interpolation against that of extrapolation: 32 ln(base) times the smallest mean
// |S_j| up to a length.
void check_interpolation(Report& report, const Context& context) {
  const Params p;
  const Rope plain = plain_rope(p, context);
  Table table{"interpolation",
              "How many times smaller the bound of interpolation is than that of extrapolation",
              {{"up_to_length"}, {"ratio"}, {"printed"}}};
  double smallest = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<int, double>> recorded = {{2048, 830}, {4096, 658}, {8192, 521}};
  int offset = 0;
  for (const auto& [length, expected] : recorded) {
    for (; offset <= length; ++offset) smallest = std::min(smallest, rope_decay(plain, offset));
    const double ratio = 32 * std::log(p.base) * smallest;
    table.rows.push_back({std::int64_t{length}, ratio, 600.0});
    const std::string label = fmt::format("{}", length);
    report.check({.id = "interpolation-ratio",
                  .label = label,
                  .measured = ratio,
                  .expected = expected,
                  .tolerance = 1});
    report.check({.id = "interpolation-600",
                  .label = label,
                  .measured = ratio,
                  .relation = Relation::at_least,
                  .expected = 600,
                  .near_tolerance = 100,
                  .reason = "the printed 600 holds up to about 4,000 tokens and not at 8,192"});
  }
  report.table(std::move(table));
}

Report run(const Params& p, const Context& context) {
  if (p.head_dim % 2 != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("--head-dim: {} is odd; rotary pairs need an even width", p.head_dim));
  }
  Report report("Rotary frequencies for longer texts");
  Generator rng = context.rng();
  check_scalings(report, p, context, rng);
  check_recorded_waves(report, context);
  check_recorded_factors(report, context);
  check_interpolation(report, context);
  add_wavelengths(report, p, context);
  report.explain(
      fmt::format("pair i has frequency {}^(-2i/{}) and wavelength 2 pi / frequency", p.base, p.head_dim));
  report.explain(fmt::format(
      "ntk base = {} * {}^({}/{}) = {:.2f}", p.base, p.factor, p.head_dim, p.head_dim - 2,
      p.base * std::pow(p.factor, static_cast<double>(p.head_dim) / (static_cast<double>(p.head_dim) - 2))));
  report.explain(
      "yarn: the paper blends linearly in turns made in the trained length, the released code linearly in "
      "the "
      "pair's number");
  return report;
}

}  // namespace

Experiment rope_scaling_experiment() {
  return make_experiment<Params>(
      {.name = "rope-scaling",
       .title = "Rotary frequencies for longer texts",
       .summary = "linear, ntk, dynamic, yarn and llama3 scaling of rotary frequencies",
       .section = "Positional information",
       .source = "Chen et al. 2023, section 3; Peng et al. 2023, section 3",
       .purpose = "Stretches the rotary frequencies of a model for texts longer than it was trained on and "
                  "prints what each "
                  "scaling does to fast and slow pairs, with the figures of the papers recomputed.",
       .examples = {"attnlab rope-scaling",
                    "attnlab rope-scaling --factor 32 --trained-length 8192 --base 500000",
                    "attnlab rope-scaling --table wavelengths --format csv"},
       .claims =
           {{"relative", "scores at one offset are the same wherever query and key stand"},
            {"linear-divides-all", "linear scaling divides every frequency by the factor",
             "Chen et al. 2023, section 3.1"},
            {"ntk-keeps-the-fastest", "ntk scaling leaves the fastest pair as it is",
             "Peng et al. 2023, section 3.1"},
            {"ntk-divides-the-slowest", "ntk scaling divides the slowest pair by the factor",
             "Peng et al. 2023, section 3.1"},
            {"llama3-ends",
             "llama3 scaling keeps waves shorter than a quarter of the trained length and divides longer "
             "ones than it",
             "Llama 3.1 configuration, 2024"},
            {"dynamic-waits", "dynamic scaling changes nothing up to the trained length"},
            {"wavelength", "wavelengths of 128 dimensions reach from 2 pi to 54,410 tokens",
             "Su et al. 2021, section 3.2.2"},
            {"longer-than-trained",
             "23 of 64 pairs have waves longer than 2,048 tokens, 18 longer than 4,096",
             "Peng et al. 2023, section 3.2"},
            {"yarn-parts", "yarn's ramp keeps, blends and divides the recorded numbers of pairs",
             "Peng et al. 2023, section 3.2"},
            {"yarn-code",
             "the ramp of yarn's released code, linear in the pair's number, has the recorded bounds",
             "Peng et al. 2023, released code"},
            {"ntk-base", "ntk scaling uses the base b * s^(d / (d - 2))", "Peng et al. 2023, section 3.1"},
            {"yarn-temperature", "yarn multiplies sines and cosines by 0.1 ln(factor) + 1",
             "Peng et al. 2023, section 3.4"},
            {"interpolation-ratio",
             "the bounds of extrapolation and interpolation stand in the recomputed ratio",
             "Chen et al. 2023, section 3.3"},
            {"interpolation-600", "interpolation is bounded about 600 times more tightly than extrapolation",
             "Chen et al. 2023, section 3.3"}},
       .breakages = {{"unscaled", "the frequencies are left as they are"},
                     {"absolute", "the key is not rotated"},
                     {"smaller-base", "half the base is used"},
                     {"always-linear", "every scaling divides all frequencies"}}},
      declare, run);
}

}  // namespace attnlab::experiments

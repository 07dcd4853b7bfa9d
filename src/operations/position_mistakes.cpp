// What goes wrong with positions: rotary embedding and its scalings wherever they occur, ALiBi, sinusoidal
// encodings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "io/half.hpp"
#include "operations/attention_call.hpp"
#include "operations/rope_use.hpp"

namespace attnlab {
namespace {

void turn_heads(Matrix& packed, std::size_t num_heads, const RopeUse& use,
                const std::vector<double>& positions) {
  std::vector<Matrix> heads;
  for (std::size_t head = 0; head < num_heads; ++head)
    heads.push_back(use.turn(head_columns(packed, head, num_heads), positions, use.rope));
  packed = concatenated(heads);
}

// In an attention: its heads get the changed embedding. Faults of one attention change it one after the
// other.
AttentionMistake rope_in_attention(const RopeChange& change) {
  return {.heads = [change](AttentionCall& call, HeadsOptions& heads) {
    if (!heads.rope) return false;
    RopeUse use;
    use.params = call.params.rotary;
    use.params.style = heads.rope->style;
    use.width = call.key_width();
    use.rope = *heads.rope;
    use.query_positions = heads.query_positions;
    use.key_positions = heads.key_positions;
    if (!change(use)) return false;
    call.params.rotary = use.params;
    heads.rope = use.rope;
    heads.query_positions = use.query_positions;
    heads.key_positions = use.key_positions;
    if (use.turn != rotated) {
      if (heads.qk_norm) return false;  // the norm comes first
      turn_heads(call.query.own(), heads.num_heads, use, use.query_positions);
      turn_heads(call.key.own(), heads.num_kv_heads, use, use.key_positions);
      heads.rope.reset();
    }
    const double factor = use.query_factor * use.key_factor;
    if (factor == 1) return true;
    const auto options_of = heads.options_of;
    heads.options_of = [options_of, factor, scale = call.scale()](std::size_t head) {
      AttentionOptions own = options_of(head);
      own.scale = own.scale.value_or(scale) * factor;
      return own;
    };
    return true;
  }};
}

const std::vector<std::string> rotated_anywhere = {
    "rope", "rope-score", "rope-frequencies", "attention", "multi-head", "block", "kv-decode"};

Mistake rope_mistake(std::string name, std::string why, std::string remedy, const RopeChange& change,
                     std::string right_when = {}) {
  Mistake mistake{std::move(name),   rotated_anywhere,      std::move(why),
                  std::move(remedy), std::move(right_when), {}};
  const auto in_attention = std::make_shared<const AttentionMistake>(rope_in_attention(change));
  mistake.commit = [change, in_attention](Trial& trial) {
    if (trial.operation().name.starts_with("rope")) {
      trial.rope.push_back(change);
    } else {
      trial.attention.push_back(in_attention);
    }
    return true;
  };
  return mistake;
}

bool scaled_as(const RopeUse& use, ScalingKind kind) { return use.params.scaling.kind == kind; }

RopeChange base_of(double (*base)(const RopeUse&)) {
  return [base](RopeUse& use) {
    const double wrong = base(use);
    if (wrong == use.params.base || !(wrong > 0)) return false;
    use.params.base = wrong;
    return use.remake();
  };
}

// Numbers held in another type.
RopeChange held_as(double (*round)(double)) {
  return [round](RopeUse& use) {
    for (long double& frequency : use.rope.inv_freq) frequency = round(static_cast<double>(frequency));
    for (double& position : use.query_positions) position = round(position);
    for (double& position : use.key_positions) position = round(position);
    return !use.key_positions.empty();
  };
}

// As `rotated`, with frequencies, angles, cosines and sines as floats.
Matrix turned_in_single(const Matrix& x, const std::vector<double>& positions, const Rope& rope) {
  Matrix turned = x;
  const std::size_t num_pairs = rope.inv_freq.size();
  const bool interleaved = rope.style == RopeStyle::interleaved;
  for (std::size_t row = 0; row < x.shape(0); ++row) {
    for (std::size_t pair = 0; pair < num_pairs; ++pair) {
      double& first = turned(row, interleaved ? 2 * pair : pair);
      double& second = turned(row, interleaved ? 2 * pair + 1 : pair + num_pairs);
      const float angle = static_cast<float>(positions[row]) * static_cast<float>(rope.inv_freq[pair]);
      const double cosine = rope.attention_factor * std::cos(angle);
      const double sine = rope.attention_factor * std::sin(angle);
      const double kept = first;
      first = kept * cosine - second * sine;
      second = kept * sine + second * cosine;
    }
  }
  return turned;
}

double rotary_width(const RopeUse& use) { return static_cast<double>(use.params.width.value_or(use.width)); }

// The blend of Llama 3 with a weight that is linear in the wavelength.
bool blend_in_wavelength(RopeUse& use) {
  if (!scaled_as(use, ScalingKind::llama3)) return false;
  const RopeScaling& scaling = use.params.scaling;
  use.rope.inv_freq = rope_frequencies(use.params.width.value_or(use.width), use.params.base);
  const double longest = scaling.original_length / scaling.low_freq_factor;
  const double shortest = scaling.original_length / scaling.high_freq_factor;
  for (long double& frequency : use.rope.inv_freq) {
    const double wavelength = 2 * std::acos(-1.0) / static_cast<double>(frequency);
    const double kept = std::clamp((longest - wavelength) / (longest - shortest), 0.0, 1.0);
    frequency = frequency * kept + frequency / scaling.factor * (1 - kept);
  }
  return true;
}

Mistake simple(std::string name, std::vector<std::string> operations, std::string why, std::string remedy,
               std::function<bool(Trial&)> commit, std::string right_when = {}) {
  return {std::move(name),   std::move(operations), std::move(why),
          std::move(remedy), std::move(right_when), std::move(commit)};
}

std::vector<Mistake> rope_mistakes() {
  return {
      rope_mistake(
          "rope-pairs",
          "the other columns are paired: (i, i + width/2) for (0, 1), (2, 3).. or the other way round",
          "pair columns as the weights were trained, or permute them once (--style)",
          [](RopeUse& use) {
            use.rope.style = use.rope.style == RopeStyle::half ? RopeStyle::interleaved : RopeStyle::half;
            return true;
          },
          "for weights stored in the other layout"),
      simple(
          "rope-columns-not-permuted", {"rope"},
          "the columns keep the order of the other pairing, so other columns turn together",
          "permute the columns once when the pairing changes: even ones first, then odd ones, for halves",
          [](Trial& trial) {
            const Matrix x = trial.inputs.matrix("x");
            const std::size_t turning =
                static_cast<std::size_t>(trial.number("rotary-dim", static_cast<double>(x.shape(1))));
            const std::vector<std::size_t> order = interleaved_to_half(turning, x.shape(1));
            Matrix moved = x;
            for (std::size_t row = 0; row < x.shape(0); ++row) {
              for (std::size_t to = 0; to < order.size(); ++to) {
                if (trial.option("style") == "half") {
                  moved(row, order[to]) = x(row, to);
                } else {
                  moved(row, to) = x(row, order[to]);
                }
              }
            }
            trial.inputs.set("x", to_array(moved));
            return true;
          },
          "for weights stored in the other layout"),
      rope_mistake("rope-missing", "queries and keys are not rotated, so order is lost",
                   "rotate queries and keys before the scores",
                   [](RopeUse& use) {
                     std::fill(use.rope.inv_freq.begin(), use.rope.inv_freq.end(), 0.0L);
                     return true;
                   }),
      rope_mistake("rope-positions-from-1", "positions count from 1", "count positions from 0",
                   [](RopeUse& use) {
                     for (double& position : use.query_positions) position += 1;
                     for (double& position : use.key_positions) position += 1;
                     return true;
                   }),
      rope_mistake("rope-query-restart", "the queries after a cache are rotated as positions 0, 1 and so on",
                   "add the length of the cache to the positions of new queries",
                   [](RopeUse& use) {
                     if (use.query_positions.empty()) return false;
                     use.query_positions = counted_positions(use.query_positions.size());
                     return true;
                   }),
      rope_mistake("rope-keys-not-rotated",
                   "only the queries are rotated, so scores depend on the absolute position",
                   "rotate the keys as well",
                   [](RopeUse& use) {
                     if (use.query_positions.empty()) return false;
                     std::fill(use.key_positions.begin(), use.key_positions.end(), 0.0);
                     return true;
                   }),
      rope_mistake("rope-queries-not-rotated",
                   "only the keys are rotated, so scores depend on the absolute position",
                   "rotate the queries as well",
                   [](RopeUse& use) {
                     if (use.query_positions.empty()) return false;
                     std::fill(use.query_positions.begin(), use.query_positions.end(), 0.0);
                     return true;
                   }),
      rope_mistake(
          "rope-angle-sign", "the sines have the other sign, so vectors turn backwards",
          "first' = first cos - second sin, second' = second cos + first sin",
          [](RopeUse& use) {
            for (long double& frequency : use.rope.inv_freq) frequency = -frequency;
            return true;
          },
          "for queries and keys alike: then scores are those of swapped positions"),
      rope_mistake("rope-base-default", "the base is 10000 and not the model's",
                   "take the base from the configuration (rope_theta)",
                   base_of([](const RopeUse&) { return 10000.0; })),
      rope_mistake("rope-exponent-halved", "the exponent is i/d and not 2i/d",
                   "frequencies are base^(-2i/d) for i in 0 .. d/2 - 1",
                   base_of([](const RopeUse& use) { return std::sqrt(use.params.base); })),
      rope_mistake("rope-width-of-head", "the frequencies of a partial rotation are those of the whole head",
                   "d in base^(-2i/d) is the rotary width", base_of([](const RopeUse& use) {
                     return std::pow(use.params.base, rotary_width(use) / static_cast<double>(use.width));
                   })),
      rope_mistake("rope-partial-ignored", "all columns rotate where only the first ones should",
                   "rotate the rotary width and leave the other columns",
                   [](RopeUse& use) {
                     if (!use.params.width || *use.params.width == use.width) return false;
                     use.params.width.reset();
                     return use.remake();
                   }),
      rope_mistake("rope-float32-angles", "angles in single precision drift at far positions",
                   "form angles in double precision",
                   [](RopeUse& use) {
                     use.turn = turned_in_single;
                     return !use.key_positions.empty();
                   }),
      rope_mistake("rope-bfloat16-angles",
                   "frequencies and positions in 16-bit brain floats: whole positions are lost",
                   "form angles in single precision at least",
                   held_as([](double x) { return to_double(to_bfloat16(x)); })),
      rope_mistake(
          "rope-scaling-ignored", "the scaling of the configuration is not used",
          "apply rope_scaling to the frequencies",
          [](RopeUse& use) {
            if (scaled_as(use, ScalingKind::none)) return false;
            use.params.scaling.kind = ScalingKind::none;
            return use.remake();
          },
          "within the trained length"),
      rope_mistake("rope-factor-inverted", "the factor multiplies where it should divide",
                   "divide frequencies (or positions) by the factor",
                   [](RopeUse& use) {
                     if (use.params.scaling.factor == 1 || scaled_as(use, ScalingKind::none)) return false;
                     use.params.scaling.factor = 1 / use.params.scaling.factor;
                     return use.remake();
                   }),
      rope_mistake("ntk-base-times-factor", "the base is multiplied by the factor itself",
                   "multiply the base by factor^(d/(d-2))",
                   [](RopeUse& use) {
                     if (!scaled_as(use, ScalingKind::ntk)) return false;
                     use.params.base *= use.params.scaling.factor;
                     use.params.scaling.kind = ScalingKind::none;
                     return use.remake();
                   }),
      rope_mistake(
          "dynamic-ntk-fixed", "the base is that of the full extended length whatever the text's length",
          "compute the base from the current length",
          [](RopeUse& use) {
            RopeScaling& scaling = use.params.scaling;
            if (!scaled_as(use, ScalingKind::dynamic)) return false;
            scaling.length = scaling.factor * scaling.original_length;
            return use.remake();
          },
          "at the full extended length"),
      rope_mistake("dynamic-ntk-below-length",
                   "the formula is used below the trained length, where it shrinks the base",
                   "use the plain base up to the trained length",
                   [](RopeUse& use) {
                     const RopeScaling& scaling = use.params.scaling;
                     const double length = scaling.length.value_or(scaling.original_length);
                     if (!scaled_as(use, ScalingKind::dynamic) || length >= scaling.original_length)
                       return false;
                     const double stretch =
                         scaling.factor * length / scaling.original_length - (scaling.factor - 1);
                     const double width = rotary_width(use);
                     const double base = use.params.base * std::pow(stretch, width / (width - 2));
                     for (std::size_t i = 0; i < use.rope.inv_freq.size(); ++i)
                       use.rope.inv_freq[i] = std::pow(base, -2 * static_cast<double>(i) / width);
                     return true;
                   }),
      rope_mistake("yarn-factor-twice", "the attention factor is applied to cosines and sines and once more",
                   "multiply cosines and sines by the attention factor once",
                   [](RopeUse& use) {
                     use.rope.attention_factor *= use.rope.attention_factor;
                     return true;
                   }),
      rope_mistake("yarn-factor-missing", "cosines and sines are not multiplied by the attention factor",
                   "multiply them by 0.1 ln(factor) + 1",
                   [](RopeUse& use) { return std::exchange(use.rope.attention_factor, 1) != 1; }),
      rope_mistake("yarn-factor-without-one", "the attention factor is 0.1 ln(factor) without the 1",
                   "multiply cosines and sines by 0.1 ln(factor) + 1",
                   [](RopeUse& use) {
                     use.rope.attention_factor -= 1;
                     return scaled_as(use, ScalingKind::yarn);
                   }),
      rope_mistake("yarn-factor-on-queries", "the attention factor multiplies the queries only",
                   "multiply the cosines and sines of queries and keys",
                   [](RopeUse& use) {
                     use.key_factor = 1 / use.rope.attention_factor;
                     return use.key_factor != 1 && !use.query_positions.empty();
                   }),
      rope_mistake("llama3-blend-in-wavelength",
                   "the blend between kept and divided frequencies is linear in the wavelength",
                   "blend by trained length / wavelength: (L0/wavelength - low)/(high - low)",
                   blend_in_wavelength),
  };
}

// --- ALiBi, sinusoidal encodings, counted positions

// The result of that name computed anew from itself.
std::function<bool(Trial&)> result_as(const std::string& name,
                                      const std::function<void(const Trial&, Array&)>& change) {
  return [name, change](Trial& trial) {
    trial.afterwards.push_back([name, change](const Trial& call, Results& results) {
      for (NamedResult& result : results) {
        if (result.name == name) change(call, std::get<Array>(result.value));
      }
    });
    return true;
  };
}

// ALiBi with `bias(query, key)` times the slope where -|query - key| is right.
std::function<bool(Trial&)> alibi_as(double (*bias)(double query, double key)) {
  const auto heads_with = [bias](AttentionCall& call, HeadsOptions& heads) {
    if (!call.params.alibi && !call.params.alibi_slope) return false;
    AttentionCall plain = call;
    plain.params.alibi = false;
    plain.params.alibi_slope.reset();
    const std::vector<double> slopes =
        call.params.alibi ? alibi_slopes(call.params.num_heads)
                          : std::vector<double>(call.params.num_heads, *call.params.alibi_slope);
    const std::vector<double> queries = heads.query_positions;
    const std::vector<double> keys = heads.key_positions;
    heads.options_of = [=, options_of = plain.options().options_of](std::size_t head) {
      AttentionOptions own = options_of(head);
      Matrix added = own.bias.value_or(zeros(queries.size(), keys.size()));
      for (std::size_t i = 0; i < queries.size(); ++i) {
        for (std::size_t j = 0; j < keys.size(); ++j) added(i, j) += slopes[head] * bias(queries[i], keys[j]);
      }
      own.bias = added;
      return own;
    };
    return true;
  };
  return [shared =
              std::make_shared<const AttentionMistake>(AttentionMistake{.heads = heads_with})](Trial& trial) {
    trial.attention.push_back(shared);
    return true;
  };
}

void slopes_from(double first_exponent, const Trial& call, Array& slopes) {
  const double heads = call.number("heads");
  for (std::size_t h = 0; h < slopes.values.size(); ++h)
    slopes.values[h] = std::exp2(-8 * (static_cast<double>(h) + first_exponent) / heads);
}

// Encodings with another angle or another place of sines and cosines.
std::function<bool(Trial&)> sinusoidal_as(double (*element)(double position, std::size_t column,
                                                            std::size_t width, double base)) {
  return result_as("output", [element](const Trial& call, Array& output) {
    const std::size_t width = output.shape[1];
    const double base = call.number("base", 10000);
    for (std::size_t position = 0; position < output.shape[0]; ++position) {
      for (std::size_t column = 0; column < width; ++column) {
        output.values[position * width + column] =
            element(static_cast<double>(position), column, width, base);
      }
    }
  });
}

// i of a formula with the columns 2i and 2i + 1.
double pair_of(std::size_t column) {
  const std::size_t pair = column / 2;
  return static_cast<double>(pair);
}

double wave(double angle, bool sine) { return sine ? std::sin(angle) : std::cos(angle); }

std::vector<Mistake> other_mistakes() {
  const std::vector<std::string> attentions = {"attention", "multi-head", "block"};
  return {
      simple("alibi-sign", attentions, "distance is added to the scores, so far keys are favoured",
             "subtract slope * distance",
             alibi_as([](double query, double key) { return std::fabs(query - key); })),
      simple("alibi-signed-offset", attentions,
             "the signed offset rewards later keys where the distance should punish them",
             "subtract slope * |query position - key position|",
             alibi_as([](double query, double key) { return key - query; }), "with a causal mask"),
      simple("alibi-missing", attentions, "no distance is subtracted from the scores",
             "subtract slope * distance", alibi_as([](double, double) { return 0.0; })),
      simple("alibi-slopes-geometric", {"alibi-slopes"},
             "one geometric sequence is used for a number of heads that is not a power of two",
             "take the slopes of the next lower power of two, then every other one of twice that power",
             result_as("slopes", [](const Trial& call, Array& slopes) { slopes_from(1, call, slopes); }),
             "for a power of two"),
      simple("alibi-slopes-from-0", {"alibi-slopes"}, "the exponents start at 0, so the first slope is 1",
             "slopes are 2^(-8(h+1)/heads) for h from 0",
             result_as("slopes", [](const Trial& call, Array& slopes) { slopes_from(0, call, slopes); })),
      simple("sinusoidal-halves", {"sinusoidal"}, "all sines come first, then all cosines",
             "alternate: column 2i the sine, column 2i + 1 the cosine of the same angle",
             sinusoidal_as([](double position, std::size_t column, std::size_t width, double base) {
               const std::size_t half = (width + 1) / 2;
               const double i = static_cast<double>(column % half);
               return wave(position * std::pow(base, -2 * i / static_cast<double>(width)), column < half);
             }),
             "in tensor2tensor's layout"),
      simple("sinusoidal-exponent", {"sinusoidal"},
             "the exponent counts columns, so sine and cosine of a pair differ",
             "both columns of pair i have the angle position / base^(2i/d)",
             sinusoidal_as([](double position, std::size_t column, std::size_t width, double base) {
               const double exponent = -static_cast<double>(column) / static_cast<double>(width);
               return wave(position * std::pow(base, exponent), column % 2 == 0);
             })),
      simple("sinusoidal-exponent-halved", {"sinusoidal"}, "the exponent is i/d and not 2i/d",
             "column 2i has the angle position / base^(2i/d)",
             sinusoidal_as([](double position, std::size_t column, std::size_t width, double base) {
               const double exponent = -pair_of(column) / static_cast<double>(width);
               return wave(position * std::pow(base, exponent), column % 2 == 0);
             })),
      simple("sinusoidal-exponent-doubled", {"sinusoidal"}, "2i is taken from an index that is even already",
             "column 2i has the angle position / base^(2i/d)",
             sinusoidal_as([](double position, std::size_t column, std::size_t width, double base) {
               const double exponent = -2 * (2 * pair_of(column)) / static_cast<double>(width);
               return wave(position * std::pow(base, exponent), column % 2 == 0);
             })),
      simple("sinusoidal-swapped", {"sinusoidal"}, "cosines stand in the even columns",
             "even columns are sines",
             sinusoidal_as([](double position, std::size_t column, std::size_t width, double base) {
               const double exponent = -2 * pair_of(column) / static_cast<double>(width);
               return wave(position * std::pow(base, exponent), column % 2 == 1);
             })),
      simple("sinusoidal-from-1", {"sinusoidal"}, "positions count from 1", "count positions from 0",
             sinusoidal_as([](double position, std::size_t column, std::size_t width, double base) {
               const double exponent = -2 * pair_of(column) / static_cast<double>(width);
               return wave((position + 1) * std::pow(base, exponent), column % 2 == 0);
             })),
      simple(
          "learned-positions-from-1", {"learned-positions"}, "positions count from 1",
          "row 0 of the table belongs to the first token",
          [](Trial& trial) {
            Array positions = trial.inputs.array("pos");
            const std::size_t rows = trial.inputs.matrix("table").shape(0);
            for (double& position : positions.values)
              position = std::min(position + 1, static_cast<double>(rows) - 1);
            trial.inputs.set("pos", positions);
            return true;
          },
          "for tables that keep rows for padding, as in RoBERTa and OPT"),
      simple(
          "learned-positions-one-less", {"learned-positions"},
          "1 is subtracted from positions that count from 0", "row 0 of the table belongs to position 0",
          [](Trial& trial) {
            Array positions = trial.inputs.array("pos");
            for (double& position : positions.values) position = std::max(position - 1, 0.0);
            trial.inputs.set("pos", positions);
            return true;
          },
          "where positions count from 1"),
      simple("positions-of-columns", {"positions"}, "padding counts as a position",
             "count real tokens only: cumulative sum of the mask minus 1",
             [](Trial& trial) {
               trial.afterwards.push_back([](const Trial& call, Results& results) {
                 const double columns = static_cast<double>(call.inputs.matrix("mask").shape(1));
                 std::vector<double>& positions = std::get<Array>(results[0].value).values;
                 for (std::size_t n = 0; n < positions.size(); ++n)
                   positions[n] = std::fmod(static_cast<double>(n), columns);
                 std::vector<double>& next = std::get<Array>(results[1].value).values;
                 std::fill(next.begin(), next.end(), columns);
               });
               return true;
             }),
  };
}

}  // namespace

std::vector<Mistake> position_mistakes() {
  std::vector<Mistake> all = rope_mistakes();
  std::vector<Mistake> more = other_mistakes();
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

}  // namespace attnlab

// The transformer block and its three wirings: who can see whom, proved by changing tokens.
//
//   y = x + attention(norm(x))    z = y + feed_forward(norm(y))        x, y, z: [seq_len, d_model]
//
// An encoder stacks such blocks without a mask; a decoder-only model stacks them with a causal mask; the
// decoder of an encoder-decoder has a third sub-layer between the two, whose queries attend to the encoder's
// outputs.
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 3.1; Xiong et al. 2020 for pre-norm.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/feed_forward.hpp"
#include "core/matmul.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t seq_len = 6;
  std::size_t source_len = 5;
  std::size_t d_model = 16;
  std::size_t heads = 2;
  std::size_t layers = 4;
  std::size_t draws = 20;
  std::string norm = "pre";
  bool no_attention = false;
  bool no_feed_forward = false;
  bool no_residual = false;
};

void declare(OptionSet& options, Params& p) {
  options.integer("seq-len", p.seq_len, 2, 64, "positions of the encoder or the decoder").short_form('T');
  options.integer("source-len", p.source_len, 1, 64, "positions of the encoder that a decoder reads");
  options.integer("d-model", p.d_model, 2, 256, "width of the stream").short_form('d');
  options.integer("heads", p.heads, 1, 64, "heads of a block");
  options.integer("layers", p.layers, 1, 64, "blocks of a stack");
  options.integer("draws", p.draws, 2, 10000, "stacks over which the growth of the stream is averaged");
  options.choice("norm", p.norm, {"pre", "post", "none"}, "where the norms of the stack stand");
  options.flag("no-attention", p.no_attention, "leave the attention sub-layers out of the stack");
  options.flag("no-feed-forward", p.no_feed_forward, "leave the feed-forward sub-layers out of the stack");
  options.flag("no-residual", p.no_residual, "leave the residual connections out of the stack");
}

/// A block's weights, and those of cross-attention in a decoder that has it.
struct Layer {
  Block block;
  AttentionWeights cross;
};

AttentionWeights draw_attention(Generator& rng, std::size_t d) {
  const double shrink = 1 / std::sqrt(static_cast<double>(d));
  return {normal_matrix(rng, d, d, 0, shrink), normal_matrix(rng, d, d, 0, shrink),
          normal_matrix(rng, d, d, 0, shrink), normal_matrix(rng, d, d, 0, shrink)};
}

Layer draw_layer(Generator& rng, std::size_t d) {
  Layer layer;
  layer.block.attention = draw_attention(rng, d);
  layer.block.feed_forward.up = normal_matrix(rng, d, 4 * d, 0, 1 / std::sqrt(static_cast<double>(d)));
  layer.block.feed_forward.down = normal_matrix(rng, 4 * d, d, 0, 0.5 / std::sqrt(static_cast<double>(d)));
  layer.cross = draw_attention(rng, d);
  return layer;
}

Matrix sum_of(const Matrix& a, const Matrix& b) {
  Matrix out = a;
  for (std::size_t i = 0; i < out.size(); ++i) out.data()[i] += b.data()[i];
  return out;
}

HeadsOptions heads_of(const Params& p, const Mask& mask) {
  HeadsOptions options;
  options.num_heads = options.num_kv_heads = p.heads;
  options.options_of = [mask](std::size_t) {
    AttentionOptions one;
    one.mask = mask;
    return one;
  };
  return options;
}

// Self-attention of a stack, causal or not, with the fault that was asked for, if any.
Mask self_mask(std::size_t seq_len, bool causal, const Context& context) {
  if (context.breaks("masks-swapped")) causal = !causal;
  Mask mask = causal ? causal_mask(seq_len, seq_len) : full_mask(seq_len, seq_len);
  if (context.breaks("sees-itself-only")) {
    for (std::size_t i = 0; i < seq_len; ++i)
      for (std::size_t j = 0; j < seq_len; ++j) mask(i, j) = i == j;
  }
  return mask;
}

Matrix attention_layer(const Matrix& x, const Layer& layer, const Params& p, bool causal,
                       const Context& context) {
  const Mask mask = self_mask(x.shape(0), causal, context);
  return multi_head_attention(x, x, layer.block.attention, heads_of(p, mask));
}

Matrix cross_layer(const Matrix& x, const Matrix& memory, const AttentionWeights& weights, const Params& p,
                   const Context& context) {
  const Matrix& read = context.breaks("cross-reads-itself") ? x : memory;
  Mask mask = full_mask(x.shape(0), read.shape(0));
  if (context.breaks("cross-causal")) mask = causal_mask(x.shape(0), read.shape(0), CausalAlign::top_left);
  return multi_head_attention(x, read, weights, heads_of(p, mask));
}

Matrix feed_forward_layer(const Matrix& x, const Layer& layer, const Context& context) {
  Matrix input = x;
  if (context.breaks("mixing-feed-forward")) {
    for (std::size_t c = 0; c < x.shape(1); ++c) input(0, c) = x(x.shape(0) - 1, c);
  }
  return feed_forward(input, layer.block.feed_forward);
}

Matrix norm_layer(const Matrix& x, const Context& context) {
  return context.breaks("no-norm") ? x : normalized(x, NormKind::layer);
}

// What a block adds to the stream, pre-norm; the memory is read in between when there is one.
Matrix run_block(const Matrix& x, const Layer& layer, const Params& p, bool causal, const Matrix* memory,
                 const Context& context) {
  const auto added = [&](const Matrix& stream, const Matrix& change) {
    return context.breaks("no-residual") ? change : sum_of(stream, change);
  };
  Matrix y = added(x, attention_layer(norm_layer(x, context), layer, p, causal, context));
  if (memory != nullptr) y = added(y, cross_layer(norm_layer(y, context), *memory, layer.cross, p, context));
  return added(y, feed_forward_layer(norm_layer(y, context), layer, context));
}

Matrix run_stack(Matrix x, const std::vector<Layer>& layers, const Params& p, bool causal,
                 const Matrix* memory, const Context& context) {
  for (const Layer& layer : layers) x = run_block(x, layer, p, causal, memory, context);
  return x;
}

// One pre-norm block by plain loops over positions, heads and dimensions.
std::vector<double> looped_norm(std::span<const double> row) {
  double mean = 0, variance = 0;
  const auto width = static_cast<double>(row.size());
  for (const double entry : row) mean += entry / width;
  for (const double entry : row) variance += (entry - mean) * (entry - mean) / width;
  std::vector<double> out;
  for (const double entry : row) out.push_back((entry - mean) / std::sqrt(variance + 1e-5));
  return out;
}

double looped_product(const std::vector<double>& row, const Matrix& weight, std::size_t column) {
  double sum = 0;
  for (std::size_t c = 0; c < row.size(); ++c) sum += row[c] * weight(c, column);
  return sum;
}

Matrix looped_block(const Matrix& x, const Block& block, std::size_t num_heads) {
  const std::size_t n = x.shape(0);
  const std::size_t d = x.shape(1);
  const std::size_t width = d / num_heads;
  std::vector<std::vector<double>> normed;
  for (std::size_t t = 0; t < n; ++t) normed.push_back(looped_norm(row_of(x, t)));
  Matrix out = x;
  for (std::size_t t = 0; t < n; ++t) {
    std::vector<double> joined(d, 0);
    for (std::size_t head = 0; head < num_heads; ++head) {
      std::vector<double> weights(n);
      double total = 0;
      for (std::size_t s = 0; s < n; ++s) {
        double score = 0;
        for (std::size_t c = head * width; c < (head + 1) * width; ++c) {
          score += looped_product(normed[t], block.attention.query, c) *
                   looped_product(normed[s], block.attention.key, c);
        }
        weights[s] = std::exp(score / std::sqrt(static_cast<double>(width)));
        total += weights[s];
      }
      for (std::size_t s = 0; s < n; ++s) {
        for (std::size_t c = head * width; c < (head + 1) * width; ++c)
          joined[c] += weights[s] / total * looped_product(normed[s], block.attention.value, c);
      }
    }
    for (std::size_t c = 0; c < d; ++c) out(t, c) += looped_product(joined, block.attention.output, c);
    const std::vector<double> inner = looped_norm(row_of(out, t));
    std::vector<double> hidden;
    for (std::size_t c = 0; c < block.feed_forward.up.shape(1); ++c) {
      const double before = looped_product(inner, block.feed_forward.up, c);
      hidden.push_back(0.5 * before * std::erfc(-before / std::sqrt(2.0)));
    }
    for (std::size_t c = 0; c < d; ++c) out(t, c) += looped_product(hidden, block.feed_forward.down, c);
  }
  return out;
}

// Which outputs change when one input token changes: [outputs, inputs], 1 where the output sees the token.
template <class Run>
Matrix visibility(const Matrix& input, Run run) {
  const Matrix before = run(input);
  Matrix seen = zeros(before.shape(0), input.shape(0));
  for (std::size_t token = 0; token < input.shape(0); ++token) {
    Matrix changed = input;
    for (std::size_t c = 0; c < input.shape(1); ++c)
      changed(token, c) = std::cos(static_cast<double>(3 * c + 1)) - input(token, c);
    const Matrix after = run(changed);
    for (std::size_t t = 0; t < before.shape(0); ++t)
      seen(t, token) = largest_difference(row_of(before, t), row_of(after, t)) > 0 ? 1 : 0;
  }
  return seen;
}

// Entries of a visibility matrix that a rule contradicts.
template <class Rule>
double contradictions(const Matrix& seen, Rule rule) {
  double count = 0;
  for (std::size_t i = 0; i < seen.shape(0); ++i)
    for (std::size_t j = 0; j < seen.shape(1); ++j) count += (seen(i, j) == 1) != rule(i, j) ? 1 : 0;
  return count;
}

void check_visibility(Report& report, const Params& p, const std::vector<Layer>& layers, const Matrix& x,
                      const Matrix& source, const Context& context) {
  const auto encode = [&](const Matrix& input) {
    return run_stack(input, layers, p, false, nullptr, context);
  };
  const auto decode = [&](const Matrix& input) {
    return run_stack(input, layers, p, true, nullptr, context);
  };
  const Matrix encoder = visibility(x, encode);
  const Matrix decoder = visibility(x, decode);
  const Matrix cross = visibility(source, [&](const Matrix& changed) {
    const Matrix memory = encode(changed);
    return run_stack(x, layers, p, true, &memory, context);
  });
  const Matrix memory = encode(source);
  const Matrix beside_cross = visibility(
      x, [&](const Matrix& changed) { return run_stack(changed, layers, p, true, &memory, context); });
  const auto add_grid = [&](const char* name, const char* title, const Matrix& seen, const char* columns) {
    Grid grid{name, title, to_array(seen), {"output position", columns}};
    grid.whole_numbers = true;
    report.line(title);
    report.grid(std::move(grid));
  };
  add_grid("encoder", "Encoder: 1 where an output changes with an input token", encoder, "input position");
  add_grid("decoder", "Decoder: the same under a causal mask", decoder, "input position");
  add_grid("cross", "Encoder-decoder: outputs of the decoder, tokens of the source", cross,
           "source position");
  const auto everything = [](std::size_t, std::size_t) { return true; };
  const auto not_later = [](std::size_t i, std::size_t j) { return j <= i; };
  report.check({.id = "encoder-sees-all", .measured = contradictions(encoder, everything)});
  report.check({.id = "decoder-sees-no-later", .measured = contradictions(decoder, not_later)});
  report.check({.id = "cross-sees-the-source", .measured = contradictions(cross, everything)});
  report.check({.id = "translator-is-causal", .measured = contradictions(beside_cross, not_later)});
}

void check_sublayers(Report& report, const Params& p, const Layer& layer, const Matrix& x,
                     const Context& context) {
  const Matrix mixed =
      visibility(x, [&](const Matrix& input) { return attention_layer(input, layer, p, false, context); });
  const Matrix alone =
      visibility(x, [&](const Matrix& input) { return feed_forward_layer(input, layer, context); });
  report.check({.id = "attention-mixes",
                .measured = contradictions(mixed, [](std::size_t, std::size_t) { return true; })});
  report.check({.id = "position-wise",
                .measured = contradictions(alone, [](std::size_t i, std::size_t j) { return i == j; })});
  report.check({.id = "block-formula",
                .measured = largest_difference(elements(run_block(x, layer, p, false, nullptr, context)),
                                               elements(looped_block(x, layer.block, p.heads))),
                .tolerance = 1e-10});
  Layer silent = layer;
  for (double& entry : elements(silent.block.attention.output)) entry = 0;
  for (double& entry : elements(silent.block.feed_forward.down)) entry = 0;
  report.check({.id = "residual-passes",
                .measured = largest_difference(elements(run_block(x, silent, p, false, nullptr, context)),
                                               elements(x))});
  const HeadsOptions unmasked = heads_of(p, full_mask(p.seq_len, p.seq_len));
  report.check({.id = "cross-equals-self",
                .measured = largest_difference(
                    elements(cross_layer(x, x, layer.block.attention, p, context)),
                    elements(multi_head_attention(x, x, layer.block.attention, unmasked)))});
}

double mean_square(const Matrix& a) { return dot(elements(a), elements(a)) / static_cast<double>(a.size()); }

/// The residual stream along a stack.
struct Stream {
  std::vector<double> squares;  ///< mean square before the stack and after each block
  std::vector<double> attention_gains, feed_forward_gains;  ///< what each sub-layer adds to the mean square
};

// The stream of a stack with the parts that were asked for.
Stream run_stream(const Params& p, const std::string& norm, const std::vector<Layer>& layers, Matrix x,
                  const Context& context) {
  Stream stream{{mean_square(x)}, {}, {}};
  const auto pass = [&](const auto& sublayer, std::vector<double>& gains) {
    const double before = mean_square(x);
    Matrix change = sublayer(norm == "pre" ? norm_layer(x, context) : x);
    if (!p.no_residual && !context.breaks("no-residual")) change = sum_of(x, change);
    x = norm == "post" ? norm_layer(change, context) : change;
    gains.push_back(mean_square(x) - before);
  };
  for (const Layer& layer : layers) {
    if (!p.no_attention) {
      pass([&](const Matrix& in) { return attention_layer(in, layer, p, true, context); },
           stream.attention_gains);
    }
    if (!p.no_feed_forward) {
      pass([&](const Matrix& in) { return feed_forward_layer(in, layer, context); },
           stream.feed_forward_gains);
    }
    stream.squares.push_back(mean_square(x));
  }
  return stream;
}

std::vector<Layer> draw_layers(Generator& rng, const Params& p) {
  std::vector<Layer> layers;
  for (std::size_t layer = 0; layer < p.layers; ++layer) layers.push_back(draw_layer(rng, p.d_model));
  return layers;
}

// What a feed-forward layer adds to the mean square on average. Its weights are independent of the stream and
// have mean zero, so squares add; its input is normed, so each hidden unit is a GELU of z from N(0, 1), and
// E GELU(z)^2 = 1/3 + 1 / (2 pi sqrt(3)) by parts. (Xiong et al. have a ReLU, and 1/2.)
constexpr double feed_forward_gain = 1.0 / 3 + std::numbers::inv_pi * std::numbers::inv_sqrt3 / 2;

// An attention layer adds the mean square of weighted means of normed rows: between 0 and 1.
void check_growth(Report& report, const Params& p, Generator& rng, const Context& context) {
  std::vector<double> attention, feed_forward;
  for (std::size_t draw = 0; draw < p.draws; ++draw) {
    const Matrix x = normal_matrix(rng, p.seq_len, p.d_model);
    const Stream stream = run_stream(p, "pre", draw_layers(rng, p), x, context);
    attention.insert(attention.end(), stream.attention_gains.begin(), stream.attention_gains.end());
    feed_forward.insert(feed_forward.end(), stream.feed_forward_gains.begin(),
                        stream.feed_forward_gains.end());
  }
  // Given the stream so far each gain has the same mean, so gains do not correlate and this error is right.
  const double error = standard_error(feed_forward);
  report.check({.id = "feed-forward-gain",
                .measured = mean(feed_forward),
                .expected = feed_forward_gain,
                .tolerance = 4 * error,
                .standard_error = error});
  const double block = mean(attention) + mean(feed_forward);
  const double block_error = std::hypot(standard_error(attention), error);
  const auto bound = [&](const char* label, Relation relation, double expected) {
    report.check({.id = "pre-norm-stream-grows",
                  .label = label,
                  .measured = block,
                  .relation = relation,
                  .expected = expected,
                  .standard_error = block_error});
  };
  bound("least", Relation::at_least, feed_forward_gain - 4 * block_error);
  bound("most", Relation::at_most, feed_forward_gain + 1 + 4 * block_error);
}

void show_streams(Report& report, const Params& p, const std::vector<Layer>& layers, const Matrix& x,
                  Generator& rng, const Context& context) {
  const Stream chosen = run_stream(p, p.norm, layers, x, context);
  const Stream pre = run_stream(p, "pre", layers, x, context);
  const Stream post = run_stream(p, "post", layers, x, context);
  Table table{"stream",
              "Root mean square of the residual stream; least and most that pre-norm grows to on average",
              {{"layer"}, {"chosen"}, {"pre_norm"}, {"post_norm"}, {"pre_norm_least"}, {"pre_norm_most"}}};
  for (std::size_t layer = 0; layer < chosen.squares.size(); ++layer) {
    const auto blocks = static_cast<double>(layer);
    const double start = pre.squares.front();
    table.rows.push_back({static_cast<std::int64_t>(layer), std::sqrt(chosen.squares[layer]),
                          std::sqrt(pre.squares[layer]), std::sqrt(post.squares[layer]),
                          std::sqrt(start + blocks * feed_forward_gain),
                          std::sqrt(start + blocks * (feed_forward_gain + 1))});
  }
  report.table(std::move(table));
  if (p.no_attention || p.no_feed_forward || p.no_residual || p.d_model < 8) return;
  check_growth(report, p, rng, context);
  report.check({.id = "post-norm-stream-is-kept",
                .measured = std::sqrt(post.squares.back()),
                .expected = 1,
                .tolerance = 1e-3});
}

Report run(const Params& p, const Context& context) {
  if (p.d_model % p.heads != 0) {
    throw Error(ErrorKind::usage, fmt::format("--heads: {} do not divide a width of {}", p.heads, p.d_model));
  }
  Report report("The transformer block and its wirings");
  Generator rng = context.rng();
  const Matrix x = normal_matrix(rng, p.seq_len, p.d_model);
  const Matrix source = normal_matrix(rng, p.source_len, p.d_model);
  const std::vector<Layer> layers = draw_layers(rng, p);
  check_visibility(report, p, layers, x, source, context);
  check_sublayers(report, p, layers.front(), x, context);
  show_streams(report, p, layers, x, rng, context);
  report.explain(
      fmt::format("a feed-forward layer adds E GELU(z)^2 = 1/3 + 1 / (2 pi sqrt(3)) = {:.5f} to the stream's "
                  "mean square, "
                  "attention at most 1: after L blocks its root mean square has grown like sqrt(L)",
                  feed_forward_gain));
  report.explain("each token is changed in turn; an output that changes in any bit sees that token");
  report.figure({.name = "visibility",
                 .title = "Who sees whom",
                 .kind = FigureKind::heat_map,
                 .data = {"encoder", "decoder", "cross"},
                 .x_axis = {"input position"},
                 .y_axis = {"output position"},
                 .domain = {{0, 1}},
                 .caption =
                     "Encoders see all, decoders nothing later, cross-attention the whole source. Vaswani "
                     "et al. 2017, section 3.2.3."});
  report.figure({.name = "stream",
                 .title = "Size of the residual stream",
                 .kind = FigureKind::line,
                 .data = {"stream"},
                 .x_column = "layer",
                 .series = {{"pre_norm", "pre-norm"},
                            {"post_norm", "post-norm"},
                            {"pre_norm_least", "pre-norm, least on average", "", true},
                            {"pre_norm_most", "pre-norm, most on average", "", true}},
                 .x_axis = {"blocks passed"},
                 .y_axis = {"root mean square"},
                 .caption =
                     "Under pre-norm every block adds to the stream; post-norm resets it. Xiong et al. "
                     "2020, section 3."});
  return report;
}

}  // namespace

Experiment architectures_experiment() {
  return make_experiment<Params>(
      {.name = "architectures",
       .title = "The transformer block and its wirings",
       .summary = "encoder, decoder and encoder-decoder: who can see whom",
       .section = "The transformer block",
       .source = "Vaswani et al. 2017, section 3.1; Xiong et al. 2020",
       .purpose = "Builds a pre-norm block and stacks it as an encoder, a decoder and an encoder-decoder, "
                  "changes one "
                  "token after the other and shows which outputs notice. Options leave parts of a block out "
                  "and show "
                  "what becomes of the residual stream.",
       .examples = {"attnlab architectures", "attnlab architectures --norm none --no-residual --layers 12",
                    "attnlab architectures --table stream --layers 24 --format csv"},
       .claims =
           {{"attention-mixes", "attention carries every token to every position"},
            {"position-wise",
             "a token changes the feed-forward output of its own position and no bit of others"},
            {"block-formula", "a pre-norm block is x + attention(norm(x)), then + feed_forward(norm(.))",
             "Xiong et al. 2020, section 3.1"},
            {"residual-passes", "when both sub-layers return zero a block passes its input on, bit for bit"},
            {"encoder-sees-all", "every output of an encoder changes with every token, earlier or later"},
            {"decoder-sees-no-later",
             "no output of a decoder changes with a later token, and each does with all others"},
            {"cross-sees-the-source",
             "every output of an encoder-decoder changes with every token of the source"},
            {"translator-is-causal", "its decoder sees no later token of its own side"},
            {"cross-equals-self", "cross-attention to a decoder's own input is unmasked self-attention"},
            {"feed-forward-gain",
             "a pre-norm feed-forward layer adds 0.425 to the stream's mean square on average",
             "E GELU(z)^2 of z from N(0, 1)"},
            {"pre-norm-stream-grows",
             "a pre-norm block adds between 0.425 and 1.425 to the stream's mean square on average",
             "Xiong et al. 2020, section 3, with GELU for ReLU"},
            {"post-norm-stream-is-kept", "post-norm keeps the stream's root mean square at 1"}},
       .breakages = {{"masks-swapped", "the encoder is causal and the decoder is not"},
                     {"sees-itself-only", "each position attends to itself alone"},
                     {"mixing-feed-forward",
                      "the feed-forward layer of the first position reads the last one"},
                     {"no-residual", "the residual connections are left out"},
                     {"no-norm", "the norms are left out"},
                     {"cross-reads-itself", "cross-attention reads the decoder's own stream"},
                     {"cross-causal", "cross-attention is causal"}}},
      declare, run);
}

}  // namespace attnlab::experiments

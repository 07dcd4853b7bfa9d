// Feed-forward layers: activations, gates, the layer as a memory, and the block around them.
#include "core/feed_forward.hpp"

#include <limits>

#include "core/error.hpp"
#include "operations/attention_parameters.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

constexpr const char* family = "Feed-forward";

const std::vector<std::pair<std::string, Activation>> activations = {{"gelu", Activation::gelu},
                                                                     {"gelu-tanh", Activation::gelu_tanh},
                                                                     {"relu", Activation::relu},
                                                                     {"silu", Activation::silu}};
constexpr const char* activation_help =
    "exact GELU (BERT), its tanh form (GPT-2, Gemma), ReLU (the transformer of 2017), SiLU (Llama's gate)";

struct ActivationParams {
  Activation kind = Activation::gelu;
};

void declare_kind(OptionSet& options, ActivationParams& params) {
  options.choice<Activation>("kind", params.kind, activations, activation_help);
}

void declare_activation(OptionSet& options, ActivationParams& params) {
  options.choice<Activation>("activation", params.kind, activations, activation_help);
}

Results run_activation(const ActivationParams& params, const Inputs& inputs) {
  return {array_result("output", activated(params.kind, inputs.matrix("x")))};
}

Results run_swiglu(const NoParams&, const Inputs& inputs) {
  return {array_result("output", swiglu(inputs.matrix("gate"), inputs.matrix("up")))};
}

FeedForward swiglu_layer(const Matrix& gate, const Matrix& up, const Matrix& down) {
  FeedForward layer;
  layer.activation = Activation::silu;
  layer.gate = gate;
  layer.up = up;
  layer.down = down;
  return layer;
}

Results run_swiglu_ffn(const NoParams&, const Inputs& inputs) {
  const FeedForward layer =
      swiglu_layer(inputs.matrix("w-gate"), inputs.matrix("w-up"), inputs.matrix("w-down"));
  return {array_result("output", feed_forward(inputs.matrix("x"), layer))};
}

struct LinearParams {
  WeightLayout layout = WeightLayout::in_out;
};

void declare_linear(OptionSet& options, LinearParams& params) {
  options.choice<WeightLayout>("layout", params.layout,
                               {{"in-out", WeightLayout::in_out}, {"out-in", WeightLayout::out_in}},
                               "y = x W (the lesson, GPT-2's Conv1D, JAX) or y = x W^T (torch.nn.Linear)");
}

Results run_linear(const LinearParams& params, const Inputs& inputs) {
  return {array_result("output", linear(inputs.matrix("x"), inputs.matrix("w"),
                                        inputs.optional_vector("bias"), params.layout))};
}

Results run_memory(const ActivationParams& params, const Inputs& inputs) {
  const MemoryReading reading =
      memory_reading(inputs.matrix("x"), inputs.matrix("keys"), inputs.matrix("values"),
                     inputs.optional_vector("key-bias"), params.kind);
  return {array_result("output", reading.output), array_result("coefficients", reading.coefficients),
          whole_result("strongest",
                       {{reading.strongest.size()}, {reading.strongest.begin(), reading.strongest.end()}})};
}

struct BlockParams {
  AttentionParams attention;
  NormKind norm = NormKind::layer;
  std::optional<Activation> activation = Activation::gelu;  // none stands for SwiGLU
};

void declare_block(OptionSet& options, BlockParams& params) {
  options.choice<NormKind>("norm", params.norm, {{"layer", NormKind::layer}, {"rms", NormKind::rms}},
                           "layer (GPT-2) or rms (Llama)");
  options.choice<std::optional<Activation>>(
      "activation", params.activation,
      {{"gelu", Activation::gelu},
       {"gelu-tanh", Activation::gelu_tanh},
       {"relu", Activation::relu},
       {"silu", Activation::silu},
       {"swiglu", std::nullopt}},
      "of the feed-forward layer; swiglu takes --w-gate, --w-up and --w-down");
  declare_attention(options, params.attention);
  options.find("eps")->needed_option.clear();  // the norms of the block need it always
}

FeedForward block_feed_forward(const BlockParams& params, const Inputs& inputs) {
  if (!params.activation) {
    // Llama's own names for gate, up and down are w1, w3 and w2.
    return inputs.has("w-gate")
               ? swiglu_layer(inputs.matrix("w-gate"), inputs.matrix("w-up"), inputs.matrix("w-down"))
               : swiglu_layer(inputs.matrix("w1"), inputs.matrix("w3"), inputs.matrix("w2"));
  }
  FeedForward layer;
  layer.activation = *params.activation;
  layer.up = inputs.matrix("w1");
  layer.up_bias = inputs.optional_vector("b1");
  layer.down = inputs.matrix("w2");
  layer.down_bias = inputs.optional_vector("b2");
  return layer;
}

Results run_block(const BlockParams& params, const Inputs& inputs) {
  const Matrix x = inputs.matrix("x");
  Block block;
  block.norm = params.norm;
  block.attention_norm = {params.attention.eps, inputs.optional_vector("gain1"),
                          inputs.optional_vector("bias1"), 0};
  block.feed_forward_norm = {params.attention.eps, inputs.optional_vector("gain2"),
                             inputs.optional_vector("bias2"), 0};
  block.attention = {inputs.matrix("wq"), inputs.matrix("wk"), inputs.matrix("wv"), inputs.matrix("wo")};
  block.feed_forward = block_feed_forward(params, inputs);
  const HeadsOptions heads =
      heads_options(params.attention, inputs, x.shape(0), x.shape(0), block.attention.key.shape(1));
  return {array_result("output", pre_norm_block(x, block, heads))};
}

std::vector<InputInfo> block_inputs() {
  std::vector<InputInfo> inputs = {
      {"x", "[T, d_model]", "tokens, one a row"},
      {"wq", "[d_model, heads * d]", "query projection, y = x W"},
      {"wk", "[d_model, kv-heads * d]", "key projection"},
      {"wv", "[d_model, kv-heads * dv]", "value projection"},
      {"wo", "[heads * dv, d_model]", "output projection"},
      {"w1", "[d_model, hidden]", "first feed-forward weights", false},
      {"b1", "[hidden]", "their bias", false},
      {"w2", "[hidden, d_model]", "second feed-forward weights", false},
      {"b2", "[d_model]", "their bias", false},
      {"w-gate", "[d_model, hidden]", "swiglu: what passes SiLU (Llama's w1)", false},
      {"w-up", "[d_model, hidden]", "swiglu: what it gates (Llama's w3)", false},
      {"w-down", "[hidden, d_model]", "swiglu: back to d_model (Llama's w2)", false},
      {"w3", "[d_model, hidden]", "swiglu with Llama's names", false},
      {"gain1", "[d_model]", "gain of the norm before attention", false},
      {"bias1", "[d_model]", "its bias", false},
      {"gain2", "[d_model]", "gain of the norm before the feed-forward layer", false},
      {"bias2", "[d_model]", "its bias", false}};
  const std::vector<InputInfo> more = attention_inputs();
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

}  // namespace

std::vector<Operation> feed_forward_operations() {
  return {
      make_operation<ActivationParams>({.name = "activation",
                                        .family = family,
                                        .summary = "GELU in both forms, ReLU, SiLU",
                                        .source = "Hendrycks and Gimpel 2016",
                                        .inputs = {{"x", "[T, d]", "any numbers"}},
                                        .results = {{"output", "[T, d]"}}},
                                       declare_kind, run_activation),
      make_operation<NoParams>(
          {.name = "swiglu",
           .family = family,
           .summary = "SiLU(gate) * up, element by element",
           .source = "Shazeer 2020, equation 5",
           .inputs = {{"gate", "[T, hidden]", "what passes SiLU"}, {"up", "[T, hidden]", "what it gates"}},
           .results = {{"output", "[T, hidden]"}}},
          declare_nothing, run_swiglu),
      make_operation<NoParams>({.name = "swiglu-ffn",
                                .family = family,
                                .summary = "the gated feed-forward layer of Llama",
                                .source = "Shazeer 2020, equation 6",
                                .inputs = {{"x", "[T, d_model]", "tokens, one a row"},
                                           {"w-gate", "[d_model, hidden]", "weights of the gate, y = x W"},
                                           {"w-up", "[d_model, hidden]", "weights of what it gates"},
                                           {"w-down", "[hidden, d_model]", "weights back to d_model"}},
                                .results = {{"output", "[T, d_model]"}}},
                               declare_nothing, run_swiglu_ffn),
      make_operation<LinearParams>({.name = "linear",
                                    .family = family,
                                    .summary = "a matrix product in either weight layout",
                                    .source = "the layouts of published checkpoints",
                                    .inputs = {{"x", "[T, in]", "rows"},
                                               {"w", "[in, out] or [out, in]", "weights, see --layout"},
                                               {"bias", "[out]", "added to every row", false}},
                                    .results = {{"output", "[T, out]"}}},
                                   declare_linear, run_linear),
      make_operation<ActivationParams>(
          {.name = "ffn-memory",
           .family = family,
           .summary = "a feed-forward layer read as keys and values",
           .source = "Geva et al. 2021, section 2",
           .inputs = {{"x", "[T, d]", "tokens, one a row"},
                      {"keys", "[memories, d]", "row i scores the token"},
                      {"values", "[memories, dv]", "row i is added with that weight"},
                      {"key-bias", "[memories]", "added to the scores", false}},
           .results = {{"output", "[T, dv]"}, {"coefficients", "[T, memories]"}, {"strongest", "[T]"}},
           .details = "activation(x . key + bias) weighs each value; unlike attention nothing "
                      "is normalised. strongest is the memory of largest magnitude."},
          declare_activation, run_memory),
      make_operation<BlockParams>(
          {.name = "block",
           .family = family,
           .summary = "a pre-norm transformer block",
           .source = "Xiong et al. 2020, section 3",
           .inputs = block_inputs(),
           .results = {{"output", "[T, d_model]"}},
           .details = "y = x + attention(norm(x)), then y + ffn(norm(y)). --eps serves the norms, "
                      "and --qk-norm where it is asked for."},
          declare_block, run_block),
  };
}

}  // namespace attnlab

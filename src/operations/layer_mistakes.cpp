// What goes wrong around attention: norms, activations, feed-forward layers, blocks, projections, experts.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/activation.hpp"
#include "core/feed_forward.hpp"
#include "core/matmul.hpp"
#include "core/moe.hpp"
#include "core/softmax.hpp"
#include "operations/mistake.hpp"

namespace attnlab {
namespace {

using Commit = std::function<bool(Trial&)>;

// --- changes that mistakes are made of

/// An option that is one of two words, set to the other.
Commit with_other(const std::string& name, const std::string& one, const std::string& other) {
  return
      [name, one, other](Trial& trial) { return trial.set(name, trial.option(name) == one ? other : one); };
}

Commit with_swapped(const std::string& first, const std::string& second) {
  return [first, second](Trial& trial) {
    if (!trial.inputs.has(first) || !trial.inputs.has(second)) return false;
    const Array kept = trial.inputs.array(first);
    trial.inputs.set(first, trial.inputs.array(second));
    trial.inputs.set(second, kept);
    return true;
  };
}

Commit with_transposed(const std::vector<std::string>& names) {
  return [names](Trial& trial) {
    for (const std::string& name : names) {
      const Matrix weight = trial.inputs.matrix(name);
      if (weight.shape(0) != weight.shape(1)) return false;
      trial.inputs.set(name, to_array(transposed(weight)));
    }
    return true;
  };
}

/// An array filled with one number: a gain of 1 or a bias of 0 is one that is left out.
Commit with_constant(const std::string& name, double value) {
  return [name, value](Trial& trial) {
    if (!trial.inputs.has(name)) return false;
    const Shape shape = trial.inputs.array(name).shape;
    trial.inputs.set(name, {shape, std::vector<double>(element_count(shape), value)});
    return true;
  };
}

/// The first result computed in another way.
Commit computed_as(const std::function<Matrix(const Trial&)>& compute) {
  return [compute](Trial& trial) {
    return trial.compute_by(
        [compute](const Trial& call) { return Results{array_result("output", compute(call))}; });
  };
}

Matrix elementwise(Matrix a, const std::function<double(double)>& change) {
  for (double& value : a) value = change(value);
  return a;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result = a;
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] *= b.data()[i];
  return result;
}

Matrix total(const Matrix& a, const Matrix& b) {
  Matrix result = a;
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] += b.data()[i];
  return result;
}

const double pi = std::acos(-1.0);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// --- norms

/// What a row is divided by, and whether its mean is removed, by a wrong formula; gain and bias as they
/// should be.
struct RowNorm {
  bool remove_mean;
  long double (*divisor)(long double sum_of_squares, double count, double eps);
};

Matrix normed_as(const Trial& call, const RowNorm& norm) {
  Matrix x = call.inputs.matrix("x");
  const std::optional<Vector> gain = call.inputs.optional_vector("gain");
  const std::optional<Vector> bias = call.inputs.optional_vector("bias");
  const double offset = call.number("offset");
  for (std::size_t row = 0; row < x.shape(0); ++row) {
    const std::span<double> values = row_of(x, row);
    const double count = static_cast<double>(values.size());
    const long double mean =
        norm.remove_mean ? std::accumulate(values.begin(), values.end(), 0.0L) / count : 0;
    long double squares = 0;  // in extended range: squares of large numbers overflow a double
    for (const double value : values) squares += (value - mean) * (value - mean);
    const long double divisor = norm.divisor(squares, count, call.number("eps"));
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double unit = static_cast<double>((values[j] - mean) / divisor);
      values[j] = unit * ((gain ? (*gain)(j) : 1.0) + offset) + (bias ? (*bias)(j) : 0.0);
    }
  }
  return x;
}

/// The divisor of the caller's kind of norm.
Commit divided_by(long double (*divisor)(long double, double, double)) {
  return computed_as([divisor](const Trial& call) {
    return normed_as(call, {call.option("kind") == "layer", divisor});
  });
}

Matrix normed_columns(const Trial& call) {
  Trial turned = call.computed_plainly();
  turned.inputs = Inputs();
  turned.inputs.set("x", to_array(transposed(call.inputs.matrix("x"))));
  return transposed(to_matrix(std::get<Array>(turned.run_operation()[0].value), "output"));
}

std::vector<Mistake> norm_mistakes() {
  const std::vector<std::string> in = {"norm"};
  return {
      {"norm-unbiased-variance", in, "the variance is divided by n - 1", "divide the sum of squares by n", "",
       divided_by(
           [](long double squares, double n, double eps) { return std::sqrt(squares / (n - 1) + eps); })},
      {"norm-eps-outside-root", in, "eps is added to the deviation and not to the variance",
       "add eps inside the root: sqrt(variance + eps)", "",
       divided_by([](long double squares, double n, double eps) { return std::sqrt(squares / n) + eps; })},
      {"norm-unbiased-eps-outside", in, "the deviation is that of n - 1, and eps is added to it",
       "use sqrt(sum of squares / n + eps)", "", divided_by([](long double squares, double n, double eps) {
         return std::sqrt(squares / (n - 1)) + eps;
       })},
      {"norm-eps-missing", in, "without eps a row without spread is 0/0", "add eps inside the root", "",
       divided_by([](long double squares, double n, double) { return std::sqrt(squares / n); })},
      {"norm-root-missing", in, "rows are divided by the variance and not by its root",
       "divide by sqrt(variance + eps)", "",
       divided_by([](long double squares, double n, double eps) { return squares / n + eps; })},
      {"norm-by-length", in, "rows are divided by their length, so they are sqrt(d) too small",
       "divide by the root of the mean of the squares, not of their sum", "in L2 normalisation",
       divided_by([](long double squares, double, double eps) { return std::sqrt(squares + eps); })},
      {"norm-squares-overflow", in, "squares of large numbers overflow to infinity, so the row becomes zeros",
       "scale the row before it is squared, or sum in a wider type", "",
       divided_by([](long double squares, double n, double eps) {
         const double sum = static_cast<double>(squares);
         return static_cast<long double>(std::sqrt(sum / n + eps));
       })},
      {"norm-mean-removed", in, "a root-mean-square norm does not remove the mean",
       "divide by the root mean square and leave the mean", "in layer norm (--kind layer)",
       [](Trial& trial) { return trial.option("kind") == "rms" && trial.set("kind", "layer"); }},
      {"norm-mean-kept", in, "layer norm removes the mean first", "subtract the mean of each row",
       "in root-mean-square norm (--kind rms)",
       [](Trial& trial) { return trial.option("kind") == "layer" && trial.set("kind", "rms"); }},
      {"norm-over-tokens", in, "each column is normalised over the tokens, so tokens see each other",
       "normalise every row by itself", "in batch norm, without gain and bias", computed_as(normed_columns)},
      {"norm-gain-missing", in, "the gain is not applied", "multiply by the gain after the norm", "",
       with_constant("gain", 1)},
      {"norm-bias-missing", in, "the bias is not added", "add the bias in the end", "",
       with_constant("bias", 0)},
      {"norm-gain-offset-missing", in, "the stored gain is gain - 1", "add 1 to the stored gain", "",
       [](Trial& trial) {
         return trial.inputs.has("gain") && trial.number("offset") != 0 && trial.set("offset", 0.0);
       }},
      {"norm-gain-offset-added", in, "1 is added to a gain that is stored as it is",
       "multiply by the stored gain", "for weights stored as gain - 1 (--offset 1)",
       [](Trial& trial) {
         return trial.inputs.has("gain") && trial.number("offset") == 0 && trial.set("offset", 1.0);
       }},
  };
}

// --- activations and feed-forward layers

const char* activation_option(const Trial& trial) {
  return trial.operation().name == "activation" ? "kind" : "activation";
}

// `right` is one activation, or "gelu*" for both forms of GELU.
Commit activation_for(const std::string& right, const std::string& wrong) {
  return [right, wrong](Trial& trial) {
    const char* option = activation_option(trial);
    const std::string given = trial.option(option);
    const bool is_right = right == "gelu*" ? given.starts_with("gelu") : given == right;
    return is_right && trial.set(option, wrong);
  };
}

std::vector<Mistake> activation_mistakes() {
  const std::vector<std::string> everywhere = {"activation", "ffn-memory", "block"};
  const std::string exact = "use x Phi(x) with the error function";
  return {
      {"gelu-tanh-for-exact", everywhere, "the tanh form is an approximation of the exact GELU", exact,
       "in GPT-2 and Gemma (gelu-tanh)", activation_for("gelu", "gelu-tanh")},
      {"gelu-exact-for-tanh", everywhere, "the model was trained with the tanh form of GELU",
       "use the tanh form", "in BERT (gelu)", activation_for("gelu-tanh", "gelu")},
      {"gelu-sigmoid",
       {"activation"},
       "x sigmoid(1.702 x) is a coarse approximation of GELU",
       exact,
       "in CLIP (quick GELU)",
       [](Trial& trial) {
         if (!trial.option("kind").starts_with("gelu")) return false;
         return computed_as([](const Trial& call) {
           return elementwise(call.inputs.matrix("x"), [](double x) { return x * sigmoid(1.702 * x); });
         })(trial);
       }},
      {"gelu-tail-cancelled",
       {"activation"},
       "1 + erf (or 1 + tanh) cancels far below zero, where only its last digits are left",
       "use erfc: x/2 erfc(-x/sqrt 2)",
       "where x stays above -5",
       [](Trial& trial) {
         if (!trial.option("kind").starts_with("gelu")) return false;
         return computed_as([](const Trial& call) {
           const bool with_erf = call.option("kind") == "gelu";
           return elementwise(call.inputs.matrix("x"), [with_erf](double x) {
             const double inner = std::sqrt(2 / pi) * (x + 0.044715 * x * x * x);
             return 0.5 * x * (1 + (with_erf ? std::erf(x / std::sqrt(2.0)) : std::tanh(inner)));
           });
         })(trial);
       }},
      {"silu-for-gelu", everywhere, "SiLU and GELU are alike but not the same", exact,
       "with --activation silu", activation_for("gelu*", "silu")},
      {"relu-for-gelu", everywhere, "ReLU cuts what GELU lets through", exact, "in the transformer of 2017",
       activation_for("gelu*", "relu")},
      {"gelu-for-silu", everywhere, "GELU and SiLU are alike but not the same", "use x / (1 + exp(-x))",
       "with --activation gelu", activation_for("silu", "gelu")},
      {"gelu-for-relu", everywhere, "GELU lets through what ReLU cuts", "use max(x, 0)",
       "with --activation gelu", activation_for("relu", "gelu")},
      {"swiglu-swapped",
       {"swiglu"},
       "SiLU is applied to the wrong half",
       "SiLU belongs to the gate: silu(gate) * up",
       "where a fused projection holds up first, then gate",
       with_swapped("gate", "up")},
      {"swiglu-gate-and-up-swapped",
       {"swiglu-ffn", "block"},
       "SiLU is applied to the wrong projection",
       "SiLU belongs to the gate (Llama's w1), up is w3",
       "",
       with_swapped("w-gate", "w-up")},
      {"swiglu-without-product",
       {"swiglu"},
       "the gate goes on alone",
       "multiply silu(gate) by up",
       "",
       computed_as(
           [](const Trial& call) { return activated(Activation::silu, call.inputs.matrix("gate")); })},
      {"swiglu-with-sigmoid",
       {"swiglu"},
       "the gate passes a sigmoid and not SiLU",
       "use gate * sigmoid(gate) * up",
       "in GLU (Dauphin et al. 2017)",
       computed_as([](const Trial& call) {
         return product(elementwise(call.inputs.matrix("gate"), sigmoid), call.inputs.matrix("up"));
       })},
      {"swiglu-with-gelu",
       {"swiglu"},
       "the gate passes GELU and not SiLU",
       "use silu(gate) * up",
       "in GEGLU (Gemma)",
       computed_as([](const Trial& call) {
         return product(activated(Activation::gelu, call.inputs.matrix("gate")), call.inputs.matrix("up"));
       })},
      {"weight-layout",
       {"linear"},
       "the weight is stored the other way round",
       "transpose the weight (--layout)",
       "with --layout the other way",
       [](Trial& trial) {
         const Matrix weight = trial.inputs.matrix("w");
         return weight.shape(0) == weight.shape(1) && with_other("layout", "in-out", "out-in")(trial);
       }},
      {"linear-bias-missing",
       {"linear"},
       "the bias is not added",
       "add the bias to every row",
       "",
       with_constant("bias", 0)},
      {"memory-keys-transposed",
       {"ffn-memory"},
       "keys are columns where rows were meant",
       "row i of keys scores token x",
       "",
       with_transposed({"keys"})},
      {"memory-normalised",
       {"ffn-memory"},
       "the coefficients go through a softmax, as in attention",
       "weigh the values by the activations themselves",
       "in attention",
       computed_as([](const Trial& call) {
         return matmul(softmax(matmul(call.inputs.matrix("x"), call.inputs.matrix("keys"), Transpose::no,
                                      Transpose::yes)),
                       call.inputs.matrix("values"));
       })},
  };
}

// --- projections and blocks

Matrix zeros_like(const Matrix& a) { return zeros(a.shape(0), a.shape(1)); }

Matrix output_of(const Trial& trial) { return to_matrix(std::get<Array>(trial.run()[0].value), "output"); }

// What the two halves of a block add to x.
Matrix attention_half(const Trial& block) {
  Trial half = block.computed_plainly();
  const char* down = block.inputs.has("w-down") ? "w-down" : "w2";
  half.inputs.set(down, to_array(zeros_like(block.inputs.matrix(down))));
  if (block.inputs.has("b2")) with_constant("b2", 0)(half);
  return total(output_of(half), elementwise(block.inputs.matrix("x"), [](double x) { return -x; }));
}

Matrix feed_forward_half(const Trial& block, const Matrix& x) {
  Trial half(block.operation(), block.options(), block.inputs);
  half.inputs.set("x", to_array(x));
  half.inputs.set("wo", to_array(zeros_like(block.inputs.matrix("wo"))));
  return total(output_of(half), elementwise(x, [](double value) { return -value; }));
}

Matrix normed(const Trial& block, const Matrix& x, const std::string& which) {
  const Operation& norm = *find_operation("norm");
  Trial call(norm, block.options(), {});
  call.set("kind", block.option("norm"));
  call.inputs.set("x", to_array(x));
  if (block.inputs.has("gain" + which)) call.inputs.set("gain", block.inputs.array("gain" + which));
  if (block.inputs.has("bias" + which)) call.inputs.set("bias", block.inputs.array("bias" + which));
  return output_of(call);
}

// The feed-forward layer without the norm in front of it.
Matrix plain_feed_forward(const Trial& block, const Matrix& x) {
  if (block.inputs.has("w-gate")) {
    Trial layer(*find_operation("swiglu-ffn"), {}, block.inputs);
    layer.inputs.set("x", to_array(x));
    return output_of(layer);
  }
  Trial active(*find_operation("activation"), {}, {});
  active.set("kind", block.option("activation"));
  active.inputs.set("x", to_array(linear(x, block.inputs.matrix("w1"), block.inputs.optional_vector("b1"))));
  return linear(output_of(active), block.inputs.matrix("w2"), block.inputs.optional_vector("b2"));
}

std::vector<Mistake> block_mistakes() {
  const std::vector<std::string> in = {"block"};
  const std::vector<std::string> layers = {"multi-head", "block"};
  return {
      {"output-projection-missing",
       {"multi-head"},
       "the joined heads leave the layer unprojected",
       "multiply the joined heads by the output projection",
       "",
       [](Trial& trial) {
         const Matrix weight = trial.inputs.matrix("wo");
         if (weight.shape(0) != weight.shape(1)) return false;
         Matrix identity = zeros_like(weight);
         for (std::size_t i = 0; i < weight.shape(0); ++i) identity(i, i) = 1;
         trial.inputs.set("wo", to_array(identity));
         return true;
       }},
      {"output-projection-transposed", layers, "the output projection is stored the other way round",
       "transpose it: y = x W here, y = x W^T in torch.nn.Linear", "for weights stored [out, in]",
       with_transposed({"wo"})},
      {"projections-transposed", layers, "query, key and value projections are stored the other way round",
       "transpose them: y = x W here, y = x W^T in torch.nn.Linear", "for weights stored [out, in]",
       with_transposed({"wq", "wk", "wv"})},
      {"all-projections-transposed", layers, "all four projections are stored the other way round",
       "transpose them: y = x W here, y = x W^T in torch.nn.Linear", "for weights stored [out, in]",
       with_transposed({"wq", "wk", "wv", "wo"})},
      {"query-key-weights-swapped", layers, "the key projection makes the queries",
       "queries are x wq, keys x wk", "", with_swapped("wq", "wk")},
      {"key-value-weights-swapped", layers, "the value projection makes the keys",
       "keys are x wk, values x wv", "", with_swapped("wk", "wv")},
      {"block-post-norm", in, "the norms come after the residual sums, as in the transformer of 2017",
       "normalise what goes into attention and feed-forward layer, not the sums",
       "in post-norm models (BERT)", computed_as([](const Trial& call) {
         const Matrix x = call.inputs.matrix("x");
         Trial attention(*find_operation("multi-head"), call.options(), call.inputs);
         attention.attention = call.attention;
         const Matrix y = normed(call, total(x, output_of(attention)), "1");
         return normed(call, total(y, plain_feed_forward(call, y)), "2");
       })},
      {"block-residual-normalised", in, "the normalised input is added back",
       "add the input itself: x + attention(norm(x))", "", computed_as([](const Trial& call) {
         const Matrix y = total(normed(call, call.inputs.matrix("x"), "1"), attention_half(call));
         return total(normed(call, y, "2"), feed_forward_half(call, y));
       })},
      {"block-first-residual-normalised", in, "the normalised input is added back after attention",
       "add the input itself: x + attention(norm(x))", "", computed_as([](const Trial& call) {
         const Matrix y = total(normed(call, call.inputs.matrix("x"), "1"), attention_half(call));
         return total(y, feed_forward_half(call, y));
       })},
      {"block-residual-missing", in, "nothing is added back after attention", "return x + attention(norm(x))",
       "", computed_as([](const Trial& call) {
         const Matrix y = attention_half(call);
         return total(y, feed_forward_half(call, y));
       })},
      {"block-second-residual-missing", in, "nothing is added back after the feed-forward layer",
       "return y + ffn(norm(y))", "", computed_as([](const Trial& call) {
         const Matrix y = total(call.inputs.matrix("x"), attention_half(call));
         return feed_forward_half(call, y);
       })},
      {"block-parallel", in, "the feed-forward layer reads the block's input and not attention's sum",
       "feed it y = x + attention(norm(x))", "in parallel blocks (GPT-J, PaLM)",
       computed_as([](const Trial& call) {
         const Matrix x = call.inputs.matrix("x");
         return total(total(x, attention_half(call)), feed_forward_half(call, x));
       })},
      {"block-norm-kind", in, "the norm is of the other kind",
       "take the norm that the model was trained with (--norm)", "with --norm the other way",
       with_other("norm", "layer", "rms")},
      {"block-norms-swapped", in, "the gains of the two norms are exchanged",
       "gain1 goes before attention, gain2 before the feed-forward layer", "",
       with_swapped("gain1", "gain2")},
  };
}

// --- experts

bool renormalises(const Trial& trial) { return trial.option("no-renormalize").empty(); }

// The routing with other logits behind the same experts.
Commit routed_as(const std::function<void(const Trial&, Matrix& logits, Routing&)>& change) {
  return [change](Trial& trial) {
    return trial.compute_by([change](const Trial& call) {
      Matrix logits = call.inputs.matrix("logits");
      const auto chosen = static_cast<std::size_t>(call.number("k"));
      Routing routing = route(logits, chosen, renormalises(call));
      change(call, logits, routing);
      Results results;
      if (call.operation().name == "moe-mix") {
        const bool each = call.inputs.array("expert-outputs").shape.size() == 3;
        results.push_back(array_result(
            "output", mix(routing, each ? call.inputs.matrices("expert-outputs")
                                        : std::vector<Matrix>{call.inputs.matrix("expert-outputs")})));
      }
      Array experts{{routing.weights.shape(0), routing.weights.shape(1)}, {}};
      for (const auto& row : routing.experts)
        experts.values.insert(experts.values.end(), row.begin(), row.end());
      results.push_back(whole_result("experts", experts));
      results.push_back(array_result("weights", routing.weights));
      return results;
    });
  };
}

Commit routed_by(double (*turned)(double logit)) {
  return routed_as([turned](const Trial& call, Matrix& logits, Routing& routing) {
    routing = route(elementwise(logits, turned), routing.weights.shape(1), renormalises(call));
  });
}

void ties_to_the_last(const Trial& call, Matrix& logits, Routing& routing) {
  Matrix reversed = logits;
  const std::size_t experts = logits.shape(1);
  for (std::size_t row = 0; row < logits.shape(0); ++row)
    std::reverse_copy(row_of(logits, row).begin(), row_of(logits, row).end(), row_of(reversed, row).begin());
  routing = route(reversed, routing.weights.shape(1), renormalises(call));
  for (auto& row : routing.experts) {
    for (std::size_t& expert : row) expert = experts - 1 - expert;
  }
}

void sigmoid_weights(const Trial& call, Matrix& logits, Routing& routing) {
  for (std::size_t row = 0; row < routing.experts.size(); ++row) {
    double sum = 0;
    for (std::size_t n = 0; n < routing.experts[row].size(); ++n)
      sum += routing.weights(row, n) = sigmoid(logits(row, routing.experts[row][n]));
    if (!renormalises(call)) continue;
    for (double& weight : row_of(routing.weights, row)) weight /= sum;
  }
}

void equal_weights(const Trial&, Matrix&, Routing& routing) {
  std::fill(routing.weights.begin(), routing.weights.end(),
            1 / static_cast<double>(routing.weights.shape(1)));
}

void softmax_over_tokens(const Trial&, Matrix& logits, Routing& routing) {
  const Matrix shares = transposed(softmax(transposed(logits)));
  for (std::size_t row = 0; row < routing.experts.size(); ++row) {
    for (std::size_t n = 0; n < routing.experts[row].size(); ++n)
      routing.weights(row, n) = shares(row, routing.experts[row][n]);
  }
}

void weights_over_tokens(const Trial& call, Matrix& logits, Routing& routing) {
  routing = route(logits, static_cast<std::size_t>(call.number("k")), false);
  for (std::size_t n = 0; n < routing.weights.shape(1); ++n) {
    double sum = 0;
    for (std::size_t row = 0; row < routing.weights.shape(0); ++row) sum += routing.weights(row, n);
    for (std::size_t row = 0; row < routing.weights.shape(0); ++row) routing.weights(row, n) /= sum;
  }
}

// The softmax without its maximum taken out.
void overflowing_softmax(const Trial& call, Matrix& logits, Routing& routing) {
  for (std::size_t row = 0; row < routing.experts.size(); ++row) {
    double all = 0;
    double chosen = 0;
    for (const double logit : row_of(logits, row)) all += std::exp(logit);
    for (const std::size_t expert : routing.experts[row]) chosen += std::exp(logits(row, expert));
    for (std::size_t n = 0; n < routing.experts[row].size(); ++n) {
      const double own = std::exp(logits(row, routing.experts[row][n]));
      routing.weights(row, n) = own / (renormalises(call) ? chosen : all);
    }
  }
}

void best_expert_twice(const Trial&, Matrix&, Routing& routing) {
  for (auto& row : routing.experts) std::fill(row.begin(), row.end(), row.front());
}

std::vector<Mistake> expert_list() {
  const std::vector<std::string> in = {"moe-route", "moe-mix"};
  return {
      {"experts-not-renormalised", in, "the weights of the chosen experts sum to less than one",
       "divide them by their sum", "with --no-renormalize (Switch, DeepSeek-V2)",
       [](Trial& trial) {
         return renormalises(trial) && routed_as([](const Trial&, Matrix& logits, Routing& routing) {
                  routing = route(logits, routing.weights.shape(1), false);
                })(trial);
       }},
      {"experts-softmax-over-chosen", in,
       "the softmax is taken over the chosen logits only, so it renormalises",
       "take the softmax over all experts and keep the chosen probabilities",
       "with renormalisation (Mixtral)",
       [](Trial& trial) {
         return !renormalises(trial) && routed_as([](const Trial& call, Matrix& logits, Routing& routing) {
           routing = route(logits, static_cast<std::size_t>(call.number("k")), true);
         })(trial);
       }},
      {"experts-ties-to-last", in, "among equal logits the last expert wins", "give ties to the lower index",
       "", routed_as(ties_to_the_last)},
      {"experts-lowest-chosen", in, "the experts of the lowest logits are chosen",
       "choose the highest logits", "", routed_by([](double logit) { return -logit; })},
      {"experts-best-twice", in, "the best expert is taken again in every round",
       "leave out an expert that is already chosen", "", routed_as(best_expert_twice)},
      {"experts-sigmoid", in, "the router's logits pass a sigmoid and not a softmax",
       "take the softmax over the experts", "in DeepSeek-V3", routed_as(sigmoid_weights)},
      {"experts-equal-weights", in, "the chosen experts count alike",
       "weigh them by the router's probabilities", "", routed_as(equal_weights)},
      {"experts-softmax-over-tokens", in, "the softmax runs over the tokens",
       "take the softmax over the experts", "", routed_as(softmax_over_tokens)},
      {"experts-weights-over-tokens", in, "the weights of a choice are divided by their sum over the tokens",
       "divide by the sum over the chosen experts of one token", "", routed_as(weights_over_tokens)},
      {"experts-softmax-overflow", in, "exp of large logits overflows, and inf/inf is NaN",
       "subtract the largest logit before the exponential", "where logits stay below 700",
       routed_as(overflowing_softmax)},
      {"experts-all-mixed",
       {"moe-mix"},
       "all experts are mixed, not the chosen ones",
       "mix the k experts of highest logit only",
       "in a dense mixture",
       [](Trial& trial) {
         return trial.set("k", static_cast<double>(trial.inputs.matrix("logits").shape(1)));
       }},
  };
}

}  // namespace

std::vector<Mistake> layer_mistakes() {
  std::vector<Mistake> all;
  for (const auto& some : {norm_mistakes, activation_mistakes, block_mistakes, expert_list}) {
    std::vector<Mistake> more = some();
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace attnlab

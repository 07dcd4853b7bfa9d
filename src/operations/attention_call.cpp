#include "operations/attention_call.hpp"

#include <algorithm>
#include <limits>

#include "core/matmul.hpp"
#include "core/norm.hpp"
#include "core/softmax.hpp"

namespace attnlab {
namespace {

using Mistakes = std::vector<std::shared_ptr<const AttentionMistake>>;

// The heads with the mask kept aside, so that mistakes can do something else with it.
HeadsResult attend_by_weights(const AttentionCall& call, const HeadsOptions& options,
                              const Mistakes& mistakes) {
  HeadsOptions unmasked = options;
  unmasked.blocks.reset();
  unmasked.options_of = [&options](std::size_t head) {
    AttentionOptions own = options.options_of(head);
    own.mask.reset();
    own.keep_gain.reset();
    return own;
  };
  HeadsResult result = attention_of_heads(call.query, call.key, call.value, unmasked);
  std::vector<Matrix> outputs;
  for (std::size_t head = 0; head < result.heads.size(); ++head) {
    Attention& own = result.heads[head];
    const AttentionOptions given = options.options_of(head);
    HeadWeights state;
    state.scores = own.scores;
    state.visible = given.mask.value_or(full_mask(own.scores.shape(0), own.scores.shape(1)));
    Matrix masked = own.scores;
    for (std::size_t i = 0; i < masked.size(); ++i) {
      if (!state.visible.data()[i]) masked.data()[i] = -std::numeric_limits<double>::infinity();
    }
    state.weights = softmax(masked);
    for (const auto& mistake : mistakes) {
      if (mistake->weights) mistake->weights(state);
    }
    own.scores = masked;
    own.weights = state.weights;
    if (given.keep_gain) {
      for (std::size_t i = 0; i < own.weights.size(); ++i)
        own.weights.data()[i] *= given.keep_gain->data()[i];
    }
    const std::size_t kv_head = kv_head_of(head, options.num_heads, options.num_kv_heads);
    own.output = matmul(own.weights, head_columns(call.value, kv_head, options.num_kv_heads));
    outputs.push_back(own.output);
  }
  result.output = concatenated(outputs);
  return result;
}

HeadsResult attend(AttentionCall call, const Mistakes& mistakes) {
  for (const auto& mistake : mistakes) {
    if (mistake->call) mistake->call(call);
  }
  HeadsOptions options = call.options();
  bool by_weights = false;
  for (const auto& mistake : mistakes) {
    if (mistake->heads) mistake->heads(call, options);
    by_weights |= mistake->weights != nullptr;
  }
  HeadsResult result = by_weights ? attend_by_weights(call, options, mistakes)
                                  : attention_of_heads(call.query, call.key, call.value, options);
  for (const auto& mistake : mistakes) {
    if (mistake->output) mistake->output(call, result.output);
  }
  return result;
}

Matrix added(const Matrix& a, const Matrix& b) {
  Matrix total = a;
  for (std::size_t i = 0; i < total.size(); ++i) total.data()[i] += b.data()[i];
  return total;
}

// The first norm of a block.
Matrix normed(const Trial& block) {
  const NormOptions options{block.number("eps"), block.inputs.optional_vector("gain1"),
                            block.inputs.optional_vector("bias1"), 0};
  return normalized(block.inputs.matrix("x"), block.option("norm") == "rms" ? NormKind::rms : NormKind::layer,
                    options);
}

// The second half of a block: the block itself with nothing coming out of its attention.
Results feed_forward_half(const Trial& block, const Matrix& x) {
  Trial half(block.operation(), block.options(), block.inputs);
  Matrix silent = block.inputs.matrix("wo");
  std::fill(silent.begin(), silent.end(), 0.0);
  half.inputs.set("x", to_array(x));
  half.inputs.set("wo", to_array(silent));
  return half.run_operation();
}

}  // namespace

AttentionCall attention_call(const Trial& trial) {
  const std::string& name = trial.operation().name;
  const std::unique_ptr<OperationSession> session = find_operation("attention")->start();
  copy_options(trial.options(), session->options);
  AttentionCall call{
      *static_cast<const AttentionParams*>(session->parameters.get()), trial.inputs, {}, {}, {}};
  const auto projected = [&](const Matrix& x, const char* weight) {
    return matmul(x, trial.inputs.matrix(weight));
  };
  if (name == "multi-head" || name == "block") {
    const Matrix x = name == "block" ? normed(trial) : trial.inputs.matrix("x");
    call.query = projected(x, "wq");
    call.key = projected(x, "wk");
    call.value = projected(x, "wv");
  } else if (name == "cross-attention") {
    const Matrix encoder = trial.inputs.matrix("x-enc");
    call.query = projected(trial.inputs.matrix("x-dec"), "wq");
    call.key = projected(encoder, "wk");
    call.value = projected(encoder, "wv");
  } else {
    call.query = trial.inputs.matrix("query");
    call.key = trial.inputs.matrix("key");
    call.value = trial.inputs.matrix("value");
  }
  return call;
}

Results run_attention(const Trial& trial) {
  const std::string& name = trial.operation().name;
  const HeadsResult heads = attend(attention_call(trial), trial.attention);
  if (name == "block") {
    const Matrix y = added(trial.inputs.matrix("x"), matmul(heads.output, trial.inputs.matrix("wo")));
    return feed_forward_half(trial, y);
  }
  const bool projects = trial.inputs.has("wo");
  Results results{
      array_result("output", projects ? matmul(heads.output, trial.inputs.matrix("wo")) : heads.output)};
  if (name == "attention" || name == "cross-attention")
    add_heads(results, heads, heads.heads[0].weights.size() > 0);
  return results;
}

}  // namespace attnlab

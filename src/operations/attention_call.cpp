#include "operations/attention_call.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.hpp"
#include "core/matmul.hpp"
#include "core/norm.hpp"
#include "core/softmax.hpp"

namespace attnlab {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

using Mistakes = std::vector<std::shared_ptr<const AttentionMistake>>;

// By the mask, and by a bias of -inf.
Mask visible_keys(const AttentionOptions& options, const Matrix& scores) {
  Mask visible = options.mask.value_or(full_mask(scores.shape(0), scores.shape(1)));
  if (!options.bias) return visible;
  for (std::size_t i = 0; i < visible.size(); ++i)
    visible.data()[i] &= options.bias->data()[i] != minus_infinity;
  return visible;
}

// Weights times values; hidden values of weight 0 stay untouched unless a mistake touches them.
Matrix mixed_values(const HeadWeights& head, const Matrix& value) {
  if (head.touches_hidden) return matmul(head.weights, value);
  Matrix output = zeros(head.weights.shape(0), value.shape(1));
  for (std::size_t i = 0; i < output.shape(0); ++i) {
    const std::span<double> row = row_of(output, i);
    for (std::size_t j = 0; j < value.shape(0); ++j) {
      const double weight = head.weights(i, j);
      if (weight == 0 && !head.visible(i, j)) continue;
      const std::span<const double> mixed = row_of(value, j);
      for (std::size_t c = 0; c < row.size(); ++c) row[c] += weight * mixed[c];
    }
  }
  return output;
}

// The heads with their mask kept aside, so that mistakes can do something else with it.
HeadsResult attend_by_weights(const AttentionCall& call, const HeadsOptions& options,
                              const Mistakes& mistakes) {
  HeadsOptions undropped = options;
  undropped.blocks.reset();
  undropped.options_of = [&options](std::size_t head) {
    AttentionOptions own = options.options_of(head);
    own.keep_gain.reset();
    return own;
  };
  HeadsOptions unmasked = undropped;
  unmasked.options_of = [&undropped](std::size_t head) {
    AttentionOptions own = undropped.options_of(head);
    own.mask.reset();
    if (own.bias) std::replace(own.bias->begin(), own.bias->end(), minus_infinity, 0.0);
    return own;
  };
  HeadsResult result = attention_of_heads(call.query, call.key, call.value, undropped);
  const HeadsResult seen = attention_of_heads(call.query, call.key, call.value, unmasked);
  std::vector<Matrix> outputs;
  for (std::size_t head = 0; head < result.heads.size(); ++head) {
    Attention& own = result.heads[head];
    const AttentionOptions given = options.options_of(head);
    const Matrix& scores = seen.heads[head].scores;
    HeadWeights state{call, scores, visible_keys(given, scores), own.weights};
    for (const auto& mistake : mistakes) {
      if (mistake->weights) mistake->weights(state);
    }
    if (given.keep_gain) {
      for (std::size_t i = 0; i < state.weights.size(); ++i)
        state.weights.data()[i] *= given.keep_gain->data()[i];
    }
    const std::size_t kv_head = kv_head_of(head, options.num_heads, options.num_kv_heads);
    own.output = mixed_values(state, head_columns(call.value, kv_head, options.num_kv_heads));
    own.weights = std::move(state.weights);
    outputs.push_back(own.output);
  }
  result.output = concatenated(outputs);
  return result;
}

// The first two stages of all mistakes.
HeadsOptions committed(AttentionCall& call, const Mistakes& mistakes) {
  const auto require = [](bool made) {
    if (!made) throw Error(ErrorKind::data, "these options and arrays leave no room for the mistake");
  };
  for (const auto& mistake : mistakes) {
    if (mistake->call) require(mistake->call(call));
  }
  HeadsOptions options = call.options();
  for (const auto& mistake : mistakes) {
    if (mistake->heads) require(mistake->heads(call, options));
  }
  return options;
}

HeadsResult attend_heads(const AttentionCall& call, const HeadsOptions& options, const Mistakes& mistakes) {
  const bool by_weights =
      std::any_of(mistakes.begin(), mistakes.end(), [](const auto& one) { return one->weights != nullptr; });
  return by_weights ? attend_by_weights(call, options, mistakes)
                    : attention_of_heads(call.query, call.key, call.value, options);
}

HeadsResult attend(AttentionCall call, const Mistakes& mistakes) {
  const HeadsOptions options = committed(call, mistakes);
  HeadsResult result = attend_heads(call, options, mistakes);
  for (const auto& mistake : mistakes) {
    if (mistake->output) mistake->output(call, result.output);
  }
  return result;
}

template <class Grid>
Grid picked(const Grid& grid, const std::vector<std::size_t>& rows) {
  Grid some = Grid::from_shape({rows.size(), grid.shape(1)});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < grid.shape(1); ++j) some(i, j) = grid(rows[i], j);
  }
  return some;
}

// Some of the queries, and one head as the only one where the glimpse is of one.
HeadsOptions picked(const HeadsOptions& options, const Glimpse& glimpse) {
  HeadsOptions some = options;
  if (glimpse.head) some.num_heads = some.num_kv_heads = 1;
  some.query_positions.clear();
  for (const std::size_t row : glimpse.rows) some.query_positions.push_back(options.query_positions.at(row));
  some.options_of = [&options, &glimpse](std::size_t head) {
    AttentionOptions own = options.options_of(glimpse.head.value_or(head));
    if (own.mask) own.mask = picked(*own.mask, glimpse.rows);
    if (own.bias) own.bias = picked(*own.bias, glimpse.rows);
    if (own.keep_gain) own.keep_gain = picked(*own.keep_gain, glimpse.rows);
    return own;
  };
  return some;
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

AttentionParams attention_params(const Trial& trial) {
  const std::string& name = trial.operation().name;
  if (name == "attention" || name == "multi-head")
    return *static_cast<const AttentionParams*>(trial.parameters());
  const std::unique_ptr<OperationSession> session = find_operation("attention")->start();
  copy_options(trial.options(), session->options);
  return *static_cast<const AttentionParams*>(session->parameters.get());
}

}  // namespace

Glimpsed glimpse_of_attention(AttentionCall call, const Mistakes& mistakes, const Glimpse& glimpse) {
  const std::size_t num_heads = call.params.num_heads;
  const HeadsOptions options = committed(call, mistakes);
  Glimpse computed = glimpse;
  if (glimpse.head) {
    const std::size_t head = *glimpse.head * options.num_heads / num_heads;
    const std::size_t kv_head = kv_head_of(head, options.num_heads, options.num_kv_heads);
    call.query = head_columns(call.query, head, options.num_heads);
    call.key = head_columns(call.key, kv_head, options.num_kv_heads);
    call.value = head_columns(call.value, kv_head, options.num_kv_heads);
    computed.head = head;
  }
  const bool all_rows =
      std::any_of(mistakes.begin(), mistakes.end(), [](const auto& one) { return one->mixes_rows; });
  if (all_rows) {
    computed.rows.resize(call.query.shape(0));
    std::iota(computed.rows.begin(), computed.rows.end(), std::size_t{0});
  }
  call.query = picked(call.query.own(), computed.rows);
  HeadsResult result = attend_heads(call, picked(options, computed), mistakes);
  Attention part;
  if (glimpse.head) {
    part = std::move(result.heads[0]);
  } else {
    part.output = std::move(result.output);
  }
  if (all_rows) {
    part.output = picked(part.output, glimpse.rows);
    if (glimpse.head) {
      part.scores = picked(part.scores, glimpse.rows);
      part.weights = picked(part.weights, glimpse.rows);
      const Vector lse = part.lse;
      part.lse = Vector::from_shape({glimpse.rows.size()});
      for (std::size_t n = 0; n < glimpse.rows.size(); ++n) part.lse(n) = lse(glimpse.rows[n]);
    }
  }
  return {std::move(part), computed.head.value_or(0), options.num_heads};
}

AttentionCall attention_call(const Trial& trial) {
  const std::string& name = trial.operation().name;
  AttentionCall call{attention_params(trial), trial.inputs, {}, {}, {}};
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

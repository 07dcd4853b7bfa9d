// Attention on arrays of doubles by the float32 kernels.
#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernels/array_attention.hpp"
#include "core/kernels/thread_pool.hpp"
#include "operations/attention_parameters.hpp"

namespace attnlab {
namespace {

// [heads, rows, width] from heads side by side.
Array heads_in_front(const Matrix& packed, std::size_t num_heads) {
  Array array{{num_heads, packed.shape(0), head_width(packed.shape(1), num_heads)}, {}};
  for (std::size_t head = 0; head < num_heads; ++head) {
    const Matrix columns = head_columns(packed, head, num_heads);
    array.values.insert(array.values.end(), columns.begin(), columns.end());
  }
  return array;
}

void refuse_what_is_not_offered(const AttentionParams& params, const Inputs& inputs, bool is_aligned) {
  const auto refuse = [](const std::string& what) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--dtype float32 has kernels for heads, --causal, windows and --scale: leave out {}",
                    what));
  };
  for (const InputInfo& input : attention_inputs()) {
    if (inputs.has(input.name)) refuse("--" + input.name);
  }
  if (params.strided) refuse("--pattern");
  if (params.rope) refuse("--rope");
  if (params.qk_norm) refuse("--qk-norm");
  if (params.alibi || params.alibi_slope) refuse("ALiBi");
  if (!is_aligned) refuse("--causal-align top-left");
}

}  // namespace

HeadsResult fast_attention(const AttentionParams& params, const Inputs& inputs) {
  const Matrix query = inputs.matrix("query");
  const Matrix key = inputs.matrix("key");
  const Matrix value = inputs.matrix("value");
  refuse_what_is_not_offered(
      params, inputs, params.causal_align == CausalAlign::bottom_right || query.shape(0) == key.shape(0));
  const std::size_t num_heads = params.num_heads;
  const std::size_t num_kv_heads = params.num_kv_heads.value_or(num_heads);
  kv_head_of(0, num_heads, num_kv_heads);

  FlashOptions options;
  options.causal = params.causal || params.window.has_value();
  options.window_left = params.window_left;
  options.window_right = params.window_right;
  if (params.window)
    options.window_left = std::min(params.window_left.value_or(*params.window), *params.window - 1);
  if (params.scale) options.scale = static_cast<float>(*params.scale);
  if (params.flash) options.block_keys = params.blocks.keys;
  ThreadPool threads(params.threads);
  const ArrayAttention fast =
      flash_attention(heads_in_front(query, num_heads), heads_in_front(key, num_kv_heads),
                      heads_in_front(value, num_kv_heads), options, threads);

  HeadsResult result;
  std::vector<Matrix> outputs;
  const std::size_t width = fast.output.shape[2];
  for (std::size_t head = 0; head < num_heads; ++head) {
    Matrix& output = outputs.emplace_back(Matrix::from_shape({query.shape(0), width}));
    std::copy_n(fast.output.values.data() + head * output.size(), output.size(), output.data());
    Attention& own = result.heads.emplace_back();
    own.lse = zeros(query.shape(0));
    std::copy_n(fast.log_sum_exp.values.data() + head * query.shape(0), query.shape(0), own.lse.data());
  }
  result.output = concatenated(outputs);
  return result;
}

}  // namespace attnlab

#include "core/kernels/flash_attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernels/flash_checks.hpp"
#include "core/kernels/kernel_table.hpp"

namespace attnlab {
namespace {

// Beyond any key, yet far from overflow when positions are added.
constexpr std::ptrdiff_t unlimited = std::ptrdiff_t{1} << 61;
constexpr std::size_t largest_size = std::size_t{1} << 40;

void check_size(std::size_t size, const char* name, std::size_t least) {
  if (size < least || size > largest_size) {
    throw Error(ErrorKind::data, fmt::format("flash attention: {} is {}, must be from {} to {}", name, size,
                                             least, largest_size));
  }
}

// Each pass over the keys serves a block of queries, so a larger one reads less; its queries and sums must
// stay in the second-level cache, and there must be enough blocks for the threads to share. Equal blocks are
// better shared. Tiles are cut anew in each pass, so they want larger blocks.
std::size_t chosen_block_queries(const FlashInputs& inputs, InstructionSet set, std::size_t num_threads) {
  constexpr std::size_t least = 192;
  constexpr std::size_t panel = 96;  // a multiple of every instruction set's
  const std::size_t most = set == InstructionSet::amx ? 1024 : 768;
  const std::size_t cached_floats = most * 256;
  std::size_t block = std::clamp(cached_floats / (inputs.head_dim + inputs.value_dim), least, most);
  const auto num_blocks = [&] { return (inputs.num_queries + block - 1) / block; };
  const std::size_t shared = num_threads == 1 ? 1 : 4 * num_threads;
  while (block > least && inputs.num_heads * num_blocks() < shared) block /= 2;
  const std::size_t equal = (inputs.num_queries + num_blocks() - 1) / num_blocks();
  return (equal + panel - 1) / panel * panel;
}

std::ptrdiff_t limit_or(std::optional<std::size_t> window, std::ptrdiff_t otherwise) {
  return window && *window < static_cast<std::size_t>(unlimited) ? static_cast<std::ptrdiff_t>(*window)
                                                                 : otherwise;
}

/// The work of all tasks; empty where the set is not exact for some of the numbers.
std::optional<FlashWork> attend_all(const FlashInputs& inputs, HeadView<float> output,
                                    const FlashOptions& options, InstructionSet set, ThreadPool& threads,
                                    std::span<float> log_sum_exp) {
  const KernelTable& kernels = kernels_of(set);
  const FlashTask common = common_flash_task(inputs, output, options);
  const std::size_t block_queries =
      std::min(options.block_queries.value_or(chosen_block_queries(inputs, set, threads.num_threads())),
               inputs.num_queries);
  const std::size_t num_blocks = (inputs.num_queries + block_queries - 1) / block_queries;
  const std::size_t group = inputs.num_heads / inputs.num_kv_heads;

  FlashWork work;
  work.scratch_floats = kernels.flash_scratch(static_cast<std::ptrdiff_t>(block_queries), common.block_keys,
                                              common.head_dim, common.value_dim);
  std::vector<float*> scratch;
  for (std::size_t worker = 0; worker < threads.num_threads(); ++worker) {
    scratch.push_back(threads.scratch(worker, work.scratch_floats));
  }
  std::vector<FlashTaskWork> done(threads.num_threads());
  std::atomic<bool> exact = true;

  // Heads in turn, so that the keys and values of one stay in the cache; the longest (last, when causal)
  // block first, so that no thread begins a long one when the others are through.
  threads.run(inputs.num_heads * num_blocks, [&](std::size_t index, std::size_t worker) {
    if (!exact) return;
    const std::size_t head = index / num_blocks;
    const std::size_t block = num_blocks - 1 - index % num_blocks;
    FlashTask task = common;
    task.query = inputs.query.data + head * inputs.query.head_stride;
    task.key = inputs.key.data + head / group * inputs.key.head_stride;
    task.value = inputs.value.data + head / group * inputs.value.head_stride;
    task.output = output.data + head * output.head_stride;
    task.log_sum_exp = log_sum_exp.empty() ? nullptr : log_sum_exp.data() + head * inputs.num_queries;
    task.first_query = static_cast<std::ptrdiff_t>(block * block_queries);
    task.end_query = static_cast<std::ptrdiff_t>(std::min((block + 1) * block_queries, inputs.num_queries));
    const FlashTaskWork task_work = kernels.flash(task, scratch[worker]);
    if (!task_work.exact) exact = false;
    done[worker].scores += task_work.scores;
    done[worker].key_value_rows += task_work.key_value_rows;
  });

  if (!exact) return std::nullopt;
  std::size_t rows = 0;
  for (const FlashTaskWork& part : done) {
    work.scores += static_cast<std::size_t>(part.scores);
    rows += static_cast<std::size_t>(part.key_value_rows);
  }
  const std::size_t query_rows = inputs.num_heads * inputs.num_queries;
  work.floats_read = rows * (inputs.head_dim + inputs.value_dim) + query_rows * inputs.head_dim;
  work.floats_written = query_rows * inputs.value_dim;
  return work;
}

}  // namespace

void check_flash(const FlashInputs& inputs, const FlashOptions& options) {
  check_size(inputs.num_heads, "num_heads", 1);
  check_size(inputs.num_kv_heads, "num_kv_heads", 1);
  check_size(inputs.num_queries, "num_queries", 0);
  check_size(inputs.num_keys, "num_keys", 0);
  check_size(inputs.head_dim, "head_dim", 1);
  check_size(inputs.value_dim, "value_dim", 1);
  if (options.block_queries) check_size(*options.block_queries, "block_queries", 1);
  check_size(options.block_keys, "block_keys", 1);
  if (inputs.num_heads % inputs.num_kv_heads != 0) {
    throw Error(ErrorKind::data,
                fmt::format("flash attention: {} query heads cannot share {} kv heads evenly",
                            inputs.num_heads, inputs.num_kv_heads));
  }
}

FlashTask common_flash_task(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options) {
  const std::ptrdiff_t shift =
      static_cast<std::ptrdiff_t>(inputs.num_keys) - static_cast<std::ptrdiff_t>(inputs.num_queries);
  const std::ptrdiff_t left = limit_or(options.window_left, unlimited);
  const std::ptrdiff_t right = limit_or(options.window_right, unlimited);
  const double scale = options.scale ? static_cast<double>(*options.scale)
                                     : 1.0 / std::sqrt(static_cast<double>(inputs.head_dim));
  FlashTask task{};
  task.query_stride = inputs.query.row_stride;
  task.key_stride = inputs.key.row_stride;
  task.value_stride = inputs.value.row_stride;
  task.output_stride = output.row_stride;
  task.num_keys = static_cast<std::ptrdiff_t>(inputs.num_keys);
  task.head_dim = static_cast<std::ptrdiff_t>(inputs.head_dim);
  task.value_dim = static_cast<std::ptrdiff_t>(inputs.value_dim);
  task.first_offset = shift - left;
  task.last_offset = shift + (options.causal ? 0 : right);
  task.block_keys =
      static_cast<std::ptrdiff_t>(std::min(options.block_keys, std::max<std::size_t>(inputs.num_keys, 1)));
  task.scale = static_cast<float>(scale * std::numbers::log2e);
  return task;
}

FlashWork flash_attention(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options,
                          ThreadPool& threads, std::span<float> log_sum_exp) {
  check_flash(inputs, options);
  if (!log_sum_exp.empty() && log_sum_exp.size() != inputs.num_heads * inputs.num_queries) {
    throw Error(ErrorKind::data, fmt::format("flash attention: log_sum_exp has {} elements, must have {}",
                                             log_sum_exp.size(), inputs.num_heads * inputs.num_queries));
  }
  if (inputs.num_queries == 0) return {};
  const InstructionSet set = usable_instruction_set(options.instruction_set);
  if (const auto done = attend_all(inputs, output, options, set, threads, log_sum_exp)) return *done;
  return *attend_all(inputs, output, options, InstructionSet::avx512, threads, log_sum_exp);
}

}  // namespace attnlab

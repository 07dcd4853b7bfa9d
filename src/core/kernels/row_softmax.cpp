#include "core/kernels/row_softmax.hpp"

#include <algorithm>
#include <numbers>
#include <vector>

#include "core/kernels/kernel_table.hpp"

namespace attnlab {
namespace {

// Above this, the result would not be found in the cache again, and reading it in before writing is a third
// of the traffic; below, writing past the cache is slower.
constexpr std::size_t past_cache_bytes = std::size_t{8} << 20;

}  // namespace

void softmax_rows(const float* scores, float* weights, std::size_t rows, std::size_t columns, float scale,
                  ThreadPool& threads, std::optional<InstructionSet> instruction_set) {
  if (rows == 0 || columns == 0) return;
  const KernelTable& kernels = kernels_of(usable_instruction_set(instruction_set));
  const float factor = scale * std::numbers::log2e_v<float>;
  const bool past_cache = scores != weights && rows > past_cache_bytes / sizeof(float) / columns;
  std::vector<float*> buffers(threads.num_threads());
  if (past_cache) {
    for (std::size_t worker = 0; worker < buffers.size(); ++worker) {
      buffers[worker] = threads.scratch(worker, columns);
    }
  }
  // Enough numbers in a task to be worth handing out.
  constexpr std::size_t task_numbers = 32768;
  const std::size_t task_rows = std::max<std::size_t>(1, task_numbers / columns);
  threads.run((rows + task_rows - 1) / task_rows, [&](std::size_t index, std::size_t worker) {
    const std::size_t end = std::min(rows, (index + 1) * task_rows);
    for (std::size_t row = index * task_rows; row < end; ++row) {
      kernels.softmax_row(scores + row * columns, weights + row * columns, columns, factor, buffers[worker]);
    }
  });
}

}  // namespace attnlab

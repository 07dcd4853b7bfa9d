#include "core/kernels/textbook_attention.hpp"

#include <cblas.h>

#include <algorithm>
#include <numbers>

#include <fmt/format.h>

#include "core/blas.hpp"
#include "core/error.hpp"
#include "core/kernels/flash_checks.hpp"
#include "core/kernels/huge_buffer.hpp"
#include "core/kernels/kernel_table.hpp"

namespace attnlab {
namespace {

// [rows, inner] and [inner, columns] to [rows, columns].
struct Product {
  std::size_t rows;
  std::size_t columns;
  std::size_t inner;
};

void multiply(const Product& shape, const float* a, std::size_t a_stride, CBLAS_TRANSPOSE turn_b,
              const float* b, std::size_t b_stride, float* result, std::size_t result_stride) {
  const auto blas = [](std::size_t size) { return static_cast<int>(size); };
  cblas_sgemm(CblasRowMajor, CblasNoTrans, turn_b, blas(shape.rows), blas(shape.columns), blas(shape.inner),
              1.0f, a, blas(a_stride), b, blas(b_stride), 0.0f, result, blas(result_stride));
}

}  // namespace

std::size_t textbook_attention_bytes(std::size_t num_queries, std::size_t num_keys) {
  constexpr std::size_t most = (std::size_t{1} << 63) / sizeof(float) - 1;
  if (num_keys != 0 && num_queries > most / num_keys) {
    throw Error(ErrorKind::usage,
                fmt::format("the matrix of {} x {} scores would not fit any memory; --method flash "
                            "needs little",
                            num_queries, num_keys));
  }
  return num_queries * num_keys * sizeof(float);
}

FlashWork textbook_attention(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options,
                             ThreadPool& threads) {
  check_flash(inputs, options);
  const std::size_t num_queries = inputs.num_queries;
  const std::size_t num_keys = inputs.num_keys;
  FlashWork work;
  if (num_queries == 0) return work;
  const FlashTask common = common_flash_task(inputs, output, options);
  const KernelTable& kernels = kernels_of(usable_instruction_set(options.instruction_set));
  const std::size_t matrix_bytes = textbook_attention_bytes(num_queries, num_keys);
  HugeBuffer<float> scores(
      matrix_bytes / sizeof(float),
      fmt::format("the matrix of {} x {} scores (--method flash needs little)", num_queries, num_keys));
  require_blas_memory();
  const BlasThreads blas_threads(threads.num_threads());
  const std::size_t group = inputs.num_heads / inputs.num_kv_heads;
  for (std::size_t head = 0; head < inputs.num_heads; ++head) {
    const float* query = inputs.query.data + head * inputs.query.head_stride;
    const float* key = inputs.key.data + head / group * inputs.key.head_stride;
    const float* value = inputs.value.data + head / group * inputs.value.head_stride;
    float* head_output = output.data + head * output.head_stride;
    if (num_keys == 0) {
      for (std::size_t row = 0; row < num_queries; ++row) {
        std::fill_n(head_output + row * output.row_stride, inputs.value_dim, 0.0f);
      }
      continue;
    }
    multiply({num_queries, num_keys, inputs.head_dim}, query, inputs.query.row_stride, CblasTrans, key,
             inputs.key.row_stride, scores.data(), num_keys);
    constexpr std::size_t task_rows = 16;
    threads.run((num_queries + task_rows - 1) / task_rows, [&](std::size_t index, std::size_t) {
      const std::size_t end_row = std::min(num_queries, (index + 1) * task_rows);
      for (std::size_t row = index * task_rows; row < end_row; ++row) {
        const std::ptrdiff_t position = static_cast<std::ptrdiff_t>(row);
        const std::ptrdiff_t last_key = static_cast<std::ptrdiff_t>(num_keys);
        const std::ptrdiff_t end = std::clamp<std::ptrdiff_t>(position + common.last_offset + 1, 0, last_key);
        const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(position + common.first_offset, 0, end);
        float* weights = scores.data() + row * num_keys;
        std::fill(weights, weights + first, 0.0f);
        kernels.softmax_row(weights + first, weights + first, static_cast<std::size_t>(end - first),
                            common.scale, nullptr);
        std::fill(weights + end, weights + num_keys, 0.0f);
      }
    });
    multiply({num_queries, inputs.value_dim, num_keys}, scores.data(), num_keys, CblasNoTrans, value,
             inputs.value.row_stride, head_output, output.row_stride);
  }
  // The matrix is written by the first product, read and written by softmax, and read by the second product.
  const std::size_t matrix = inputs.num_heads * num_queries * num_keys;
  work.scores = matrix;
  work.floats_read =
      inputs.num_heads * (num_queries * inputs.head_dim + num_keys * (inputs.head_dim + inputs.value_dim)) +
      2 * matrix;
  work.floats_written = inputs.num_heads * num_queries * inputs.value_dim + 2 * matrix;
  work.scratch_floats = num_queries * num_keys;
  return work;
}

}  // namespace attnlab

#include "core/kernels/cached_attention.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernels/kernel_table.hpp"

namespace attnlab {
namespace {

// Keys of a task. Constant, so that the order of summation does not depend on the threads.
constexpr std::size_t chunk_tokens = 512;

void check(std::span<const float> query, const CacheView& cache, std::span<const float> output) {
  const auto refuse = [](const std::string& text) {
    throw Error(ErrorKind::data, "cached attention: " + text);
  };
  if (cache.head_dim == 0 || cache.value_dim == 0 || cache.num_kv_heads == 0) {
    refuse("head_dim, value_dim and num_kv_heads must be at least 1");
  }
  if (query.size() % (cache.num_kv_heads * cache.head_dim) != 0) {
    refuse(fmt::format("{} numbers of query are not a whole number of heads of {} for each of {} kv heads",
                       query.size(), cache.head_dim, cache.num_kv_heads));
  }
  const std::size_t num_heads = query.size() / cache.head_dim;
  if (output.size() != num_heads * cache.value_dim) {
    refuse(fmt::format("output has {} elements, must have {}", output.size(), num_heads * cache.value_dim));
  }
  if (!cache.block_table.empty()) {
    if (cache.page_size == 0) refuse("page_size is 0, must be at least 1");
    const std::size_t pages = (cache.num_tokens + cache.page_size - 1) / cache.page_size;
    if (cache.block_table.size() < pages) {
      refuse(fmt::format("the block table names {} pages, {} tokens need {}", cache.block_table.size(),
                         cache.num_tokens, pages));
    }
  }
  if (cache.type == CacheType::int8 && (cache.key_scale == nullptr || cache.value_scale == nullptr)) {
    refuse("int8 needs key_scale and value_scale");
  }
}

template <class Element>
const void* from_head(const void* rows, std::size_t offset) {
  return static_cast<const Element*>(rows) + offset;
}

const void* head_rows(CacheType type, const void* rows, std::size_t offset) {
  switch (type) {
    case CacheType::float32:
      return from_head<float>(rows, offset);
    case CacheType::float16:
      return from_head<std::uint16_t>(rows, offset);
    case CacheType::int8:
      break;
  }
  return from_head<std::int8_t>(rows, offset);
}

void decode(const KernelTable& kernels, CacheType type, const DecodeTask& task) {
  switch (type) {
    case CacheType::float32:
      return kernels.decode_float32(task);
    case CacheType::float16:
      return kernels.decode_float16(task);
    case CacheType::int8:
      return kernels.decode_int8(task);
  }
}

DecodeTask task_of_head(const CacheView& cache, std::size_t kv_head) {
  const std::size_t offset = kv_head * cache.head_stride;
  DecodeTask task{};
  task.key = head_rows(cache.type, cache.key, offset);
  task.value = head_rows(cache.type, cache.value, offset);
  if (cache.type == CacheType::int8) {
    task.key_scale = cache.key_scale + kv_head * cache.scale_head_stride;
    task.value_scale = cache.value_scale + kv_head * cache.scale_head_stride;
  }
  task.block_table = cache.block_table.empty() ? nullptr : cache.block_table.data();
  task.page_size = cache.page_size;
  task.page_stride = cache.page_stride;
  task.token_stride = cache.token_stride;
  task.scale_page_stride = cache.scale_page_stride;
  task.head_dim = static_cast<std::ptrdiff_t>(cache.head_dim);
  task.value_dim = static_cast<std::ptrdiff_t>(cache.value_dim);
  return task;
}

// What the chunks of one query head found: [chunks] maxima and sums, [chunks][value_dim] outputs, `stride`
// apart.
void merge(const float* maxima, const float* sums, const float* outputs, std::size_t chunks,
           std::size_t scalar_stride, std::size_t output_stride, std::span<float> output) {
  float largest = maxima[0];
  for (std::size_t chunk = 1; chunk < chunks; ++chunk)
    largest = std::max(largest, maxima[chunk * scalar_stride]);
  std::fill(output.begin(), output.end(), 0.0f);
  float total = 0.0f;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const float factor = std::exp2(maxima[chunk * scalar_stride] - largest);
    total += factor * sums[chunk * scalar_stride];
    const float* part = outputs + chunk * output_stride;
    for (std::size_t i = 0; i < output.size(); ++i) output[i] += factor * part[i];
  }
  for (float& number : output) number /= total;
}

std::uint16_t nearest_float16(float number) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(number);
  const std::uint16_t sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const float magnitude = std::abs(number);
  if (std::isnan(number)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00u);
  // Adding a power of two moves the last bit that is kept to the end of the float, where hardware rounds.
  constexpr float smallest_normal = 0x1p-14f;
  if (magnitude < smallest_normal) {
    const float shifted = magnitude + 0.5f;
    return static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t magnitude_bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t rounded = magnitude_bits + 0xfffu + (magnitude_bits >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

}  // namespace

CacheView whole_cache(const float* key, const float* value, std::size_t num_kv_heads, std::size_t num_tokens,
                      std::size_t head_dim) {
  CacheView cache;
  cache.key = key;
  cache.value = value;
  cache.num_tokens = num_tokens;
  cache.num_kv_heads = num_kv_heads;
  cache.head_dim = head_dim;
  cache.value_dim = head_dim;
  cache.head_stride = num_tokens * head_dim;
  cache.token_stride = head_dim;
  cache.scale_head_stride = num_tokens;
  return cache;
}

void cached_attention(std::span<const float> query, const CacheView& cache, std::span<float> output,
                      ThreadPool& threads, std::optional<float> scale,
                      std::optional<InstructionSet> instruction_set) {
  check(query, cache, output);
  const std::size_t num_heads = query.size() / cache.head_dim;
  if (num_heads == 0 || cache.num_tokens == 0) {
    std::fill(output.begin(), output.end(), 0.0f);
    return;
  }
  const KernelTable& kernels = kernels_of(usable_instruction_set(instruction_set));
  const double factor =
      (scale ? static_cast<double>(*scale) : 1.0 / std::sqrt(static_cast<double>(cache.head_dim))) *
      std::numbers::log2e;
  std::vector<float> scaled(query.begin(), query.end());
  for (float& number : scaled) number *= static_cast<float>(factor);

  const std::size_t group = num_heads / cache.num_kv_heads;
  const std::size_t chunks = (cache.num_tokens + chunk_tokens - 1) / chunk_tokens;
  std::vector<float> maxima(num_heads * chunks);  // [kv head, chunk, head of the group]
  std::vector<float> sums(num_heads * chunks);
  std::vector<float> outputs(num_heads * chunks * cache.value_dim);
  threads.run(cache.num_kv_heads * chunks, [&](std::size_t index, std::size_t) {
    const std::size_t kv_head = index / chunks;
    const std::size_t chunk = index % chunks;
    DecodeTask task = task_of_head(cache, kv_head);
    task.query = scaled.data() + kv_head * group * cache.head_dim;
    task.group = static_cast<std::ptrdiff_t>(group);
    task.first_key = static_cast<std::ptrdiff_t>(chunk * chunk_tokens);
    task.end_key = static_cast<std::ptrdiff_t>(std::min(cache.num_tokens, (chunk + 1) * chunk_tokens));
    task.maximum = maxima.data() + index * group;
    task.sum = sums.data() + index * group;
    task.output = outputs.data() + index * group * cache.value_dim;
    decode(kernels, cache.type, task);
  });

  for (std::size_t head = 0; head < num_heads; ++head) {
    const std::size_t first = head / group * chunks * group + head % group;
    merge(maxima.data() + first, sums.data() + first, outputs.data() + first * cache.value_dim, chunks, group,
          group * cache.value_dim, output.subspan(head * cache.value_dim, cache.value_dim));
  }
}

std::vector<std::uint16_t> to_float16(std::span<const float> numbers) {
  std::vector<std::uint16_t> halves(numbers.size());
  std::transform(numbers.begin(), numbers.end(), halves.begin(), nearest_float16);
  return halves;
}

Int8Rows to_int8(std::span<const float> numbers, std::size_t width) {
  if (width == 0 || numbers.size() % width != 0) {
    throw Error(ErrorKind::data, fmt::format("int8: {} numbers are not rows of {}", numbers.size(), width));
  }
  Int8Rows rows;
  rows.codes.reserve(numbers.size());
  for (std::size_t first = 0; first < numbers.size(); first += width) {
    const std::span<const float> row = numbers.subspan(first, width);
    float largest = 0.0f;
    for (const float number : row) {
      if (!std::isfinite(number)) throw Error(ErrorKind::data, "int8: a number is not finite");
      largest = std::max(largest, std::abs(number));
    }
    const float scale = largest / 127.0f;
    rows.scales.push_back(scale);
    for (const float number : row) {
      const float code = scale > 0.0f ? std::nearbyint(number / scale) : 0.0f;
      rows.codes.push_back(static_cast<std::int8_t>(std::clamp(code, -127.0f, 127.0f)));
    }
  }
  return rows;
}

}  // namespace attnlab

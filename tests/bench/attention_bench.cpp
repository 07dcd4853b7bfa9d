// What attention costs: blocked, the textbook's way, with a cache; and softmax alone. Rates are useful
// operations only.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/kernels/cached_attention.hpp"
#include "core/kernels/flash_attention.hpp"
#include "core/kernels/huge_buffer.hpp"
#include "core/kernels/row_softmax.hpp"
#include "core/kernels/textbook_attention.hpp"
#include "core/random/seed_sequence.hpp"
#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

HugeBuffer<float> normals(std::size_t count) {
  HugeBuffer<float> numbers(count, "input");
  Pcg64 bits(SeedSequence(466));
  for (float& number : numbers.elements()) number = static_cast<float>(draw_normal(bits));
  return numbers;
}

using Method = FlashWork (*)(const FlashInputs&, HeadView<float>, const FlashOptions&, ThreadPool&);

FlashWork flash(const FlashInputs& inputs, HeadView<float> output, const FlashOptions& options,
                ThreadPool& threads) {
  return flash_attention(inputs, output, options, threads);
}

// Arguments: length, head width, heads, causal, threads.
void attention(benchmark::State& state, Method method, InstructionSet set) {
  if (set > best_instruction_set()) return state.SkipWithError("not supported by this processor");
  const std::size_t length = static_cast<std::size_t>(state.range(0));
  const std::size_t width = static_cast<std::size_t>(state.range(1));
  const std::size_t heads = static_cast<std::size_t>(state.range(2));
  const HugeBuffer<float> query = normals(heads * length * width);
  const HugeBuffer<float> key = normals(heads * length * width);
  const HugeBuffer<float> value = normals(heads * length * width);
  HugeBuffer<float> output(heads * length * width, "output");
  const auto view = [&](const HugeBuffer<float>& numbers) {
    return heads_in_turn(numbers.data(), length, width);
  };
  const FlashInputs inputs{view(query), view(key), view(value), heads, heads, length, length, width, width};
  FlashOptions options;
  options.causal = state.range(3) != 0;
  options.instruction_set = set;
  ThreadPool threads(static_cast<std::size_t>(state.range(4)));
  for ([[maybe_unused]] const auto _ : state) {
    method(inputs, heads_in_turn(output.data(), length, width), options, threads);
    benchmark::ClobberMemory();
  }
  const double products =
      4.0 * static_cast<double>(heads * length * length * width) * (options.causal ? 0.5 : 1.0);
  state.counters["flop/s"] =
      benchmark::Counter(products * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"length", "width", "heads", "causal", "threads"})->UseRealTime();
  for (const int causal : {0, 1}) {
    for (const int width : {64, 128}) {
      bench->Args({1024, width, 12, causal, 1})
          ->Args({4096, width, 1, causal, 1})
          ->Args({4096, width, 2, causal, 2});
    }
  }
}

BENCHMARK_CAPTURE(attention, flash_best, flash, best_instruction_set())->Apply(shapes);
BENCHMARK_CAPTURE(attention, flash_avx512, flash, InstructionSet::avx512)->Apply(shapes);
BENCHMARK_CAPTURE(attention, flash_avx2, flash, InstructionSet::avx2)->Apply(shapes);
BENCHMARK_CAPTURE(attention, flash_sse2, flash, InstructionSet::sse2)->Args({1024, 64, 12, 0, 1});
BENCHMARK_CAPTURE(attention, textbook, textbook_attention, best_instruction_set())->Apply(shapes);

// Arguments: rows and columns, threads.
void softmax(benchmark::State& state) {
  const std::size_t length = static_cast<std::size_t>(state.range(0));
  const HugeBuffer<float> scores = normals(length * length);
  HugeBuffer<float> weights(length * length, "weights");
  ThreadPool threads(static_cast<std::size_t>(state.range(1)));
  for ([[maybe_unused]] const auto _ : state) {
    softmax_rows(scores.data(), weights.data(), length, length, 1.0f, threads);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(length * length * 2 * sizeof(float)));
}
BENCHMARK(softmax)->ArgsProduct({{512, 1024, 2048, 4096}, {1, 2}})->UseRealTime();

// Arguments: tokens, head width, query heads, kv heads, threads.
void cached(benchmark::State& state, CacheType type) {
  const std::size_t tokens = static_cast<std::size_t>(state.range(0));
  const std::size_t width = static_cast<std::size_t>(state.range(1));
  const std::size_t heads = static_cast<std::size_t>(state.range(2));
  const std::size_t kv_heads = static_cast<std::size_t>(state.range(3));
  const std::size_t element = type == CacheType::float32 ? 4 : type == CacheType::float16 ? 2 : 1;
  const HugeBuffer<float> query = normals(heads * width);
  // Only the time matters, so a narrower type reads the floats' bytes; int8 has scales that keep them small.
  const HugeBuffer<float> key(kv_heads * tokens * width, "key");
  HugeBuffer<float> value(kv_heads * tokens * width, "value");
  const std::vector<float> scales(kv_heads * tokens, 0.01f);
  CacheView cache = whole_cache(key.data(), value.data(), kv_heads, tokens, width);
  cache.type = type;
  cache.key_scale = scales.data();
  cache.value_scale = scales.data();
  std::vector<float> output(heads * width);
  ThreadPool threads(static_cast<std::size_t>(state.range(4)));
  for ([[maybe_unused]] const auto _ : state) {
    cached_attention(query.elements(), cache, output, threads);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(2 * kv_heads * tokens * width * element));
}

void caches(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"tokens", "width", "heads", "kv_heads", "threads"})->UseRealTime();
  bench->Args({4096, 64, 12, 12, 1})
      ->Args({16384, 128, 8, 8, 1})
      ->Args({4096, 128, 32, 8, 1})
      ->Args({16384, 128, 8, 8, 2});
}
BENCHMARK_CAPTURE(cached, float32, CacheType::float32)->Apply(caches);
BENCHMARK_CAPTURE(cached, float16, CacheType::float16)->Apply(caches);
BENCHMARK_CAPTURE(cached, int8, CacheType::int8)->Apply(caches);

}  // namespace
}  // namespace attnlab

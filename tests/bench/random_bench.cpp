// What a million draws cost, by engine and by distribution.
#include <vector>

#include <benchmark/benchmark.h>

#include "core/random/generator.hpp"
#include "core/random/normal_engine.hpp"
#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

void plain_loop(benchmark::State& state) {
  Pcg64 bits(SeedSequence(466));
  std::vector<double> out(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] const auto _ : state) {
    for (double& value : out) value = draw_normal(bits);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}

template <NormalEngine engine>
void normals(benchmark::State& state) {
  if (!is_supported(engine)) return state.SkipWithError("not supported by this processor");
  Pcg64 bits(SeedSequence(466));
  std::vector<double> out(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] const auto _ : state) {
    fill_normals(bits, out, std::nullopt, engine);
    benchmark::ClobberMemory();
  }
}

template <NormalEngine engine>
void skipped_normals(benchmark::State& state) {
  if (!is_supported(engine)) return state.SkipWithError("not supported by this processor");
  Pcg64 bits(SeedSequence(466));
  for ([[maybe_unused]] const auto _ : state) {
    skip_normals(bits, static_cast<std::size_t>(state.range(0)), engine);
    benchmark::DoNotOptimize(bits);
  }
}

/// Fills a vector over and over with one of the generator's distributions.
template <class Item, class Fill>
void fill_repeatedly(benchmark::State& state, Fill fill) {
  Generator rng(466);
  std::vector<Item> out(static_cast<std::size_t>(state.range(0)));
  for ([[maybe_unused]] const auto _ : state) {
    fill(rng, std::span(out));
    benchmark::ClobberMemory();
  }
}

void uniforms(benchmark::State& state) {
  fill_repeatedly<double>(state, [](Generator& rng, std::span<double> out) { rng.fill_random(out); });
}

void float_normals(benchmark::State& state) {
  fill_repeatedly<float>(state, [](Generator& rng, std::span<float> out) { rng.fill_standard_normal(out); });
}

void integers(benchmark::State& state) {
  fill_repeatedly<std::int64_t>(state, [](Generator& rng, std::span<std::int64_t> out) {
    rng.fill_integers(out, std::int64_t{0}, std::int64_t{1000});
  });
}

void shuffles(benchmark::State& state) {
  fill_repeatedly<std::int64_t>(state,
                                [](Generator& rng, std::span<std::int64_t> items) { rng.shuffle(items); });
}

constexpr std::int64_t million = 1'000'000;
BENCHMARK(plain_loop)->Arg(million);
BENCHMARK(normals<NormalEngine::portable>)->Name("portable")->Arg(100)->Arg(1000)->Arg(million);
BENCHMARK(normals<NormalEngine::avx2>)->Name("avx2")->Arg(100)->Arg(1000)->Arg(million);
BENCHMARK(normals<NormalEngine::avx512>)->Name("ifma")->Arg(100)->Arg(1000)->Arg(million);
BENCHMARK(skipped_normals<NormalEngine::avx512>)->Name("ifma_skipped")->Arg(million);
BENCHMARK(uniforms)->Arg(million);
BENCHMARK(float_normals)->Arg(million);
BENCHMARK(integers)->Arg(million);
BENCHMARK(shuffles)->Arg(100'000);

}  // namespace
}  // namespace attnlab

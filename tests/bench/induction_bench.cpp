// What one step of training costs, with the sequences drawn: the default model and its one-layer control.
#include <benchmark/benchmark.h>

#include "core/induction/trainer.hpp"

namespace attnlab {
namespace {

void training_step(benchmark::State& state) {
  ModelShape shape;
  shape.num_layers = static_cast<std::size_t>(state.range(0));
  Generator rng(466);
  ThreadPool threads(1);
  ModelWeights<float> weights = random_weights(shape, rng);
  Trainer trainer(shape, SequenceRule{}, TrainingOptions{}, std::move(weights), rng, threads);
  for ([[maybe_unused]] const auto _ : state) benchmark::DoNotOptimize(trainer.step());
}
BENCHMARK(training_step)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace attnlab

// Training while looking: how a model and its heads change from step to step.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/induction/measure.hpp"
#include "core/induction/trainer.hpp"

namespace attnlab {

/// What was measured after so many steps.
struct RecordPoint {
  std::size_t step = 0;
  Evaluation evaluation;
};

/// Trains to `steps` steps and measures at 0, every `every` steps and at the end; `progress` is told each
/// measurement.
std::vector<RecordPoint> train_and_record(Trainer& trainer, const ModelShape& shape, std::size_t steps,
                                          std::size_t every, std::span<const RepeatedSequence> sequences,
                                          ThreadPool& threads,
                                          const std::function<void(const RecordPoint&)>& progress = {});

/// The first recorded step whose repeated loss is below `nats`; none when it never is.
std::optional<std::size_t> first_step_below(std::span<const RecordPoint> record, double nats);
/// The first recorded step at which some head of `layer` matches prefixes with more than `score`.
std::optional<std::size_t> first_step_matching(std::span<const RecordPoint> record, std::size_t layer,
                                               double score);

}  // namespace attnlab

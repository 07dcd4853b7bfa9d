#include "core/induction/record.hpp"

namespace attnlab {

std::vector<RecordPoint> train_and_record(Trainer& trainer, const ModelShape& shape, std::size_t steps,
                                          std::size_t every, std::span<const RepeatedSequence> sequences,
                                          ThreadPool& threads,
                                          const std::function<void(const RecordPoint&)>& progress) {
  std::vector<RecordPoint> record;
  for (std::size_t step = 0;; ++step) {
    if (step % every == 0 || step == steps) {
      record.push_back({step, evaluate(shape, trainer.weights(), sequences, threads)});
      if (progress) progress(record.back());
    }
    if (step == steps) return record;
    trainer.step();
  }
}

std::optional<std::size_t> first_step_below(std::span<const RecordPoint> record, double nats) {
  for (const RecordPoint& point : record)
    if (point.evaluation.repeated_loss < nats) return point.step;
  return std::nullopt;
}

std::optional<std::size_t> first_step_matching(std::span<const RecordPoint> record, std::size_t layer,
                                               double score) {
  for (const RecordPoint& point : record)
    if (point.evaluation.best(&HeadScores::prefix_matching, layer) > score) return point.step;
  return std::nullopt;
}

}  // namespace attnlab

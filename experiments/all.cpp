#include "experiments/all.hpp"

namespace attnlab::experiments {

const std::vector<Experiment>& all() {
  static const std::vector<Experiment> experiments = {
      attention_experiment(), scaling_experiment(), equivariance_experiment(), sinusoidal_experiment(),
      rope_experiment(),      params_experiment(),  induction_experiment(),
  };
  return experiments;
}

const Experiment* find(std::string_view name) {
  for (const Experiment& experiment : all()) {
    if (experiment.name == name) return &experiment;
  }
  return nullptr;
}

}  // namespace attnlab::experiments

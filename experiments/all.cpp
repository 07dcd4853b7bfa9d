#include "experiments/all.hpp"

namespace attnlab::experiments {

const std::vector<Experiment>& all() {
  static const std::vector<Experiment> experiments = {
      // Attention as soft lookup
      attention_experiment(),
      lookup_experiment(),
      paths_experiment(),
      // Why scale by the square root of the dimension
      scaling_experiment(),
      qk_norm_experiment(),
      // Causal masking
      masking_experiment(),
      // Multi-head attention
      heads_experiment(),
      gqa_experiment(),
      induction_experiment(),
      // Positional information
      equivariance_experiment(),
      sinusoidal_experiment(),
      rope_experiment(),
      rope_scaling_experiment(),
      alibi_experiment(),
      positions_experiment(),
      // The transformer block
      activations_experiment(),
      ffn_memory_experiment(),
      moe_experiment(),
      norm_placement_experiment(),
      architectures_experiment(),
      // Costs: quadratic attention and the KV cache
      params_experiment(),
      cost_experiment(),
      flash_experiment(),
      approximations_experiment(),
      kv_cache_experiment(),
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

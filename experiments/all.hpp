// The experiments, one exported function each, and the list of them in the lesson's order.
#pragma once

#include <string_view>
#include <vector>

#include "lab/experiment.hpp"

namespace attnlab::experiments {

Experiment attention_experiment();
Experiment lookup_experiment();
Experiment paths_experiment();
Experiment scaling_experiment();
Experiment qk_norm_experiment();
Experiment masking_experiment();
Experiment heads_experiment();
Experiment gqa_experiment();
Experiment equivariance_experiment();
Experiment sinusoidal_experiment();
Experiment rope_experiment();
Experiment rope_scaling_experiment();
Experiment alibi_experiment();
Experiment positions_experiment();
Experiment activations_experiment();
Experiment ffn_memory_experiment();
Experiment moe_experiment();
Experiment norm_placement_experiment();
Experiment architectures_experiment();
Experiment params_experiment();
Experiment induction_experiment();
Experiment cost_experiment();
Experiment kv_cache_experiment();
Experiment flash_experiment();
Experiment approximations_experiment();

/// All experiments in the lesson's order.
const std::vector<Experiment>& all();
/// Null when there is none of that name.
const Experiment* find(std::string_view name);

}  // namespace attnlab::experiments

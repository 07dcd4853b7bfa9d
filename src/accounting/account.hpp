// All figures of one model in groups, under names that scripts can rely on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accounting/architecture.hpp"
#include "accounting/compute.hpp"
#include "accounting/parameters.hpp"

namespace attnlab {

/// What the model is asked to do.
struct Workload {
  std::int64_t seq_len = 1024;
  std::int64_t batch = 1;
  std::int64_t cache_bits = 16;              ///< of one number in the cache
  std::int64_t weight_bits = 16;             ///< of a weight, beside the cache in the budget
  std::optional<Int128> budget;              ///< bytes for weights and cache
  std::optional<std::int64_t> train_tokens;  ///< tokens to train on
};

struct AccountGroup {
  std::string
      name;  ///< "parameters", "training-flops", "inference-flops", "cache", "scores", "training-memory"
  std::string title;  ///< one line for readers
  std::vector<Quantity> quantities;
};

/// Every figure of parameters.hpp and compute.hpp, in groups.
std::vector<AccountGroup> account_for(const Architecture& architecture, const ParameterCount& count,
                                      const Workload& workload);

/// The figure of that name in any group; nullptr without it.
const Quantity* find_figure(const std::vector<AccountGroup>& account, std::string_view name);

/// "6 x 85,054,464 = 510,326,784 FLOPs" behind name and formula, where there is one.
std::string explained(const Quantity& quantity);

/// "decoder.mlp.up.weight": the component's name behind its stack's, where there are two.
std::string full_name(const Component& component);

/// "12 layers x 8 copies x [768, 768] = 7,077,888" behind the name.
std::string explained(const Component& component);

/// "36 MiB (37.75 MB)": both, each named.
std::string byte_text(Int128 bytes);

}  // namespace attnlab

#include "accounting/architecture.hpp"

#include "core/error.hpp"

namespace attnlab {
namespace {

/// Appends weights of one part under one prefix.
class Collector {
 public:
  Collector(std::vector<Weight>& weights, Part part, std::string prefix)
      : weights_(weights), part_(part), prefix_(std::move(prefix)) {}

  void matrix(std::string_view name, std::int64_t out, std::int64_t in, bool bias, Use use = Use::product) {
    add(name, ".weight", {out, in}, use);
    if (bias) add(name, ".bias", {out}, Use::added);
  }
  void vector(std::string_view name, std::string_view suffix, std::int64_t width) {
    add(name, suffix, {width}, Use::added);
  }
  void add(std::string_view name, std::string_view suffix, std::vector<std::int64_t> shape, Use use) {
    weights_.push_back(
        {prefix_ + std::string(name) + std::string(suffix), part_, std::move(shape), use, copies, active});
  }

  std::int64_t copies = 1;
  std::int64_t active = 1;

 private:
  std::vector<Weight>& weights_;
  Part part_;
  std::string prefix_;
};

void add_norm(std::vector<Weight>& weights, const std::string& name, std::vector<std::int64_t> shape,
              bool bias) {
  weights.push_back({name + ".weight", Part::norms, shape, Use::added});
  if (bias) weights.push_back({name + ".bias", Part::norms, std::move(shape), Use::added});
}

/// Queries and keys made through low-rank factors; only the small latent is cached.
void add_latent_projections(std::vector<Weight>& weights, Collector& collect, const AttentionShape& a,
                            std::int64_t d_model, const std::string& prefix) {
  const std::int64_t query_width = a.heads * a.key_dim;
  if (a.query_rank > 0) {
    collect.matrix("query_down", a.query_rank, d_model, a.query_bias);
    add_norm(weights, prefix + "query_norm", {a.query_rank}, false);
    collect.matrix("query_up", query_width, a.query_rank, false);
  } else {
    collect.matrix("query", query_width, d_model, false);
  }
  collect.matrix("key_value_down", a.key_value_rank + a.rotary_dim, d_model, a.key_bias);
  add_norm(weights, prefix + "key_value_norm", {a.key_value_rank}, false);
  collect.matrix("key_value_up", a.heads * (a.key_dim - a.rotary_dim + a.value_dim), a.key_value_rank, false);
}

std::vector<std::int64_t> query_key_norm_shape(const AttentionShape& a, std::int64_t heads) {
  switch (a.query_key_norm) {
    case QueryKeyNorm::width:
      return {heads * a.key_dim};
    case QueryKeyNorm::per_head:
      return {heads, a.key_dim};
    default:
      return {a.key_dim};
  }
}

void add_attention(std::vector<Weight>& weights, const AttentionShape& a, std::int64_t d_model,
                   const std::string& prefix, Use key_value_use) {
  Collector collect(weights, Part::attention, prefix);
  if (a.latent) {
    add_latent_projections(weights, collect, a, d_model, prefix);
  } else {
    collect.matrix("query", a.heads * a.key_dim, d_model, a.query_bias);
    collect.matrix("key", a.kv_heads * a.key_dim, d_model, a.key_bias, key_value_use);
    collect.matrix("value", a.kv_heads * a.value_dim, d_model, a.value_bias, key_value_use);
  }
  collect.matrix("output", d_model, a.heads * a.value_dim, a.output_bias);
  if (a.query_key_norm != QueryKeyNorm::none) {
    add_norm(weights, prefix + "query_norm", query_key_norm_shape(a, a.heads), a.query_key_norm_bias);
    add_norm(weights, prefix + "key_norm", query_key_norm_shape(a, a.kv_heads), a.query_key_norm_bias);
  }
  if (a.sinks) collect.vector("sinks", "", a.heads);
  if (a.position_buckets > 0) {
    collect.add("relative_bias", ".weight", {a.position_buckets, a.heads}, Use::added);
  }
}

void add_feed_forward(Collector collect, const FeedForwardShape& mlp, std::int64_t d_model) {
  if (mlp.gated) collect.matrix("gate", mlp.width, d_model, mlp.bias);
  collect.matrix("up", mlp.width, d_model, mlp.bias);
  collect.matrix("down", d_model, mlp.width, mlp.bias);
}

void add_experts(std::vector<Weight>& weights, const Experts& experts, std::int64_t d_model) {
  Collector router(weights, Part::router, "router");
  router.matrix("", experts.count, d_model, experts.router_bias);
  if (experts.correction_bias) router.vector("", ".correction_bias", experts.count);
  Collector routed(weights, Part::experts, "expert.");
  routed.copies = experts.count;
  routed.active = experts.per_token;
  add_feed_forward(routed, experts.each, d_model);
  if (experts.shared.width == 0) return;
  add_feed_forward(Collector(weights, Part::mlp, "shared_expert."), experts.shared, d_model);
  if (experts.shared_gate)
    Collector(weights, Part::router, "shared_expert_gate").matrix("", 1, d_model, false);
}

}  // namespace

std::string_view name_of(Part part) {
  switch (part) {
    case Part::embedding:
      return "embedding";
    case Part::attention:
      return "attention";
    case Part::mlp:
      return "mlp";
    case Part::router:
      return "router";
    case Part::experts:
      return "experts";
    case Part::norms:
      return "norms";
    case Part::lm_head:
      return "lm_head";
    case Part::stem:
      return "stem";
    case Part::head:
      return "head";
  }
  throw Error(ErrorKind::fault, "a part of a model without a name");
}

Int128 elements_of(const Weight& weight) {
  Int128 product = 1;
  for (const std::int64_t size : weight.shape) {
    product = checked_multiply(product, size, "the number of elements of a weight");
  }
  return product;
}

std::vector<Weight> layer_weights(const Layer& layer, std::int64_t d_model) {
  std::vector<Weight> weights;
  add_attention(weights, layer.attention, d_model, "attention.", Use::product);
  if (layer.cross) add_attention(weights, *layer.cross, d_model, "cross_attention.", Use::source);
  if (layer.experts) {
    add_experts(weights, *layer.experts, d_model);
  } else {
    add_feed_forward(Collector(weights, Part::mlp, "mlp."), layer.mlp, d_model);
  }
  for (const NormSite& site : layer.norms) {
    if (site.norm != Norm::none) add_norm(weights, site.name, {d_model}, site.norm == Norm::gain_and_bias);
  }
  return weights;
}

}  // namespace attnlab

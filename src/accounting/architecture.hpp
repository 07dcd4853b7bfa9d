// What a transformer is made of, as plain data: enough to count its weights, its work and its memory.
//
// A config.json becomes one Architecture (config.hpp); everything else here reads only this description,
// so a family of models is a row of data (families.hpp) and never a counting function of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/integer.hpp"

namespace attnlab {

/// Where a weight belongs.
enum class Part {
  embedding,  ///< a table looked up: token, position, token type, class token
  attention,
  mlp,
  router,
  experts,
  norms,
  lm_head,  ///< the separate output matrix
  stem,     ///< what stands before the blocks and is no table: patches, convolutions, projections
  head,     ///< what stands after them and is not the output matrix: transforms, poolers, classifiers, output
            ///< bias
};

/// "embedding", "attention", "mlp", "router", "experts", "norms", "lm_head", "stem" or "head".
std::string_view name_of(Part part);

/// How a token meets a weight.
enum class Use {
  product,   ///< a matrix product for each token
  added,     ///< added or multiplied element by element, or looked up
  sequence,  ///< a product once a sequence (a pooler)
  source,    ///< a product for each encoder position (keys and values of cross-attention)
};

/// A named array of weights. Matrices are [out, in].
struct Weight {
  std::string name;  ///< e.g. "attention.query.weight"
  Part part = Part::attention;
  std::vector<std::int64_t> shape;
  Use use = Use::product;
  std::int64_t copies = 1;  ///< experts of this shape in one layer
  std::int64_t active = 1;  ///< of these, how many one token visits
};

/// Gain and bias of a normalisation.
enum class Norm { none, gain, gain_and_bias };

/// What query and key are normalised by before they meet.
enum class QueryKeyNorm {
  none,
  head,      ///< one gain of head_dim, shared by all heads (Qwen3, Gemma 3)
  width,     ///< one gain over all heads side by side (OLMo 2)
  per_head,  ///< a gain of head_dim for each head (StableLM 2)
};

/// Multi-head, grouped-query, multi-query or latent attention.
struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;    ///< of one head's query and key
  std::int64_t value_dim = 0;  ///< of one head's value
  bool query_bias = false;
  bool key_bias = false;
  bool value_bias = false;
  bool output_bias = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  bool query_key_norm_bias = false;
  bool sinks = false;                 ///< one learned score a head that takes weight from all keys (gpt-oss)
  std::int64_t position_buckets = 0;  ///< rows of a relative bias table [buckets, heads] (T5)
  bool causal = true;
  std::int64_t window = 0;  ///< keys a token may see, itself included; 0 = all

  bool latent = false;              ///< multi-head latent attention (DeepSeek-V2, section 2.1)
  std::int64_t query_rank = 0;      ///< of the query's compression; 0 = none
  std::int64_t key_value_rank = 0;  ///< of the cached latent
  std::int64_t rotary_dim = 0;      ///< width of the shared rotary key; part of key_dim

  bool operator==(const AttentionShape&) const = default;
};

/// Two matrices, or three where gated.
struct FeedForwardShape {
  std::int64_t width = 0;
  bool gated = false;
  bool bias = false;

  bool operator==(const FeedForwardShape&) const = default;
};

/// Routed experts, and those that every token visits.
struct Experts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  FeedForwardShape each;
  FeedForwardShape shared;       ///< width 0 = none
  bool shared_gate = false;      ///< a row that weighs the shared expert (Qwen1.5-MoE)
  bool router_bias = false;      ///< gpt-oss
  bool correction_bias = false;  ///< load-balancing bias of the router (DeepSeek-V3)

  bool operator==(const Experts&) const = default;
};

/// A normalisation of the residual stream.
struct NormSite {
  std::string name;  ///< "attention_norm", "mlp_norm", "post_attention_norm" ...
  Norm norm = Norm::gain;

  bool operator==(const NormSite&) const = default;
};

struct Layer {
  AttentionShape attention;
  std::optional<AttentionShape> cross;  ///< attention to the encoder
  FeedForwardShape mlp;                 ///< where there are no experts
  std::optional<Experts> experts;
  std::vector<NormSite> norms;
  std::int64_t uses = 1;  ///< how often one token passes it (ALBERT shares layers)

  bool operator==(const Layer&) const = default;
};

/// Blocks in a row.
struct Stack {
  std::string name;  ///< "" in a model of one stack, else "encoder" or "decoder"
  std::vector<Layer> layers;
  std::vector<Weight> weights;  ///< of this stack outside its blocks: position tables, last norm
};

/// Rotary settings as found; they hold no weights.
struct Rotary {
  std::string type;  ///< "default", "linear", "llama3", "yarn" ...; "" without rotary positions
  double theta = 0;
  double factor = 1;
};

struct Architecture {
  std::string model_type;
  std::string model_class;  ///< e.g. "GPT2LMHeadModel": decides heads and poolers
  std::int64_t d_model = 0;
  std::int64_t vocab = 0;          ///< rows of the token table, padding included; 0 without one
  std::int64_t max_positions = 0;  ///< longest sequence; 0 = no limit of its own
  bool has_lm_head = false;        ///< a product with [vocab, d] for each token, whether tied or not
  bool tied = false;               ///< it is the token table
  std::vector<Weight> input;       ///< tables and stems
  std::vector<Stack> stacks;       ///< the encoder first where there are two
  std::vector<Weight> output;      ///< output matrix, transforms, poolers, classifiers
  Rotary rotary;
  std::int64_t prediction_layers =
      0;  ///< of a module for later tokens, not part of the model proper (DeepSeek-V3)

  /// The stack that generates, or the only one.
  const Stack& main_stack() const { return stacks.back(); }
};

/// All weights of one layer, in the order they act.
std::vector<Weight> layer_weights(const Layer& layer, std::int64_t d_model);

/// Elements of one copy. Throws Error(usage) beyond 127 bits.
Int128 elements_of(const Weight& weight);

}  // namespace attnlab

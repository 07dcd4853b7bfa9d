// Families of models as data: what their config.json calls each size, what the class takes for a key that is
// absent, and how their blocks are built. Adding a family is adding a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "accounting/architecture.hpp"

namespace attnlab {

/// A yes-or-no fact of a family: fixed where `key` is empty, else read from that key, `otherwise` when
/// absent.
struct Setting {
  std::string_view key = {};
  bool otherwise = false;
};

/// What a family calls its sizes; several words are aliases, the first one found counts. "" = it has no such
/// key.
struct Keys {
  std::string_view width = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";
  std::string_view head_dim = "head_dim";
  std::string_view ffn = "intermediate_size";
  std::string_view vocab = "vocab_size";
  std::string_view positions = "max_position_embeddings";
  std::string_view embedding_width = {};  ///< of the token table where it is not the model's
  std::string_view decoder_layers = {};   ///< of the second stack, which else takes the first one's sizes
  std::string_view decoder_heads = {};
  std::string_view decoder_ffn = {};
  std::string_view encoder_positions = {};
};

/// What the class takes when a size is absent or null.
struct ClassDefault {
  std::string_view key = {};
  std::int64_t value;
};

enum class Form { decoder, encoder, encoder_decoder, vision };

enum class Positions {
  none,      ///< rotary or linear biases: no weights
  learned,   ///< a table
  relative,  ///< a bias table in the first layer of each stack
};

/// How the number of key heads is found when there is no key for it.
enum class KeyHeads { as_heads, multi_query, falcon };

/// Which layers look through a window when no `layer_types` says so.
enum class WindowPattern {
  none,
  all,
  even_layers,
  all_but_every_sixth,
  after_max_window_layers,
  local_encoder
};

/// Keys of a mixture of experts; "" where the family has none.
struct MoeKeys {
  std::string_view count = {};
  std::string_view per_token = "num_experts_per_tok";
  std::string_view width = "intermediate_size";
  std::string_view shared_count = {};
  std::string_view shared_width = {};
  std::string_view first_dense = {};   ///< that many layers at the start have a plain MLP
  std::string_view step = {};          ///< experts in every step-th layer only
  std::string_view plain_layers = {};  ///< a list of layers with a plain MLP
  bool step_from_zero = false;         ///< layers 0, step, 2 step ... instead of step - 1, 2 step - 1 ...
  bool shared_gate = false;
  bool bias = false;             ///< of router and experts
  bool correction_bias = false;  ///< of the router
};

/// How a file lays out weights that are [out, in] here.
enum class Layout {
  plain,
  transposed,          ///< [in, out]
  stacked_transposed,  ///< all experts in one array [experts, in, out], names without ".weight"
};

/// Names of stored tensors. Several roles joined by "+" are stored as one tensor; "{}" is the layer, then the
/// expert.
struct NameRule {
  std::string_view roles;
  std::string_view pattern;
  Layout layout = Layout::plain;
};

/// The rules of a family, searched in order, and the prefix that base classes leave out.
struct Naming {
  std::string_view prefix = {};
  std::span<const NameRule> own = {};
  std::span<const NameRule> shared = {};
};

struct Family {
  std::string_view model_type;
  std::string_view usual_class;  ///< taken when `architectures` is absent
  Form form = Form::decoder;
  Keys keys = {};
  std::span<const ClassDefault> defaults = {};

  Setting tied{"tie_word_embeddings", false};
  bool head_bias = false;             ///< of the output matrix
  bool pooler = false;                ///< a plain "...Model" has one
  bool sentence_head = false;         ///< pre-training compares sentences, and a classifier keeps the pooler
  bool classifier_transform = false;  ///< classifiers keep the transform of the masked-token head

  Setting query_value_bias = {};
  bool key_bias = true;  ///< false: keys have none whatever queries and values have
  Setting output_bias = {};
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Setting query_key_norm_used{"", true};
  bool query_key_norm_bias = false;
  bool sinks = false;
  bool latent = false;
  KeyHeads key_heads = KeyHeads::as_heads;

  bool gated = false;
  Setting mlp_bias = {};
  int ffn_multiple = 0;  ///< width of an MLP whose key is absent, in model widths; 0 = the key is needed
  MoeKeys moe = {};

  std::string_view norms = "attention_norm mlp_norm";  ///< of each block
  Setting parallel = {};                               ///< attention and MLP side by side, sharing one norm
  Norm norm = Norm::gain;
  bool final_norm = true;
  bool embedding_norm = false;

  Positions positions = Positions::none;
  bool rotary = false;
  int position_offset = 0;   ///< rows of the table beyond the positions
  int position_padding = 0;  ///< rows of the table that no position uses
  bool token_types = false;

  std::string_view window_key = "sliding_window";
  WindowPattern window = WindowPattern::none;
  Setting window_used{"", true};

  Naming naming = {};
  bool anchored = true;  ///< one of the embedded models, counted to the last digit, is of this family
};

/// All families, in the order of their documentation.
std::span<const Family> families();

/// The family of that model_type; nullptr when there is none.
const Family* find_family(std::string_view model_type);

}  // namespace attnlab

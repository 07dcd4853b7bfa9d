// Weights counted, to the last digit: by component, by part, and as a file stores them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accounting/architecture.hpp"
#include "core/integer.hpp"

namespace attnlab {

/// One row of the table: weights of one name and shape, over all layers that have them.
struct Component {
  std::string name;   ///< e.g. "attention.query.weight"
  std::string stack;  ///< "encoder", "decoder", or "" in a model of one stack
  Part part = Part::attention;
  std::vector<std::int64_t> shape;
  Use use = Use::product;
  std::int64_t layers = 0;  ///< how many layers have it; 0 = it stands outside the blocks
  std::int64_t copies = 1;  ///< of it in each of these (experts)
  std::int64_t active = 1;  ///< of these, how many a token visits
  Int128 per_layer = 0;     ///< parameters, all copies; of the whole where layers is 0
  Int128 parameters = 0;    ///< per_layer over all layers
  Int128 active_once = 0;   ///< of these the ones a token visits, a shared layer counted once
  Int128 visited = 0;       ///< the same with a shared layer counted once per use
};

/// Parameters of one block, where all blocks are alike.
struct BlockParameters {
  Int128 attention = 0;
  Int128 mlp = 0;  ///< router and experts too
  Int128 norms = 0;
  Int128 total() const { return attention + mlp + norms; }
};

struct ParameterCount {
  std::vector<Component> components;
  Int128 total = 0;      ///< a tied matrix once; buffers not
  Int128 embedding = 0;  ///< tables looked up: token, position, token type, class token
  Int128 lm_head = 0;    ///< the separate output matrix; 0 where tied or absent
  Int128 active = 0;     ///< total without the experts that a token does not visit
  Int128 blocks = 0;  ///< weights of the blocks alone, of the stack that generates (or the only one), visited
                      ///< by one token, a shared layer once per use
  std::optional<BlockParameters> per_block;
};

/// The count. Throws Error(usage) when a sum passes 127 bits.
ParameterCount count_parameters(const Architecture& architecture);

/// One reason why a file or a hub page shows another number than `total`.
struct StoredVariant {
  std::string reason;
  Int128 added = 0;
  Int128 stored = 0;  ///< total + added
  bool exact = true;  ///< false: an estimate
};

/// The reasons known for this kind of model; whether a file is of that kind, its header tells
/// (checkpoint.hpp).
std::vector<StoredVariant> stored_variants(const Architecture& architecture);

/// `vocab` rounded up to a multiple. Throws Error(usage) when the multiple is below 1.
std::int64_t padded_vocabulary(std::int64_t vocab, std::int64_t multiple);

/// 2/3 of 4 d_model, rounded down, then up to a multiple: the width of a gated MLP that costs what a plain
/// one of 4 d_model does. Throws Error(usage) when a size is below 1. Source: Touvron et al. 2023,
/// section 2.2.
std::int64_t swiglu_width(std::int64_t d_model, std::int64_t multiple_of);

}  // namespace attnlab

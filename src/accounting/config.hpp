// A model's config.json, read strictly: its sizes, and every default that the file left to the class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/architecture.hpp"

namespace attnlab {

struct Family;

/// Sizes to set whatever the file says; each layer alike.
struct WhatIf {
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> d_model;
  std::optional<std::int64_t> heads;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> head_dim;
  std::optional<std::int64_t> ffn;
  std::optional<std::int64_t> vocab;
  std::optional<std::int64_t> positions;
  std::optional<std::int64_t> experts;
  std::optional<std::int64_t> experts_per_token;
  std::optional<std::int64_t> window;  ///< 0 = none
  std::optional<bool> tied;

  bool empty() const;
};

struct ConfigOptions {
  std::string as;  ///< count as this family whatever model_type says; "" = as it says
  WhatIf what_if;
};

/// A key that the file leaves out or sets to null.
struct DefaultTaken {
  std::string key;
  std::string value;
  std::string reason;
};

struct ModelConfig {
  Architecture architecture;
  const Family* family = nullptr;
  std::vector<DefaultTaken> defaults;
  std::vector<std::string> notes;  ///< what was not counted, or taken for something it may not be
  bool estimate = false;           ///< counted as another family than the file's
  std::int64_t ffn = 0;            ///< MLP width of the first layer
};

/// The model that `text` describes. `name` is the file, for messages.
/// Throws Error(data) with one line "FILE: KEY: RULE" for text that is not JSON, a key that is needed and
/// absent, a value of the wrong kind or out of range, heads that do not divide, more experts a token than
/// there are, a list of another length than the layers, and a model_type or class that is not known;
/// Error(usage) for `as`.
ModelConfig read_model_config(std::string_view text, const std::string& name,
                              const ConfigOptions& options = {});

}  // namespace attnlab

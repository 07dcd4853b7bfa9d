#include "accounting/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accounting/families.hpp"
#include "core/error.hpp"
#include "io/input.hpp"
#include "io/json.hpp"

namespace attnlab {
namespace {

constexpr std::size_t most_tensors = 10'000'000;
constexpr std::uint64_t longest_header = 100'000'000;

bool has_role(std::string_view roles, std::string_view role) {
  while (!roles.empty()) {
    const std::size_t end = std::min(roles.find('+'), roles.size());
    if (roles.substr(0, end) == role) return true;
    roles.remove_prefix(std::min(end + 1, roles.size()));
  }
  return false;
}

const NameRule* find_rule(const Naming& naming, std::string_view role) {
  for (const std::span<const NameRule> rules : {naming.own, naming.shared}) {
    for (const NameRule& rule : rules) {
      if (has_role(rule.roles, role)) return &rule;
    }
  }
  return nullptr;
}

/// The pattern with each "{}" replaced in turn.
std::string filled(std::string_view pattern, std::int64_t layer, std::int64_t expert) {
  std::string result;
  std::int64_t number = layer;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern.substr(at, 2) == "{}") {
      result += std::to_string(number);
      number = expert;
      ++at;
    } else {
      result += pattern[at];
    }
  }
  return result;
}

bool numbers_experts(std::string_view pattern) { return pattern.find("{}") != pattern.rfind("{}"); }

/// Collects tensors; weights that are stored together add up their rows.
class Tensors {
 public:
  explicit Tensors(const Naming& naming) : naming_(naming) {}

  void add(const Weight& weight, const std::string& stack, std::int64_t layer, bool gated) {
    std::string role = (stack.empty() ? "" : stack + ".") + weight.name;
    std::string suffix;
    for (const std::string_view ending : {".weight", ".bias"}) {
      if (!role.ends_with(ending)) continue;
      suffix = ending;
      role.erase(role.size() - ending.size());
    }
    const NameRule* rule = nullptr;
    if (!gated && role.ends_with("mlp.up")) {
      rule = find_rule(naming_, role.substr(0, role.size() - 2) + "plain_up");
    }
    if (rule == nullptr) rule = find_rule(naming_, role);
    if (rule == nullptr)
      throw Error(ErrorKind::fault, fmt::format("no tensor name is known for {}", weight.name));
    if (numbers_experts(rule->pattern)) {
      add_each(*rule, weight, layer, suffix);
    } else if (rule->layout == Layout::stacked_transposed) {
      std::vector<std::int64_t> shape = weight.shape;
      shape.insert(shape.begin(), weight.copies);
      put(filled(rule->pattern, layer, 0) + (suffix == ".bias" ? "_bias" : ""), std::move(shape), 1,
          shape_is_turned(weight));
    } else {
      put(filled(rule->pattern, layer, 0) + suffix, weight.shape, 0,
          rule->layout == Layout::transposed && shape_is_turned(weight));
    }
  }

  std::vector<StoredTensor> list() const {
    std::vector<StoredTensor> result;
    for (const Entry& entry : entries_) {
      result.push_back(entry.tensor);
      std::vector<std::int64_t>& shape = result.back().shape;
      if (entry.turned) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    }
    return result;
  }

 private:
  struct Entry {
    StoredTensor tensor;
    bool turned;
  };

  static bool shape_is_turned(const Weight& weight) { return weight.shape.size() == 2; }

  /// One tensor for each expert, or for each head of a norm that has its own gain.
  void add_each(const NameRule& rule, const Weight& weight, std::int64_t layer, const std::string& suffix) {
    const bool is_norm = weight.part == Part::norms;
    const std::int64_t count = is_norm ? weight.shape.front() : weight.copies;
    const std::vector<std::int64_t> shape = is_norm ? std::vector{weight.shape.back()} : weight.shape;
    for (std::int64_t i = 0; i < count; ++i) put(filled(rule.pattern, layer, i) + suffix, shape, 0, false);
  }

  void put(std::string name, std::vector<std::int64_t> shape, std::size_t rows, bool turned) {
    const auto [at, is_new] = places_.try_emplace(name, entries_.size());
    if (!is_new) {
      entries_[at->second].tensor.shape[rows] += shape[rows];
      return;
    }
    if (entries_.size() == most_tensors) {
      throw Error(ErrorKind::usage, fmt::format("the model has more than {} tensors", most_tensors));
    }
    entries_.push_back({{std::move(name), std::move(shape)}, turned});
  }

  const Naming& naming_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// A name as both sides are compared: without the base class's prefix, with today's names of norms.
std::string comparable(std::string_view name, std::string_view prefix) {
  std::string result(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
  for (const auto& [older, newer] : {std::pair{".gamma", ".weight"}, std::pair{".beta", ".bias"}}) {
    if (result.ends_with(older)) result = result.substr(0, result.size() - std::strlen(older)) + newer;
  }
  return result;
}

constexpr std::string_view buffer_endings[] = {
    ".attn.bias",          ".attn.masked_bias", ".attention.bias",   ".attention.masked_bias",
    "rotary_emb.inv_freq", "position_ids",      "final_logits_bias",
};

std::string reason_for(const StoredTensor& tensor, const Architecture& a) {
  for (const std::string_view ending : buffer_endings) {
    if (std::string_view(tensor.name).ends_with(ending)) return "a buffer, not a weight";
  }
  if (std::string_view(tensor.name).ends_with("_scale_inv")) return "scales of a quantized matrix";
  const bool is_table = tensor.shape.size() == 2 && tensor.shape[0] == a.vocab;
  const bool is_tied_head = a.tied && a.has_lm_head;
  const std::string_view name = tensor.name;
  if (is_table && (is_tied_head || name.ends_with("embed_tokens.weight"))) return "a copy of the token table";
  const bool is_bias =
      tensor.shape.size() == 1 && tensor.shape[0] == a.vocab && name.ends_with("decoder.bias");
  if (is_bias) return "a copy of the output bias";
  return "";
}

std::uint64_t header_length(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 8) {
    throw Error(ErrorKind::data,
                fmt::format("{}: {} bytes; a safetensors file begins with 8 bytes of header length", name,
                            bytes.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > longest_header || length > bytes.size() - 8) {
    throw Error(ErrorKind::data,
                fmt::format("{}: a header of {} bytes in a file of {}", name, length, bytes.size()));
  }
  return length;
}

std::vector<std::int64_t> read_shape(const JsonMember& member, const std::string& name) {
  const JsonValue* shape = member.value.find("shape");
  const JsonValue::Array* sizes = shape == nullptr ? nullptr : shape->array();
  if (sizes == nullptr) {
    throw Error(ErrorKind::data, fmt::format("{}: tensor {}: a shape is needed", name, member.key));
  }
  std::vector<std::int64_t> result;
  for (const JsonValue& size : *sizes) {
    Int128 value = 0;
    const bool is_size = size.number() != nullptr && to_integer(*size.number(), value) && value >= 0 &&
                         value <= Int128{1} << 62;
    if (!is_size) {
      throw Error(ErrorKind::data,
                  fmt::format("{}: tensor {}: the shape is no list of sizes", name, member.key));
    }
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

std::vector<StoredTensor> read_shards(const std::string& path) {
  const std::string name = input_name(path);
  const FileBytes index = read_bytes(path);
  const JsonValue document = parse_json(index.bytes, name, {.allow_byte_order_mark = true});
  const JsonValue* map = document.find("weight_map");
  if (map == nullptr || map->object() == nullptr) {
    throw Error(ErrorKind::data,
                fmt::format("{}: weight_map: an object of tensor and file names is needed", name));
  }
  std::set<std::string> shards;
  for (const JsonMember& member : *map->object()) {
    const std::string* shard = member.value.string();
    if (shard == nullptr || shard->empty() || shard->find('/') != std::string::npos) {
      throw Error(
          ErrorKind::data,
          fmt::format("{}: weight_map: {}: the name of a file beside the index is needed", name, member.key));
    }
    shards.insert(*shard);
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::vector<StoredTensor> tensors;
  std::set<std::string_view> held;
  for (const std::string& shard : shards) {
    const FileBytes bytes = read_bytes(folder + shard);
    for (StoredTensor& tensor : read_tensor_header(bytes.bytes, folder + shard))
      tensors.push_back(std::move(tensor));
  }
  for (const StoredTensor& tensor : tensors) held.insert(tensor.name);
  for (const JsonMember& member : *map->object()) {
    if (held.count(member.key) == 0) {
      throw Error(ErrorKind::data,
                  fmt::format("{}: weight_map: {} is not in {}", name, member.key, *member.value.string()));
    }
  }
  return tensors;
}

}  // namespace

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<StoredTensor> derive_tensors(const ModelConfig& config) {
  const Architecture& a = config.architecture;
  Tensors tensors(config.family->naming);
  for (const Weight& weight : a.input) tensors.add(weight, "", 0, true);
  for (const Stack& stack : a.stacks) {
    std::int64_t number = 0;
    for (const Layer& layer : stack.layers) {
      for (const Weight& weight : layer_weights(layer, a.d_model)) {
        tensors.add(weight, stack.name, number, layer.mlp.gated);
      }
      ++number;
    }
    for (const Weight& weight : stack.weights) tensors.add(weight, stack.name, 0, true);
  }
  for (const Weight& weight : a.output) tensors.add(weight, "", 0, true);
  return tensors.list();
}

std::vector<StoredTensor> read_tensor_header(std::string_view bytes, const std::string& name) {
  const std::uint64_t length = header_length(bytes, name);
  const JsonValue header = parse_json(bytes.substr(8, length), name);
  if (header.object() == nullptr) {
    throw Error(ErrorKind::data, fmt::format("{}: {} where the header is an object", name, header.kind()));
  }
  std::vector<StoredTensor> tensors;
  for (const JsonMember& member : *header.object()) {
    if (member.key != "__metadata__") tensors.push_back({member.key, read_shape(member, name)});
  }
  return tensors;
}

std::vector<StoredTensor> read_stored_tensors(const std::string& path) {
  if (path.ends_with(".json")) return read_shards(path);
  const FileBytes file = read_bytes(path);
  return read_tensor_header(file.bytes, input_name(path));
}

bool CheckpointComparison::agrees() const {
  return missing.empty() && other_shape.empty() &&
         std::all_of(extra.begin(), extra.end(), [](const ExtraTensor& it) { return !it.reason.empty(); });
}

CheckpointComparison compare_checkpoint(const ModelConfig& config, const std::vector<StoredTensor>& stored) {
  const std::string_view prefix = config.family->naming.prefix;
  const std::vector<StoredTensor> derived = derive_tensors(config);
  std::unordered_map<std::string, const StoredTensor*> expected;
  for (const StoredTensor& tensor : derived) expected.emplace(comparable(tensor.name, prefix), &tensor);
  CheckpointComparison result;
  std::set<const StoredTensor*> seen;
  for (const StoredTensor& tensor : stored) {
    Int128 elements = 1;
    for (const std::int64_t size : tensor.shape) {
      elements = checked_multiply(elements, size, "the number of stored elements");
    }
    result.stored_elements = checked_add(result.stored_elements, elements, "the number of stored elements");
    const auto found = expected.find(comparable(tensor.name, prefix));
    if (found == expected.end()) {
      result.extra.push_back({tensor.name, tensor.shape, reason_for(tensor, config.architecture)});
      continue;
    }
    seen.insert(found->second);
    if (found->second->shape == tensor.shape) {
      ++result.matched;
    } else {
      result.other_shape.push_back({tensor.name, tensor.shape, found->second->shape});
    }
  }
  for (const StoredTensor& tensor : derived) {
    if (seen.count(&tensor) == 0) result.missing.push_back(tensor);
  }
  return result;
}

}  // namespace attnlab

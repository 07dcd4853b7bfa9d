// The keys of one config.json: found under their aliases, checked, and replaced by class defaults that are
// noted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/config.hpp"
#include "accounting/families.hpp"
#include "io/json.hpp"

namespace attnlab {

/// A size, and where it came from: for messages.
struct Sized {
  std::int64_t value = 0;
  std::string origin;  ///< the key as written in the file, or the option that replaced it
};

/// A size of each layer.
struct PerLayer {
  std::vector<std::int64_t> values;
  std::string origin;
};

/// The words of a list separated by blanks.
std::vector<std::string_view> words(std::string_view list);

class ConfigKeys {
 public:
  /// Sizes up to here multiply in pairs within 63 bits.
  static constexpr std::int64_t largest_size = std::int64_t{1} << 30;

  /// `outer` encloses a nested text_config and answers for what that leaves out; may be nullptr.
  ConfigKeys(std::string file, const JsonValue& object, const JsonValue* outer)
      : file_(std::move(file)), object_(&object), outer_(outer) {}

  /// A list shorter or longer than the layers is repeated or cut, where an option changed their number.
  void repeat_lists() { repeats_lists_ = true; }
  void set_class_defaults(std::span<const ClassDefault> known) { class_defaults_ = known; }
  const std::string& file() const { return file_; }

  /// The first alias that is present and not null; nullptr without one.
  const JsonValue* find(std::string_view aliases) const;
  /// Whether an alias is present and null.
  bool is_null(std::string_view aliases) const;

  /// The size under one of the aliases, else the class default, which is noted; nullopt without either.
  /// Throws Error(data) unless it is a whole number in [least, largest_size].
  std::optional<Sized> size(std::string_view aliases, std::int64_t least = 1);
  /// The same, and Error(data) when it is missing; `meaning` says what it is.
  Sized needed(std::string_view aliases, const char* meaning, std::int64_t least = 1);
  /// `replacement` under the name of `option` where given, else as needed().
  Sized needed_or(std::optional<std::int64_t> replacement, const char* option, std::string_view aliases,
                  const char* meaning);
  /// One number for all layers, or a list of one number each. nullopt when absent without class default.
  std::optional<PerLayer> per_layer(std::string_view aliases, std::int64_t layers, std::int64_t least = 1);

  bool flag(const Setting& setting);
  std::optional<std::string> text(std::string_view aliases) const;
  double real(std::string_view aliases, double otherwise) const;

  /// Notes a default, once for each key.
  void took(std::string_view key, std::string value, std::string reason);
  const std::vector<DefaultTaken>& defaults_taken() const { return defaults_taken_; }

  /// Throws Error(data) "FILE: KEY: RULE".
  [[noreturn]] void fail(std::string_view key, const std::string& rule) const;

 private:
  struct Found {
    std::string_view key;
    const JsonValue* value = nullptr;
  };
  Found look_up(std::string_view aliases) const;
  std::int64_t whole(const JsonValue& value, std::string_view key, std::int64_t least) const;
  std::optional<Sized> class_default(std::string_view aliases);

  std::string file_;
  const JsonValue* object_;
  const JsonValue* outer_;
  std::span<const ClassDefault> class_defaults_;
  bool repeats_lists_ = false;
  std::vector<DefaultTaken> defaults_taken_;
};

}  // namespace attnlab

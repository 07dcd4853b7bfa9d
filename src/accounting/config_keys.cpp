#include "accounting/config_keys.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {

std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> result;
  while (!list.empty()) {
    const std::size_t end = list.find(' ');
    if (end != 0) result.push_back(list.substr(0, end));
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return result;
}

void ConfigKeys::fail(std::string_view key, const std::string& rule) const {
  throw Error(ErrorKind::data, fmt::format("{}: {}: {}", file_, key, rule));
}

ConfigKeys::Found ConfigKeys::look_up(std::string_view aliases) const {
  for (const JsonValue* place : {object_, outer_}) {
    if (place == nullptr) continue;
    for (const std::string_view key : words(aliases)) {
      const JsonValue* value = place->find(key);
      if (value != nullptr && !value->is_null()) return {key, value};
    }
  }
  return {};
}

const JsonValue* ConfigKeys::find(std::string_view aliases) const { return look_up(aliases).value; }

bool ConfigKeys::is_null(std::string_view aliases) const {
  for (const std::string_view key : words(aliases)) {
    const JsonValue* value = object_->find(key);
    if (value != nullptr && value->is_null()) return true;
  }
  return false;
}

std::int64_t ConfigKeys::whole(const JsonValue& value, std::string_view key, std::int64_t least) const {
  const std::string wanted = fmt::format("a whole number from {} to {} is needed", least, largest_size);
  const JsonNumber* number = value.number();
  if (number == nullptr) fail(key, fmt::format("{} where {}", value.kind(), wanted));
  Int128 result = 0;
  if (!to_integer(*number, result) || result < least || result > largest_size) {
    fail(key, fmt::format("{} where {}", number->text.substr(0, 40), wanted));
  }
  return static_cast<std::int64_t>(result);
}

std::optional<Sized> ConfigKeys::class_default(std::string_view aliases) {
  for (const std::string_view key : words(aliases)) {
    for (const ClassDefault& known : class_defaults_) {
      if (known.key != key) continue;
      took(key, fmt::format("{}", known.value), "the class default");
      return Sized{known.value, std::string(key)};
    }
  }
  return std::nullopt;
}

std::optional<Sized> ConfigKeys::size(std::string_view aliases, std::int64_t least) {
  const Found found = look_up(aliases);
  if (found.value == nullptr) return class_default(aliases);
  return Sized{whole(*found.value, found.key, least), std::string(found.key)};
}

Sized ConfigKeys::needed(std::string_view aliases, const char* meaning, std::int64_t least) {
  if (const std::optional<Sized> found = size(aliases, least)) return *found;
  fail(words(aliases).front(), fmt::format("the key is missing; it gives {}", meaning));
}

Sized ConfigKeys::needed_or(std::optional<std::int64_t> replacement, const char* option,
                            std::string_view aliases, const char* meaning) {
  if (replacement) return {*replacement, option};
  return needed(aliases, meaning);
}

std::optional<PerLayer> ConfigKeys::per_layer(std::string_view aliases, std::int64_t layers,
                                              std::int64_t least) {
  const Found found = look_up(aliases);
  const JsonValue::Array* list = found.value == nullptr ? nullptr : found.value->array();
  if (list == nullptr) {
    const std::optional<Sized> one = size(aliases, least);
    if (!one) return std::nullopt;
    return PerLayer{std::vector<std::int64_t>(static_cast<std::size_t>(layers), one->value), one->origin};
  }
  const bool fits = static_cast<std::int64_t>(list->size()) == layers || (repeats_lists_ && !list->empty());
  if (!fits) {
    fail(found.key,
         fmt::format("a list of {} for {} layers; one number each is needed", list->size(), layers));
  }
  PerLayer result{{}, std::string(found.key)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers); ++i) {
    result.values.push_back(whole((*list)[i % list->size()], found.key, least));
  }
  return result;
}

bool ConfigKeys::flag(const Setting& setting) {
  if (setting.key.empty()) return setting.otherwise;
  const Found found = look_up(setting.key);
  if (found.value == nullptr) {
    took(setting.key, setting.otherwise ? "true" : "false", "the class default");
    return setting.otherwise;
  }
  const bool* value = found.value->boolean();
  if (value == nullptr) fail(found.key, fmt::format("{} where true or false is needed", found.value->kind()));
  return *value;
}

std::optional<std::string> ConfigKeys::text(std::string_view aliases) const {
  const Found found = look_up(aliases);
  if (found.value == nullptr) return std::nullopt;
  const std::string* value = found.value->string();
  if (value == nullptr) fail(found.key, fmt::format("{} where a string is needed", found.value->kind()));
  return *value;
}

double ConfigKeys::real(std::string_view aliases, double otherwise) const {
  const Found found = look_up(aliases);
  if (found.value == nullptr) return otherwise;
  const JsonNumber* value = found.value->number();
  if (value == nullptr) fail(found.key, fmt::format("{} where a number is needed", found.value->kind()));
  return value->to_double();
}

void ConfigKeys::took(std::string_view key, std::string value, std::string reason) {
  const bool noted = std::any_of(defaults_taken_.begin(), defaults_taken_.end(),
                                 [&](const DefaultTaken& taken) { return taken.key == key; });
  if (!noted) defaults_taken_.push_back({std::string(key), std::move(value), std::move(reason)});
}

}  // namespace attnlab

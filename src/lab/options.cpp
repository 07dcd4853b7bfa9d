#include "lab/options.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

std::string real_range(double min, double max) {
  const double largest = std::numeric_limits<double>::max();
  if (min <= -largest && max >= largest) return "";
  if (max >= largest) return fmt::format("from {}", min);
  return fmt::format("{} to {}", min, max);
}

}  // namespace

Option& OptionSet::add(const std::string& name, const std::string& value_name, const std::string& help,
                       const std::string& range, const std::string& default_text) {
  if (find(name) != nullptr)
    throw Error(ErrorKind::fault, fmt::format("option --{} is declared twice", name));
  Option& option = options_.emplace_back();
  option.name = name;
  option.value_name = value_name;
  option.help = help;
  option.range = range;
  option.default_text = default_text;
  return option;
}

std::string OptionSet::range_text(std::int64_t min, std::int64_t max) {
  if (max == std::numeric_limits<std::int64_t>::max()) return fmt::format("from {}", min);
  return fmt::format("{} to {}", min, max);
}

std::size_t OptionSet::choice_index(std::string_view text, const std::string& name,
                                    const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) {
    throw Error(ErrorKind::usage, fmt::format("--{}: {} is not one of {}", name, text.empty() ? "\"\"" : text,
                                              fmt::join(choices, ", ")));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

Option& OptionSet::real(const std::string& name, double& field, double min, double max,
                        const std::string& help) {
  Option& o = add(name, "X", help, real_range(min, max), shortest(field));
  o.set = [&field, name, min, max](std::string_view text) {
    field = parse_real(text, "--" + name, min, max);
  };
  o.get = [&field]() -> Value { return field; };
  return o;
}

Option& OptionSet::real(const std::string& name, std::optional<double>& field, double min, double max,
                        const std::string& help) {
  Option& o = add(name, "X", help, real_range(min, max), "");
  o.set = [&field, name, min, max](std::string_view text) {
    field = parse_real(text, "--" + name, min, max);
  };
  o.get = [&field]() -> Value { return field ? Value{*field} : Value{}; };
  return o;
}

Option& OptionSet::flag(const std::string& name, bool& field, const std::string& help) {
  Option& o = add(name, "", help, "", "");
  o.set = [&field](std::string_view) { field = true; };
  o.get = [&field]() -> Value { return field; };
  return o;
}

Option& OptionSet::choice(const std::string& name, std::string& field,
                          const std::vector<std::string>& choices, const std::string& help) {
  Option& o = add(name, "NAME", help, "", field);
  o.choices = choices;
  o.set = [&field, name, choices](std::string_view text) {
    field = choices[choice_index(text, name, choices)];
  };
  o.get = [&field]() -> Value { return field; };
  return o;
}

Option& OptionSet::integers(const std::string& name, std::vector<std::int64_t>& field, std::int64_t min,
                            std::int64_t max, const std::string& help) {
  Option& o = add(name, "LIST", help, range_text(min, max), fmt::format("{}", fmt::join(field, ",")));
  o.set = [&field, name, min, max](std::string_view text) {
    field = parse_integers(text, "--" + name, min, max);
  };
  o.get = [&field]() -> Value { return field; };
  return o;
}

Option& OptionSet::reals(const std::string& name, std::vector<double>& field, double min, double max,
                         const std::string& help) {
  Option& o = add(name, "LIST", help, real_range(min, max), fmt::format("{}", fmt::join(field, ",")));
  o.set = [&field, name, min, max](std::string_view text) {
    field = parse_reals(text, "--" + name, min, max);
  };
  o.get = [&field]() -> Value { return field; };
  return o;
}

Option& OptionSet::text(const std::string& name, std::string& field, const std::string& value_name,
                        const std::string& help) {
  Option& o = add(name, value_name, help, "", field);
  o.set = [&field](std::string_view text) { field = text; };
  o.get = [&field]() -> Value { return field; };
  return o;
}

Option& OptionSet::file(const std::string& name, std::string& field, const std::string& help) {
  Option& o = text(name, field, "FILE", help);
  o.set = [&field, name](std::string_view path) {
    if (path.empty()) throw Error(ErrorKind::usage, fmt::format("--{}: the name of a file is empty", name));
    field = path;
  };
  return o;
}

void OptionSet::adopt(const OptionSet& other) {
  for (const Option& option : other.all()) {
    if (find(option.name) != nullptr) continue;
    add(option.name, option.value_name, option.help, option.range, option.default_text) = option;
  }
}

const Option* OptionSet::find(std::string_view name) const {
  const auto found =
      std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.name == name; });
  return found == options_.end() ? nullptr : &*found;
}

Option* OptionSet::find(std::string_view name) {
  return const_cast<Option*>(std::as_const(*this).find(name));
}

std::string OptionSet::missing_for(const Option& option) const {
  const Option* needed = option.needed_option.empty() ? nullptr : find(option.needed_option);
  if (needed == nullptr) return "";
  const Value value = needed->get();
  if (needed->is_flag()) return std::get<bool>(value) ? "" : "--" + needed->name;
  const std::string word = std::get<std::string>(value);
  std::vector<std::string> words = option.needed_words;
  if (words.empty()) {
    if (word != needed->default_text) return "";
    if (needed->choices.empty()) return "--" + needed->name;
    for (const std::string& choice : needed->choices) {
      if (choice != needed->default_text) words.push_back(choice);
    }
  }
  if (std::find(words.begin(), words.end(), word) != words.end()) return "";
  const std::string last = words.back();
  words.pop_back();
  return fmt::format("--{} {}{}{}", needed->name, fmt::join(words, ", "), words.empty() ? "" : " or ", last);
}

void OptionSet::set(std::string_view name, std::string_view text) {
  Option* option = find(name);
  if (option == nullptr) throw Error(ErrorKind::usage, fmt::format("--{} is not an option here", name));
  option->set(text);
}

std::string nearest_word(std::string_view text, const std::vector<std::string>& candidates) {
  // Who stops early means the shortest word that goes on.
  std::string best;
  for (const std::string& word : candidates) {
    if (text.size() >= 4 && word.starts_with(text) && (best.empty() || word.size() < best.size()))
      best = word;
  }
  if (!best.empty()) return best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& word : candidates) {
    // Levenshtein's distance, one row at a time.
    std::vector<std::size_t> row(word.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < word.size(); ++j) {
        const std::size_t above = row[j + 1];
        row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (text[i] == word[j] ? 0 : 1)});
        diagonal = above;
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = word;
    }
  }
  return best;
}

}  // namespace attnlab

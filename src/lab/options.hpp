// Options, each declared once: parsing, range check, --help, JSON `parameters`, completions and the README
// table come from the same declaration.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/numbers.hpp"
#include "lab/value.hpp"

namespace attnlab {

/// One option as declared.
struct Option {
  std::string name;                  ///< without the dashes, kebab-case: "seq-len"
  char letter = 0;                   ///< its short form, 0 for none: 'T'
  std::string value_name;            ///< "N", "X", "LIST", "FILE", "NAME"; empty for a flag
  std::string help;                  ///< one sentence, no full stop
  std::string range;                 ///< what is allowed, as text: "1 to 4096"; empty where any text is
  std::vector<std::string> choices;  ///< the words allowed, where it is a choice
  std::string default_text;          ///< the default as one would type it; empty for none
  /// Another option without which this one changes nothing, and the words of it that this one belongs to; any
  /// value but its default where there are none.
  std::string needed_option = {};
  std::vector<std::string> needed_words = {};
  bool in_parameters = true;  ///< listed under `parameters` in JSON: what the result depends on
  std::function<void(std::string_view)> set;  ///< takes the text; throws Error(usage) naming the option
  std::function<Value()> get;                 ///< the value now

  bool is_flag() const { return value_name.empty(); }
  Option& short_form(char c) {
    letter = c;
    return *this;
  }
  Option& acts_with(std::string option, std::vector<std::string> words = {}) {
    needed_option = std::move(option);
    needed_words = std::move(words);
    return *this;
  }
  Option& no_parameter() {
    in_parameters = false;
    return *this;
  }
};

/// The options of a command, bound to fields that outlive it.
class OptionSet {
 public:
  /// A whole number in [min, max].
  template <std::integral T>
  Option& integer(const std::string& name, T& field, std::int64_t min, std::int64_t max,
                  const std::string& help) {
    Option& o = add(name, "N", help, range_text(min, max), std::to_string(field));
    o.set = [&field, name, min, max](std::string_view text) {
      field = static_cast<T>(parse_integer(text, "--" + name, min, max));
    };
    o.get = [&field]() -> Value { return static_cast<std::int64_t>(field); };
    return o;
  }

  /// A whole number in [min, max] that may stay unset.
  template <std::integral T>
  Option& integer(const std::string& name, std::optional<T>& field, std::int64_t min, std::int64_t max,
                  const std::string& help) {
    Option& o = add(name, "N", help, range_text(min, max), "");
    o.set = [&field, name, min, max](std::string_view text) {
      field = static_cast<T>(parse_integer(text, "--" + name, min, max));
    };
    o.get = [&field]() -> Value { return field ? Value{static_cast<std::int64_t>(*field)} : Value{}; };
    return o;
  }

  /// A finite number in [min, max].
  Option& real(const std::string& name, double& field, double min, double max, const std::string& help);
  Option& real(const std::string& name, std::optional<double>& field, double min, double max,
               const std::string& help);

  /// A switch: false unless given. `--no-NAME` is a switch of its own where one is wanted.
  Option& flag(const std::string& name, bool& field, const std::string& help);

  /// One of several words.
  Option& choice(const std::string& name, std::string& field, const std::vector<std::string>& choices,
                 const std::string& help);
  /// One of several words, each standing for a value of an enumeration.
  template <class E>
  Option& choice(const std::string& name, E& field, const std::vector<std::pair<std::string, E>>& choices,
                 const std::string& help) {
    std::vector<std::string> words;
    words.reserve(choices.size());
    for (const auto& [word, value] : choices) words.push_back(word);
    const auto word_of = [choices](E value) {
      for (const auto& [word, v] : choices) {
        if (v == value) return word;
      }
      return std::string();
    };
    Option& o = add(name, "NAME", help, "", word_of(field));
    o.choices = words;
    o.set = [&field, name, words, choices](std::string_view text) {
      field = choices[choice_index(text, name, words)].second;
    };
    o.get = [&field, word_of]() -> Value { return word_of(field); };
    return o;
  }

  /// A list of whole numbers, "4,64,512" or with ranges "1:1024:x2", each in [min, max].
  Option& integers(const std::string& name, std::vector<std::int64_t>& field, std::int64_t min,
                   std::int64_t max, const std::string& help);
  /// A list of finite numbers.
  Option& reals(const std::string& name, std::vector<double>& field, double min, double max,
                const std::string& help);

  /// Any text; `value_name` says what in help: "TEXT", "NAME", "ROW,COL".
  Option& text(const std::string& name, std::string& field, const std::string& value_name,
               const std::string& help);
  /// The path of a file.
  Option& file(const std::string& name, std::string& field, const std::string& help);

  /// Takes over the options of another set, which stay bound to their fields; those of a name that is
  /// declared here already are left out.
  void adopt(const OptionSet& other);

  const std::deque<Option>& all() const { return options_; }
  /// The option of that name; null when there is none.
  Option* find(std::string_view name);
  const Option* find(std::string_view name) const;
  /// What is missing for the option to have an effect, "--rope interleaved or half"; empty where nothing is.
  std::string missing_for(const Option& option) const;
  /// Sets an option from text; throws Error(usage) when there is none of that name or the text does not fit.
  void set(std::string_view name, std::string_view text);

 private:
  Option& add(const std::string& name, const std::string& value_name, const std::string& help,
              const std::string& range, const std::string& default_text);
  static std::string range_text(std::int64_t min, std::int64_t max);
  static std::size_t choice_index(std::string_view text, const std::string& name,
                                  const std::vector<std::string>& choices);

  std::deque<Option> options_;  // a deque: references stay valid while more are added
};

/// The word of `candidates` that is most like `text`, or an empty one when none is near: for "did you mean".
std::string nearest_word(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace attnlab

#include "operations/gallery.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "lab/lesson_inputs.hpp"
#include "operations/diagnosis.hpp"
#include "operations/scenes.hpp"

namespace attnlab {
namespace {

constexpr std::uint64_t lessons_seed = 466;

Trial on_lesson(const std::string& operation, const std::vector<std::string>& flags) {
  const Operation& called = *find_operation(operation);
  const auto session = called.start();
  for (const std::string& flag : flags) session->options.set(flag, "");
  return {called, session->options, {}};
}

// The lesson's first listing as calls of operations.
std::vector<Trial> lesson_calls() {
  Generator rng(lessons_seed);
  const SelfAttentionInputs drawn = draw_self_attention(rng, 5, 8, 4);
  std::vector<Trial> calls;
  for (const char* operation : {"attention", "linear-attention", "kv-decode"}) {
    Trial& call = calls.emplace_back(on_lesson(operation, {"causal"}));
    call.inputs.set("query", to_array(drawn.query));
    call.inputs.set("key", to_array(drawn.key));
    call.inputs.set("value", to_array(drawn.value));
  }
  for (const char* operation : {"norm", "activation", "rope"})
    calls.emplace_back(on_lesson(operation, {})).inputs.set("x", to_array(drawn.x));
  Trial& sinusoidal = calls.emplace_back(on_lesson("sinusoidal", {}));
  sinusoidal.set("seq-len", 5);
  sinusoidal.set("d-model", 8);
  return calls;
}

// The result in which the mistake shows, if any.
std::optional<Exhibit> shown_in(const Trial& call, const Mistake& mistake, bool of_lesson) {
  const auto right = numeric_results(call.run());
  const auto wrong = numeric_results(wrong_results(call, {&mistake}).value_or(Results{}));
  // Weights tell more of a mistake than what they mix.
  for (const bool weights_only : {true, false}) {
    for (const auto& [name, array] : right) {
      const auto same = std::find_if(wrong.begin(), wrong.end(),
                                     [&wanted = name](const auto& one) { return one.first == wanted; });
      if (weights_only != (name == "weights") || same == wrong.end()) continue;
      if (same->second.values.size() != array.values.size()) continue;
      if (difference(same->second.values, array.values).residual > 1e-4)
        return Exhibit{call, of_lesson, name, array, same->second};
    }
  }
  return {};
}

}  // namespace

Exhibit exhibit_of(const Mistake& mistake) {
  const auto is_made_in = [&](const Trial& call) {
    return std::count(mistake.operations.begin(), mistake.operations.end(), call.operation().name) > 0;
  };
  for (const bool of_lesson : {true, false}) {
    for (const Trial& call : of_lesson ? lesson_calls() : scenes(0, lessons_seed)) {
      if (!is_made_in(call)) continue;
      if (std::optional<Exhibit> exhibit = shown_in(call, mistake, of_lesson)) return *exhibit;
    }
  }
  throw Error(ErrorKind::fault, mistake.name + " shows in no example");
}

std::string options_text(const Trial& call) {
  std::string text;
  for (const Option& option : call.options().all()) {
    const std::string value = call.option(option.name);
    if (value.empty() || value == option.default_text) continue;
    text += fmt::format("{}--{}", text.empty() ? "" : " ", option.name);
    if (!option.is_flag()) text += " " + value;
  }
  return text;
}

}  // namespace attnlab

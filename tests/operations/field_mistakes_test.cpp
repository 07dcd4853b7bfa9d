// The wrong numbers of the field cases: diagnose names a mistake that gives them.
#include <map>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "io/array_file.hpp"
#include "operations/diagnosis.hpp"
#include "support/paths.hpp"
#include "support/run.hpp"

using namespace attnlab;
using nlohmann::json;

namespace {

// A result that went wrong; elements that are not stated are absent.
struct WrongResult {
  std::string name;
  std::vector<std::optional<double>> elements;
};

void flatten(const json& value, std::vector<std::optional<double>>& elements) {
  if (value.is_array()) {
    for (const json& part : value) flatten(part, elements);
  } else if (value.is_string()) {
    elements.push_back(std::stod(value.get<std::string>()));  // NaN and infinities
  } else {
    elements.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
}

Array array_of(const json& value) {
  Array array;
  for (const json* part = &value; part->is_array(); part = &part->at(0)) {
    array.shape.push_back(part->size());
    if (part->empty()) break;
  }
  std::vector<std::optional<double>> elements;
  flatten(value, elements);
  for (const auto& element : elements) array.values.push_back(element.value());
  return array;
}

// What stands in braces on a case's command line: an input of its own, or one in a file.
Array input_of(const json& field_case, const std::string& name) {
  if (!name.starts_with("file:")) return array_of(field_case["inputs"][name]);
  const std::string file = field_case["input_files"][name.substr(5)];
  return read_array(std::string(test_data_folder) + "/cases/" + file);
}

std::string word_of(const std::string& text, std::size_t index) {
  std::istringstream words(text);
  std::string word;
  for (std::size_t n = 0; n <= index; ++n) words >> word;
  return word;
}

// The call that the case's command line makes.
Trial call_of(const json& field_case) {
  std::istringstream words(field_case["cli"].get<std::string>());
  std::string attnlab, op, name, word;
  words >> attnlab >> op >> name;
  const Operation& operation = *find_operation(name);
  const auto session = operation.start();
  Inputs inputs;
  std::string option;
  const auto set_flag = [&] {
    if (!option.empty()) session->options.set(option, "");
    option.clear();
  };
  while (words >> word) {
    if (word.starts_with("--")) {
      set_flag();
      option = word.substr(2);
    } else if (word.starts_with("{")) {
      inputs.set(option, input_of(field_case, word.substr(1, word.size() - 2)));
      option.clear();
    } else {
      if (option != "format") session->options.set(option, word);
      option.clear();
    }
  }
  set_flag();
  return {operation, session->options, inputs};
}

bool all_stated(const WrongResult& wrong) {
  return std::all_of(wrong.elements.begin(), wrong.elements.end(),
                     [](const auto& element) { return element.has_value(); });
}

// The stated elements, and for the others those of `otherwise`.
Array filled(const WrongResult& wrong, const Array& otherwise) {
  Array yours = otherwise;
  for (std::size_t n = 0; n < yours.values.size(); ++n)
    yours.values[n] = wrong.elements[n].value_or(yours.values[n]);
  return yours;
}

const Array* find_result(const std::vector<std::pair<std::string, Array>>& results, const std::string& name) {
  for (const auto& [result, array] : results) {
    if (result == name) return &array;
  }
  return nullptr;
}

bool is_explained(const Trial& call, const WrongResult& wrong) {
  const auto right = numeric_results(call.run());
  const Array* expected = find_result(right, wrong.name);
  if (expected == nullptr || expected->values.size() != wrong.elements.size()) return false;
  if (all_stated(wrong)) {
    const Diagnosis found = diagnose(call, wrong.name, filled(wrong, *expected), "yours");
    return !found.matches && !found.explanations.empty();
  }
  // What is not stated is whatever the mistake makes of it.
  for (const Mistake* mistake : mistakes_of(call.operation().name)) {
    const auto results = numeric_results(wrong_results(call, {mistake}).value_or(Results{}));
    const Array* made = find_result(results, wrong.name);
    if (made == nullptr || made->values.size() != wrong.elements.size()) continue;
    const Diagnosis found = diagnose(call, wrong.name, filled(wrong, *made), "yours");
    for (const Explanation& explanation : found.explanations) {
      if (explanation.mistakes == std::vector{mistake}) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("diagnose: explains the wrong numbers of the field cases") {
  // Wrong numbers that no mistake gives, and why.
  const std::map<std::string, std::string> unexplained = {
      {"o-rope-relative-1",
       "single-precision cosines differ between libraries by as much as from the right ones"},
      {"o-kv-size-2", "the number of query heads is no argument of kv-cache-size"},
      {"o-kv-size-4",
       "neither the model's width nor the number of query heads is an argument of kv-cache-size"}};
  // Commands that are no operations: they read files and count models.
  const std::set<std::string> elsewhere = {"params", "inspect", "convert"};
  int explained = 0;
  const json cases = json::parse(test_data("cases/cases.json"));
  for (const json& field_case : cases["cases"]) {
    if (!field_case.contains("wrong") || field_case["wrong"].value("values", json()).is_null()) continue;
    const std::string id = field_case["id"];
    CAPTURE(id);
    const std::string command = word_of(field_case["cli"], 1);
    if (command != "op") {
      CHECK(elsewhere.count(command) == 1);
      continue;
    }
    for (const auto& [name, value] : field_case["wrong"]["values"].items()) {
      WrongResult wrong{name, {}};
      flatten(value, wrong.elements);
      CAPTURE(wrong.name);
      const bool known = is_explained(call_of(field_case), wrong);
      CHECK(known == (unexplained.count(id) == 0));
      explained += known;
    }
  }
  CHECK(explained == 109);
}

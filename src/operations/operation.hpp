// An operation is a value: its arrays, its parameters, its results and how it computes. `op` and `diagnose`
// share the table of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/options.hpp"
#include "lab/value.hpp"
#include "operations/inputs.hpp"

namespace attnlab {

/// An array that an operation takes.
struct InputInfo {
  std::string name;   ///< the option without dashes: "key-padding"
  std::string shape;  ///< as text: "[Tk, d]"
  std::string help;   ///< what it is, no full stop
  bool required = true;
};

/// What an operation gives back.
struct ResultInfo {
  std::string name;   ///< snake_case, the key in JSON
  std::string shape;  ///< as text; "a number" for a scalar
};

/// One result.
struct NamedResult {
  std::string name;
  Value value;                 ///< an Array, a number, or a list of words
  bool whole_numbers = false;  ///< an array printed as integers
};
using Results = std::vector<NamedResult>;

/// What an operation says of itself.
struct OperationInfo {
  std::string name;     ///< kebab-case, what `op` takes
  std::string family;   ///< the heading it stands under
  std::string summary;  ///< one line
  std::string source;   ///< authors, year, section
  std::vector<InputInfo> inputs;
  std::vector<ResultInfo> results;
  std::string details = {};  ///< conventions worth a paragraph in --help
};

/// Parameters with their options bound, ready to be set and run.
struct OperationSession {
  OptionSet options;
  std::function<Results(const Inputs&)> run;
  std::shared_ptr<void> parameters;  // what `options` and `run` refer to
};

struct Operation : OperationInfo {
  /// A session with the defaults set.
  std::function<std::unique_ptr<OperationSession>()> start;
};

/// An operation from its parameters' type: `declare` binds the options, `run` computes.
template <class Params>
Operation make_operation(OperationInfo info, void (*declare)(OptionSet&, Params&),
                         Results (*run)(const Params&, const Inputs&)) {
  Operation operation{std::move(info), {}};
  operation.start = [declare, run] {
    auto parameters = std::make_shared<Params>();
    auto session = std::make_unique<OperationSession>();
    declare(session->options, *parameters);
    session->run = [run, p = parameters.get()](const Inputs& inputs) { return run(*p, inputs); };
    session->parameters = std::move(parameters);
    return session;
  };
  return operation;
}

/// Parameters of an operation that has none.
struct NoParams {};
inline void declare_nothing(OptionSet&, NoParams&) {}

/// Results from arrays and numbers.
NamedResult array_result(std::string name, const Matrix& matrix);
NamedResult array_result(std::string name, const std::vector<double>& vector);
NamedResult whole_result(std::string name, Array array);
/// [n] matrices of equal shape as one array [n, rows, columns].
NamedResult stacked_result(std::string name, const std::vector<Matrix>& matrices);

/// All operations, family by family.
const std::vector<Operation>& operations();
/// Null when there is none of that name.
const Operation* find_operation(std::string_view name);

// One file a family.
std::vector<Operation> attention_operations();
std::vector<Operation> position_operations();
std::vector<Operation> norm_operations();
std::vector<Operation> feed_forward_operations();
std::vector<Operation> expert_operations();
std::vector<Operation> cache_operations();
std::vector<Operation> counting_operations();
std::vector<Operation> random_operations();

}  // namespace attnlab

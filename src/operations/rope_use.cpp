#include "operations/rope_use.hpp"

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace attnlab {
namespace {

RotaryParams rotary_params(const Trial& trial) {
  const std::unique_ptr<OperationSession> session = find_operation("rope")->start();
  copy_options(trial.options(), session->options);
  return *static_cast<const RotaryParams*>(session->parameters.get());
}

// As the operations use it.
RopeUse rope_use(const Trial& trial) {
  RopeUse use;
  use.params = rotary_params(trial);
  const std::string& name = trial.operation().name;
  if (name == "rope-frequencies") {
    use.params.style = RopeStyle::half;
    use.width = static_cast<std::size_t>(trial.number("dim"));
  } else if (name == "rope") {
    const Matrix x = trial.inputs.matrix("x");
    use.width = x.shape(1);
    use.key_positions = trial.inputs.has("pos") ? trial.inputs.numbers("pos") : counted_positions(x.shape(0));
  } else {
    use.width = trial.inputs.matrix("query").shape(1);
    const Matrix pairs = trial.inputs.matrix("pairs");
    for (std::size_t n = 0; n < pairs.shape(0); ++n) {
      use.query_positions.push_back(pairs(n, 0));
      use.key_positions.push_back(pairs(n, 1));
    }
    use.rope = use.params.rope(use.width, {pairs.begin(), pairs.end()});
    return use;
  }
  use.remake();
  return use;
}

Matrix turned(const RopeUse& use, const Matrix& x, double position, double factor) {
  Matrix row = use.turn(x, {position}, use.rope);
  for (double& value : row) value *= factor;
  return row;
}

Results results_of(const Trial& trial, const RopeUse& use) {
  const std::string& name = trial.operation().name;
  if (name == "rope-frequencies") {
    return {array_result("inv_freq", std::vector<double>(use.rope.inv_freq.begin(), use.rope.inv_freq.end())),
            {"attention_factor", use.rope.attention_factor}};
  }
  if (name == "rope")
    return {array_result("output", use.turn(trial.inputs.matrix("x"), use.key_positions, use.rope))};
  std::vector<double> scores;
  for (std::size_t n = 0; n < use.query_positions.size(); ++n) {
    const Matrix query = turned(use, trial.inputs.matrix("query"), use.query_positions[n], use.query_factor);
    const Matrix key = turned(use, trial.inputs.matrix("key"), use.key_positions[n], use.key_factor);
    scores.push_back(dot(elements(query), elements(key)));
  }
  return {array_result("scores", scores)};
}

}  // namespace

bool RopeUse::remake() {
  rope = params.rope(width, key_positions);
  return true;
}

Results run_rope(const Trial& trial) {
  RopeUse use = rope_use(trial);
  for (const RopeChange& change : trial.rope) {
    if (!change(use)) throw Error(ErrorKind::data, "these options and arrays leave no room for the mistake");
  }
  return results_of(trial, use);
}

}  // namespace attnlab

#include "lab/experiment.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {

Report run_session(const Experiment& experiment, const Session& session, const Context& context) {
  Report report = session.run(context);
  for (Check& check : report.checks()) {
    const auto claim = std::find_if(experiment.claims.begin(), experiment.claims.end(),
                                    [&](const Claim& one) { return one.id == check.id; });
    if (claim == experiment.claims.end()) {
      throw Error(ErrorKind::fault,
                  fmt::format("{} checks {}, which it does not declare", experiment.name, check.id));
    }
    check.claim = claim->text;
    check.source = claim->source.empty() ? experiment.source : claim->source;
  }
  return report;
}

}  // namespace attnlab

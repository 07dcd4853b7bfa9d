#include "support/run.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "experiments/all.hpp"
#include "support/paths.hpp"

namespace attnlab {

Report run_experiment(const std::string& name,
                      const std::vector<std::pair<std::string, std::string>>& options, std::uint64_t seed,
                      const std::string& breakage) {
  const Experiment* experiment = experiments::find(name);
  if (experiment == nullptr) throw std::runtime_error("no experiment " + name);
  const auto session = experiment->start();
  for (const auto& [option, text] : options) session->options.set(option, text);
  Context context;
  context.seed = SeedSequence(seed);
  context.breakage = breakage;
  return run_session(*experiment, *session, context);
}

Outcome run_command(const std::vector<std::string>& arguments) {
  Environment environment;
  environment.utf8 = true;
  return run_cli(arguments, environment);
}

std::string test_data(const std::string& path) {
  const std::string full = std::string(test_data_folder) + "/" + path;
  std::ifstream file(full, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + full);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace attnlab

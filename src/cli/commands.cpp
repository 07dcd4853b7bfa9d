#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/command.hpp"
#include "experiments/all.hpp"

namespace attnlab {
namespace {

// Every command but the experiments.
constexpr std::pair<std::string_view, Command (*)()> makers[] = {
    {"replay", replay_command},   {"verify", verify_command},     {"list", list_command},
    {"op", op_command},           {"diagnose", diagnose_command}, {"inspect", inspect_command},
    {"convert", convert_command}, {"report", report_command},     {"completion", completion_command},
    {"man", man_command},
};

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> list;
    for (const std::string& name : command_names()) list.push_back(*find_command(name));
    return list;
  }();
  return all;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments::all()) names.push_back(experiment.name);
  for (const auto& [name, make] : makers) names.emplace_back(name);
  return names;
}

std::optional<Command> find_command(std::string_view name) {
  for (const auto& [other, make] : makers) {
    if (other == name) return make();
  }
  if (experiments::find(name) == nullptr) return {};
  return experiment_command(std::string(name));
}

}  // namespace attnlab

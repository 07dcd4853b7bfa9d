#include <string_view>

#include "cli/command.hpp"
#include "experiments/all.hpp"

namespace attnlab {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> list;
    for (const Experiment& experiment : experiments::all())
      list.push_back(experiment_command(experiment.name));
    for (Command command :
         {replay_command(), verify_command(), list_command(), op_command(), diagnose_command(),
          inspect_command(), convert_command(), report_command(), completion_command()})
      list.push_back(std::move(command));
    std::vector<std::string> names;
    for (const Command& command : list) names.push_back(command.name);
    names.push_back("man");
    list.push_back(man_command(names));
    return list;
  }();
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace attnlab

// `attnlab list`: the commands by the lesson's sections.
#include "cli/command.hpp"
#include "experiments/all.hpp"

namespace attnlab {
namespace {

Outcome run(const Presentation& presentation, const Environment& environment) {
  Result result;
  result.name = "list";
  result.report = Report("Commands by the lesson's sections");
  Report& report = result.report;
  Table table{"commands", "", {{"section"}, {"command"}, {"summary"}, {"source"}}};
  std::string section;
  for (const Command& command : commands()) {
    if (command.section != section) {
      if (!section.empty()) report.line("");
      section = command.section;
      report.line(section);
    }
    const Experiment* experiment = experiments::find(command.name);
    report.line("  " + command.name +
                std::string(command.name.size() < 17 ? 17 - command.name.size() : 1, ' ') + command.summary);
    table.rows.push_back(
        {section, command.name, command.summary, experiment != nullptr ? experiment->source : ""});
  }
  report.data(std::move(table));
  return present(result, presentation, environment);
}

}  // namespace

Command list_command() {
  Command command;
  command.name = "list";
  command.section = "The whole lesson";
  command.summary = "all commands by the lesson's sections";
  command.examples = {"attnlab list", "attnlab list --format md", "attnlab list --format json"};
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto presentation = std::make_shared<Presentation>();
    declare_presentation(invocation->options, *presentation);
    invocation->run = [presentation](const Environment& environment) {
      return run(*presentation, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab

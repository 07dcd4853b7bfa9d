// `attnlab replay`: the lesson's four listings, byte for byte.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "experiments/all.hpp"
#include "io/json.hpp"
#include "lab/embedded_files.hpp"

namespace attnlab {
namespace {

struct Listing {
  std::string name;
  std::vector<std::string> experiments;  ///< whose texts, one after the other, are the listing
};

const std::vector<Listing>& listings() {
  static const std::vector<Listing> all = {{"attention", {"attention", "equivariance"}},
                                           {"scaling", {"scaling"}},
                                           {"positions", {"sinusoidal", "rope"}},
                                           {"accounting", {"params"}}};
  return all;
}

struct ReplayCall {
  Presentation presentation;
  std::string seed = "466";
  bool check = false;
};

Result run_listing(const Listing& listing, const ReplayCall& call) {
  Context context;
  context.seed = parse_seed(call.seed);
  context.precision = call.presentation.precision;
  Result result;
  result.name = "replay " + listing.name;
  result.lesson_listing = true;
  result.parameters = {{"seed", call.seed}};
  for (const std::string& name : listing.experiments) {
    const Experiment& experiment = *experiments::find(name);
    const std::unique_ptr<Session> session = experiment.start();
    result.report.append(run_session(experiment, *session, context));
  }
  return result;
}

// Compares with the lesson's text; a note says how it went.
bool compare(const Listing& listing, const std::string& text, std::string& notes) {
  const std::string_view lesson = embedded_file("lesson/" + listing.name + ".txt");
  if (text == lesson) {
    notes += fmt::format("attnlab: {} is the lesson's text, {} bytes\n", listing.name, text.size());
    return true;
  }
  std::size_t at = 0;
  std::size_t line = 1;
  while (at < text.size() && at < lesson.size() && text[at] == lesson[at]) line += text[at++] == '\n' ? 1 : 0;
  notes += fmt::format("attnlab: {} differs from the lesson's text at byte {}, line {}\n", listing.name,
                       at + 1, line);
  return false;
}

std::string indented(const std::string& json) {
  std::string out;
  for (const char c : json) {
    out += c;
    if (c == '\n') out += "  ";
  }
  out.erase(out.find_last_not_of(" \n") + 1);
  return out;
}

// Of all listings: texts behind each other, JSON keyed by listing; what shows tables, over all of them.
Outcome run_all(const ReplayCall& call, const Environment& environment) {
  Outcome all;
  all.path = call.presentation.output;
  Presentation each = call.presentation;
  const Renderer* told = each.format.empty() ? renderer_of_path(each.output) : &find_renderer(each.format);
  each.format = told == nullptr ? "text" : told->name;
  const bool json = each.format == "json";
  const bool text = each.format == "text" && each.table.empty();
  const bool apart = (json || text) && !each.list_tables && !each.plot;
  Result together;
  together.name = "replay";
  together.lesson_listing = true;
  for (const Listing& listing : listings()) {
    const Result result = run_listing(listing, call);
    if (apart) {
      const std::string part = present(result, each, environment).output;
      if (json)
        all.output += fmt::format("{}\n  {}: {}", all.output.empty() ? "{" : ",", json_string(listing.name),
                                  indented(part));
      if (!json) all.output += part;
    } else {
      together.report.append(result.report);
    }
    if (!call.check) continue;
    const std::string plain = render_text(result, {.precision = call.presentation.precision});
    if (!compare(listing, plain, all.notes)) all.status = 1;
  }
  if (apart && json) all.output += "\n}\n";
  if (!apart) all.output = present(together, each, environment).output;
  return all;
}

Outcome run(const ReplayCall& call, const std::vector<std::string>& arguments,
            const Environment& environment) {
  Outcome outcome;
  if (arguments.empty()) {
    outcome = run_all(call, environment);
  } else {
    for (const Listing& listing : listings()) {
      if (listing.name != arguments[0]) continue;
      const Result result = run_listing(listing, call);
      outcome = present(result, call.presentation, environment);
      if (call.check &&
          !compare(listing, render_text(result, {.precision = call.presentation.precision}), outcome.notes)) {
        outcome.status = 1;
      }
    }
  }
  if (call.presentation.quiet && outcome.status == 0) outcome.notes.clear();
  return outcome;
}

}  // namespace

Command replay_command() {
  Command command;
  command.name = "replay";
  command.section = "The whole lesson";
  command.summary = "what the lesson's listings print, byte for byte";
  command.purpose =
      "Computes what the lesson's four listings compute, with NumPy's random numbers and in NumPy's layout, "
      "and prints "
      "what they print. --check compares each byte with the lesson's text.";
  command.examples = {"attnlab replay", "attnlab replay --check > listings.txt",
                      "attnlab replay scaling --format json"};
  command.positional = {
      "LISTING", "one of attention, scaling, positions, accounting; all four unless given", {}, 0, 1};
  for (const Listing& listing : listings()) command.positional.choices.push_back(listing.name);
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto call = std::make_shared<ReplayCall>();
    declare_presentation(invocation->options, call->presentation);
    invocation->options.text("seed", call->seed, "N", "seed of the NumPy-compatible generator");
    invocation->options.flag("check", call->check, "exit 1 when a byte differs from the lesson's text")
        .no_parameter();
    invocation->run = [call, &arguments = invocation->arguments](const Environment& environment) {
      return run(*call, arguments, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab

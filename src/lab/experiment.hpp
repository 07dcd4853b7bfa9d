// An experiment is a value: what it is called, what it claims, its options and how it runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random/generator.hpp"
#include "lab/options.hpp"
#include "lab/report.hpp"

namespace attnlab {

/// What the world gives a run: the seed and how it is to be told. Nothing in it changes what is true.
struct Context {
  SeedSequence seed{466};           ///< 466 is the lesson's
  std::optional<int> precision;     ///< digits in text output, where the user asked
  std::vector<std::string> tokens;  ///< labels of positions, where the user gave any
  int threads = 1;                  ///< for what only has to be fast
  std::string breakage;             ///< the deliberate fault to commit; empty for none
  bool slow = false;                ///< also what takes longer than a class waits
  std::function<void(double fraction, std::string_view what)> progress = [](double, std::string_view) {};

  /// A fresh generator: NumPy's default_rng(seed).
  Generator rng() const { return Generator(seed); }
  /// Digits to print: the user's choice, or what the lesson prints.
  int digits(int lessons_own) const { return precision.value_or(lessons_own); }
  /// True when the run is to commit this fault: how `verify --perturb` proves that the claims notice.
  bool breaks(std::string_view name) const { return breakage == name; }
};

/// A claim as declared: what `verify --list` and --help show without running.
struct Claim {
  std::string id;           ///< kebab-case, unique in its experiment
  std::string text;         ///< one sentence, no full stop
  std::string source = {};  ///< the experiment's source when empty
  bool slow = false;        ///< checked only by `verify --slow`
};

/// A deliberate fault that an experiment can commit.
struct Breakage {
  std::string name;
  std::string text;  ///< what is done wrong
};

/// What an experiment says of itself.
struct ExperimentInfo {
  std::string name;                        ///< the command, kebab-case
  std::string title;                       ///< a headline
  std::string summary;                     ///< one line for `list`
  std::string section;                     ///< of the lesson, as lesson.txt names it
  std::string source;                      ///< authors, year, section
  std::string purpose;                     ///< a paragraph for --help
  std::vector<std::string> examples = {};  ///< three command lines that run
  std::vector<Claim> claims = {};
  std::vector<Breakage> breakages = {};
  bool lesson_listing = false;  ///< its plain text is the lesson's own, without a word more
  bool any_threads = false;     ///< the result has the same bits for any number of threads
};

/// Parameters with their options bound, ready to be set and run.
struct Session {
  OptionSet options;
  std::function<Report(const Context&)> run;
  std::shared_ptr<void> parameters;  // what `options` and `run` refer to
};

struct Experiment : ExperimentInfo {
  /// A session with the defaults set. Heap-held: options refer to its parameters.
  std::function<std::unique_ptr<Session>()> start;
};

/// Runs a session and completes each check with the claim it belongs to; throws Error(fault) for an
/// undeclared one.
Report run_session(const Experiment& experiment, const Session& session, const Context& context);

/// An experiment from its parameters' type: `declare` binds the options, `run` does it.
template <class Params>
Experiment make_experiment(ExperimentInfo info, void (*declare)(OptionSet&, Params&),
                           Report (*run)(const Params&, const Context&)) {
  Experiment experiment{std::move(info), {}};
  experiment.start = [declare, run] {
    auto parameters = std::make_shared<Params>();
    auto session = std::make_unique<Session>();
    declare(session->options, *parameters);
    session->run = [run, p = parameters.get()](const Context& context) { return run(*p, context); };
    session->parameters = std::move(parameters);
    return session;
  };
  return experiment;
}

}  // namespace attnlab

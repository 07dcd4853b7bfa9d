#include "cli/cli.hpp"
#include "fuzz.hpp"

using namespace attnlab;

/// The text is a command line, one argument a line, for a command that has every kind of option and computes
/// nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> arguments{"list", ""};
  for (std::size_t i = 0; i < size; ++i) {
    const char c = static_cast<char>(data[i]);
    if (c == '\n') {
      arguments.emplace_back();
    } else if (c != '\0') {
      arguments.back() += c;
    }
  }
  const Outcome outcome = run_cli(arguments, {});
  if (outcome.status != 0 && outcome.status != 2) std::abort();
  if (outcome.status == 2 && (!outcome.output.empty() || outcome.notes.empty())) std::abort();
  return 0;
}

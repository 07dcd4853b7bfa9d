#include "cli/cli.hpp"
#include "fuzz.hpp"
#include "lab/options.hpp"

using namespace attnlab;

namespace {

struct Fields {
  std::int64_t count = 3;
  double power = 0.5;
  std::vector<std::int64_t> sizes;
  std::vector<double> steps;
};

// Whatever is taken must lie in its range.
void set_each(const std::string& text) {
  Fields fields;
  OptionSet options;
  options.integer("count", fields.count, -5, 5000, "");
  options.real("power", fields.power, 0, 1, "");
  options.integers("sizes", fields.sizes, 1, 1000, "");
  options.reals("steps", fields.steps, -1, 1, "");
  for (const char* name : {"count", "power", "sizes", "steps"}) {
    try {
      options.set(name, text);
    } catch (const Error&) {
      // Refused, as it should be.
    }
  }
  if (fields.count < -5 || fields.count > 5000 || !(fields.power >= 0 && fields.power <= 1)) std::abort();
  for (const std::int64_t size : fields.sizes) {
    if (size < 1 || size > 1000) std::abort();
  }
  for (const double step : fields.steps) {
    if (!(step >= -1 && step <= 1)) std::abort();
  }
}

}  // namespace

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
  set_each(arguments.back());
  const Outcome outcome = run_cli(arguments, {});
  if (outcome.status != 0 && outcome.status != 2) std::abort();
  if (outcome.status == 2 && (!outcome.output.empty() || outcome.notes.empty())) std::abort();
  return 0;
}

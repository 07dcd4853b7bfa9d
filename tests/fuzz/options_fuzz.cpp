#include "lab/options.hpp"

#include "core/random/seed_sequence.hpp"
#include "fuzz.hpp"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(size, '\0');
  if (size > 0) std::memcpy(text.data(), data, size);
  set_each(text);
  try {
    parse_seed(text);
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}

#include "io/csv.hpp"

#include "fuzz.hpp"

using namespace attnlab;

/// The first byte chooses the options, the rest is the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text(size - 1, '\0');
  if (size > 1) std::memcpy(text.data(), data + 1, size - 1);
  constexpr char delimiters[] = {',', ';', '\t', ' '};
  const char delimiter = delimiters[data[0] & 3];
  const CsvOptions options{delimiter, delimiter == ';' && (data[0] & 4) != 0 ? ',' : '.', (data[0] & 8) != 0};
  try {
    const TypedArray array = parse_csv(text, "input", options);
    fuzz::require_inspectable(array);
    const std::string first = fuzz::written([&](const ByteSink& sink) { write_csv(array, sink); });
    const TypedArray back = parse_csv(first, "again");
    const std::string second = fuzz::written([&](const ByteSink& sink) { write_csv(back, sink); });
    if (back.shape != array.shape || back.dtype != array.dtype || first != second) std::abort();
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}

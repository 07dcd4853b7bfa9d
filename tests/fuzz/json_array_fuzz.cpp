#include "io/json_array.hpp"

#include "fuzz.hpp"

using namespace attnlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(size, '\0');
  if (size > 0) std::memcpy(text.data(), data, size);
  try {
    const TypedArray array = parse_json_array(text, "input");
    fuzz::require_inspectable(array);
    check_json_array(array, "input");
    const std::string first = fuzz::written([&](const ByteSink& sink) { write_json_array(array, sink); });
    const TypedArray back = parse_json_array(first, "again");
    const std::string second = fuzz::written([&](const ByteSink& sink) { write_json_array(back, sink); });
    if (back.shape != array.shape || first != second) std::abort();
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}

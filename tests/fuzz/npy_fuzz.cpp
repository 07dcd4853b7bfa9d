#include "io/npy.hpp"

#include "fuzz.hpp"

using namespace attnlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(size, '\0');
  if (size > 0) std::memcpy(bytes.data(), data, size);
  try {
    const TypedArray array = parse_npy(own_bytes(bytes), "input");
    fuzz::require_inspectable(array);
    const std::string again = fuzz::written([&](const ByteSink& sink) { write_npy(array, sink); });
    fuzz::require_equal(array, parse_npy(own_bytes(again), "again"));
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}

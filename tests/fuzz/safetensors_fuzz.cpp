#include "io/safetensors.hpp"

#include <algorithm>

#include "fuzz.hpp"

using namespace attnlab;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(size, '\0');
  if (size > 0) std::memcpy(bytes.data(), data, size);
  try {
    const SafeTensors content = parse_safetensors(own_bytes(bytes), "input");
    for (const NamedTensor& tensor : content.tensors) fuzz::require_inspectable(tensor.array);
    const std::string again = fuzz::written([&](const ByteSink& sink) { write_safetensors(content, sink); });
    const SafeTensors back = parse_safetensors(own_bytes(again), "again");
    if (back.tensors.size() != content.tensors.size() || back.metadata != content.metadata) std::abort();
    for (const NamedTensor& tensor : content.tensors) {
      const auto same = std::find_if(back.tensors.begin(), back.tensors.end(),
                                     [&](const NamedTensor& other) { return other.name == tensor.name; });
      if (same == back.tensors.end()) std::abort();
      fuzz::require_equal(tensor.array, same->array);
    }
  } catch (const Error&) {
    // Refused, as it should be.
  }
  return 0;
}

#include "io/json.hpp"

#include <nlohmann/json.hpp>

#include "fuzz.hpp"

using namespace attnlab;

/// Our reader is stricter than an independent one (duplicate keys, depth), never laxer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(size, '\0');
  if (size > 0) std::memcpy(text.data(), data, size);
  bool accepted = true;
  try {
    parse_json(text, "input");
  } catch (const Error&) {
    accepted = false;
  }
  if (accepted) {
    // A number that is too large for a double is an error there and well formed here.
    try {
      static_cast<void>(nlohmann::json::parse(text));
    } catch (const nlohmann::json::out_of_range&) {
    } catch (const nlohmann::json::exception&) {
      std::abort();
    }
  }
  const std::string quoted = json_string(text);
  if (parse_json(quoted, "quoted").string() == nullptr) std::abort();
  return 0;
}

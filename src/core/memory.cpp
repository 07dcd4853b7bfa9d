#include "core/memory.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/integer.hpp"

namespace attnlab {

void require_memory(const Shape& shape, const char* what, const char* advice) {
  const Int128 available = static_cast<Int128>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  Int128 bytes = sizeof(double);
  for (const std::size_t size : shape) {
    bytes = checked_multiply(bytes, static_cast<Int128>(size), what);
  }
  if (bytes > available) {
    throw Error(ErrorKind::usage,
                fmt::format("{} of shape {} need {} bytes and this machine has {}: {}", what,
                            shape_text(shape), to_string(bytes), to_string(available), advice));
  }
}

}  // namespace attnlab

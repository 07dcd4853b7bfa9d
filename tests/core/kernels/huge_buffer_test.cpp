#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/kernels/huge_buffer.hpp"

using namespace attnlab;

TEST_CASE("huge buffer: alignment is a cache line or a huge page by size") {
  HugeBuffer<float> small(3, "test");
  CHECK(small.size() == 3);
  CHECK(reinterpret_cast<std::uintptr_t>(small.data()) % 64 == 0);
  small.elements()[2] = 1.0f;
  HugeBuffer<float> large((std::size_t{3} << 20) / sizeof(float), "test");
  CHECK(reinterpret_cast<std::uintptr_t>(large.data()) % (std::size_t{2} << 20) == 0);
  HugeBuffer<float> empty(0, "test");
  CHECK(empty.elements().empty());
}

TEST_CASE("huge buffer: memory the machine lacks is refused with both sizes") {
  const std::size_t available = available_memory();
  CHECK(available > 0);
  std::string text;
  try {
    HugeBuffer<float> buffer(std::size_t{1} << 50, "the matrix of scores");
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(text.find("the matrix of scores would need 4194304.0 GiB of memory; this machine has ") == 0);
  CHECK_THROWS_WITH_AS(HugeBuffer<float>(std::numeric_limits<std::size_t>::max() / 2, "it"),
                       "it would need more memory than can be addressed", Error);
  CHECK_NOTHROW(require_bytes(1000, "little"));
}

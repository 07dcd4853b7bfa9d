#include "core/random/bounded.hpp"

#include <bit>
#include <limits>

namespace attnlab {
namespace {

constexpr std::uint64_t max32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t max64 = std::numeric_limits<std::uint64_t>::max();

std::uint64_t draw_bounded32(Pcg64& bits, std::uint32_t max) {
  const std::uint32_t count = max + 1;
  std::uint64_t product = std::uint64_t{bits.next32()} * count;
  if (static_cast<std::uint32_t>(product) < count) {
    const std::uint32_t threshold = -count % count;  // 2^32 mod count
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{bits.next32()} * count;
  }
  return product >> 32;
}

std::uint64_t draw_bounded64(Pcg64& bits, std::uint64_t max) {
  const std::uint64_t count = max + 1;
  UInt128 product = UInt128{bits.next64()} * count;
  if (static_cast<std::uint64_t>(product) < count) {
    const std::uint64_t threshold = -count % count;  // 2^64 mod count
    while (static_cast<std::uint64_t>(product) < threshold) product = UInt128{bits.next64()} * count;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t draw_bounded(Pcg64& bits, std::uint64_t max) {
  if (max == 0) return 0;
  if (max == max32) return bits.next32();
  if (max == max64) return bits.next64();
  return max < max32 ? draw_bounded32(bits, static_cast<std::uint32_t>(max)) : draw_bounded64(bits, max);
}

std::uint64_t draw_masked(Pcg64& bits, std::uint64_t max) {
  if (max == 0) return 0;
  const std::uint64_t mask = max64 >> std::countl_zero(max);
  for (;;) {
    const std::uint64_t number = (max <= max32 ? bits.next32() : bits.next64()) & mask;
    if (number <= max) return number;
  }
}

}  // namespace attnlab

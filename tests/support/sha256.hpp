// SHA-256, to compare long streams with recorded fingerprints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attnlab::test {

/// Hashes bytes as they come. Source: FIPS 180-4 (2015).
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  /// 64 hex digits; nothing may be added afterwards.
  std::string finish();

 private:
  void absorb_block();

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t length_ = 0;
};

/// The fingerprint of an array's bytes in memory.
template <class Item>
std::string sha256_of(std::span<const Item> items) {
  Sha256 hash;
  hash.update(std::as_bytes(items));
  return hash.finish();
}

}  // namespace attnlab::test

// Seeds of any size spread over as many words as a generator wants: NumPy's SeedSequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attnlab {

/// NumPy 1.24's SeedSequence, word for word, with a pool of four 32-bit words.
/// Source: O'Neill, "Developing a seed_seq Alternative" (2015); NumPy Enhancement Proposal 19.
class SeedSequence {
 public:
  explicit SeedSequence(std::uint64_t seed);
  /// Entropy as 32-bit words: each integer cut into words, least significant first, one after the other
  /// (zero is one word); the spawn key likewise.
  explicit SeedSequence(std::vector<std::uint32_t> entropy, std::vector<std::uint32_t> spawn_key = {});

  /// [count] words to seed a generator with; the first ones do not depend on count.
  std::vector<std::uint32_t> generate_state32(std::size_t count) const;
  std::vector<std::uint64_t> generate_state64(std::size_t count) const;

  /// [count] independent children; later calls continue where this one ended.
  std::vector<SeedSequence> spawn(std::size_t count);

  const std::vector<std::uint32_t>& entropy() const { return entropy_; }
  const std::vector<std::uint32_t>& spawn_key() const { return spawn_key_; }

 private:
  std::vector<std::uint32_t> entropy_;
  std::vector<std::uint32_t> spawn_key_;
  std::uint32_t children_spawned_ = 0;
  std::array<std::uint32_t, 4> pool_{};
};

/// The seed that a text stands for: a whole number of any size, decimal or hexadecimal after 0x, or a comma
/// list of them, which is a sequence as in default_rng([1, 2, 3]). Throws Error(usage) naming --seed for
/// anything else.
SeedSequence parse_seed(std::string_view text);

}  // namespace attnlab

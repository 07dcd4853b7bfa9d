#include "core/random/seed_sequence.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

/// Hashes word after word; its running factor makes equal words hash differently.
class Hasher {
 public:
  Hasher(std::uint32_t start, std::uint32_t multiplier) : factor_(start), multiplier_(multiplier) {}

  std::uint32_t operator()(std::uint32_t word) {
    word ^= factor_;
    factor_ *= multiplier_;
    word *= factor_;
    return word ^ (word >> 16);
  }

 private:
  std::uint32_t factor_;
  std::uint32_t multiplier_;
};

std::uint32_t mix(std::uint32_t left, std::uint32_t right) {
  const std::uint32_t mixed = 0xca01f9ddU * left - 0x4973f715U * right;
  return mixed ^ (mixed >> 16);
}

std::array<std::uint32_t, 4> mixed_pool(const std::vector<std::uint32_t>& words) {
  Hasher hash(0x43b0d7e5U, 0x931e8875U);
  std::array<std::uint32_t, 4> pool{};
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = hash(i < words.size() ? words[i] : 0);
  for (std::size_t from = 0; from < pool.size(); ++from) {
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (to != from) pool[to] = mix(pool[to], hash(pool[from]));
    }
  }
  for (std::size_t i = pool.size(); i < words.size(); ++i) {
    for (std::uint32_t& target : pool) target = mix(target, hash(words[i]));
  }
  return pool;
}

std::vector<std::uint32_t> words_of(std::uint64_t value) {
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(value)};
  if (value >> 32 != 0) words.push_back(static_cast<std::uint32_t>(value >> 32));
  return words;
}

/// words = words * base + digit, least significant word first.
void append_digit(std::vector<std::uint32_t>& words, std::uint32_t base, std::uint32_t digit) {
  std::uint64_t carry = digit;
  for (std::uint32_t& word : words) {
    carry += std::uint64_t{word} * base;
    word = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) words.push_back(static_cast<std::uint32_t>(carry));
}

/// The value of a digit in base 10 or 16; the base itself for any other character.
std::uint32_t digit_value(char c, std::uint32_t base) {
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0');
  if (base == 16 && c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a' + 10);
  if (base == 16 && c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A' + 10);
  return base;
}

/// The words of one whole number; empty when the text is none.
std::vector<std::uint32_t> parse_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const std::uint32_t base = is_hex ? 16 : 10;
  if (is_hex) text.remove_prefix(2);
  if (text.empty()) return {};
  std::vector<std::uint32_t> words{0};
  for (const char c : text) {
    const std::uint32_t digit = digit_value(c, base);
    if (digit == base) return {};
    append_digit(words, base, digit);
  }
  return words;
}

}  // namespace

SeedSequence::SeedSequence(std::uint64_t seed) : SeedSequence(words_of(seed)) {}

SeedSequence::SeedSequence(std::vector<std::uint32_t> entropy, std::vector<std::uint32_t> spawn_key)
    : entropy_(std::move(entropy)), spawn_key_(std::move(spawn_key)) {
  std::vector<std::uint32_t> words = entropy_;
  if (!spawn_key_.empty()) {
    // Padding keeps a child of a short seed apart from the longer seed that ends in its key.
    if (words.size() < pool_.size()) words.resize(pool_.size(), 0);
    words.insert(words.end(), spawn_key_.begin(), spawn_key_.end());
  }
  pool_ = mixed_pool(words);
}

std::vector<std::uint32_t> SeedSequence::generate_state32(std::size_t count) const {
  Hasher hash(0x8b51f9ddU, 0x58f38dedU);
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = hash(pool_[i % pool_.size()]);
  return words;
}

std::vector<std::uint64_t> SeedSequence::generate_state64(std::size_t count) const {
  const std::vector<std::uint32_t> halves = generate_state32(2 * count);
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = halves[2 * i] | (std::uint64_t{halves[2 * i + 1]} << 32);
  }
  return words;
}

std::vector<SeedSequence> SeedSequence::spawn(std::size_t count) {
  std::vector<SeedSequence> children;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint32_t> child_key = spawn_key_;
    child_key.push_back(children_spawned_++);
    children.emplace_back(entropy_, std::move(child_key));
  }
  return children;
}

SeedSequence parse_seed(std::string_view text) {
  std::vector<std::uint32_t> entropy;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::vector<std::uint32_t> words = parse_number(text.substr(begin, end - begin));
    if (words.empty()) {
      throw Error(
          ErrorKind::usage,
          fmt::format("--seed: '{}' is not a seed: give a whole number from 0 up, decimal or hexadecimal "
                      "after 0x, or a comma list of them",
                      text));
    }
    entropy.insert(entropy.end(), words.begin(), words.end());
    begin = end + 1;
  }
  return SeedSequence(std::move(entropy));
}

}  // namespace attnlab

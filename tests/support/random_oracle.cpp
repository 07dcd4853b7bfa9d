#include "support/random_oracle.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

namespace attnlab::test {

using nlohmann::json;

json oracle_cases(const std::string& name) {
  std::ifstream file(std::string(test_data_folder) + "/oracle/" + name + ".json");
  return json::parse(file).at("cases");
}

UInt128 parse_u128(const json& number) {
  if (number.is_number_unsigned()) return number.get<std::uint64_t>();
  const SeedSequence parsed = parse_seed(number.get<std::string>());
  UInt128 value = 0;
  for (std::size_t i = parsed.entropy().size(); i-- > 0;) value = value << 32 | parsed.entropy()[i];
  return value;
}

SeedSequence seed_of(const json& seed) {
  if (seed.is_number_unsigned()) return SeedSequence(seed.get<std::uint64_t>());
  if (seed.is_string()) return parse_seed(seed.get<std::string>());
  std::vector<std::uint32_t> words;
  for (const json& member : seed) {
    const std::vector<std::uint32_t> more = seed_of(member).entropy();
    words.insert(words.end(), more.begin(), more.end());
  }
  return SeedSequence(words);
}

Generator generator_of(const json& seed) { return Generator(seed_of(seed)); }

Pcg64 state_of(const json& state) {
  Pcg64 bits;
  bits.state = parse_u128(state.at("state"));
  bits.increment = parse_u128(state.at("inc"));
  bits.has_spare = state.at("has_uint32") == 1;
  bits.spare = state.at("uinteger");
  return bits;
}

std::vector<double> doubles_of(const json& values) {
  std::vector<double> numbers;
  for (const json& value : values) {
    numbers.push_back(value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                                        : value.get<double>());
  }
  return numbers;
}

std::string first_difference(std::span<const double> actual, std::span<const double> expected) {
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (std::bit_cast<std::uint64_t>(actual[i]) != std::bit_cast<std::uint64_t>(expected[i])) {
      return fmt::format("number {}: {:a} instead of {:a}", i, actual[i], expected[i]);
    }
  }
  if (actual.size() != expected.size())
    return fmt::format("{} numbers instead of {}", actual.size(), expected.size());
  return "";
}

}  // namespace attnlab::test

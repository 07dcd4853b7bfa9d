#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/random/generator.hpp"
#include "support/random_oracle.hpp"

using namespace attnlab;
using namespace attnlab::test;
using nlohmann::json;

namespace {

/// The children recorded for a seed: spawn(3), then spawn(1), then two of child 1.
std::vector<SeedSequence> recorded_children(SeedSequence parent) {
  std::vector<SeedSequence> children = parent.spawn(3);
  children.push_back(parent.spawn(1)[0]);
  for (const SeedSequence& grandchild : children[1].spawn(2)) children.push_back(grandchild);
  return children;
}

}  // namespace

TEST_CASE("seed sequence: words and PCG64 states are NumPy's for seeds of every size") {
  for (const json& recorded : oracle_cases("seedsequence")) {
    CAPTURE(recorded.at("seed").dump());
    const SeedSequence seeds = seed_of(recorded.at("seed"));
    CHECK(seeds.generate_state32(8) == recorded.at("state_u32_8").get<std::vector<std::uint32_t>>());
    std::vector<std::uint64_t> words;
    for (const json& word : recorded.at("state_u64_4"))
      words.push_back(static_cast<std::uint64_t>(parse_u128(word)));
    CHECK(seeds.generate_state64(4) == words);
    CHECK(Pcg64(seeds) == state_of(recorded.at("pcg64")));
  }
}

TEST_CASE("seed sequence: children and grandchildren are NumPy's") {
  for (const json& recorded : oracle_cases("seedsequence")) {
    CAPTURE(recorded.at("seed").dump());
    const std::vector<SeedSequence> children = recorded_children(seed_of(recorded.at("seed")));
    REQUIRE(recorded.at("spawn").size() == children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const json& child = recorded.at("spawn")[i];
      CAPTURE(i);
      CHECK(children[i].spawn_key() == child.at("spawn_key").get<std::vector<std::uint32_t>>());
      CHECK(children[i].generate_state32(4) == child.at("state_u32_4").get<std::vector<std::uint32_t>>());
      Pcg64 bits(children[i]);
      CHECK(bits == state_of(child.at("pcg64")));
      for (const json& word : child.at("first_raw")) CHECK(bits.next64() == parse_u128(word));
    }
  }
}

TEST_CASE("seed sequence: a generator's children are seeded by its seed's children") {
  Generator parent(466);
  SeedSequence seeds(466);
  const std::vector<SeedSequence> expected = seeds.spawn(3);
  CHECK(parent.spawn(2)[1].bits() == Pcg64(expected[1]));
  CHECK(parent.spawn(1)[0].bits() == Pcg64(expected[2]));
}

TEST_CASE("seed sequence: text is read in decimal and hexadecimal and as a list of any length") {
  using Words = std::vector<std::uint32_t>;
  CHECK(parse_seed("0").entropy() == Words{0});
  CHECK(parse_seed("466").entropy() == SeedSequence(466).entropy());
  CHECK(parse_seed("0466").entropy() == Words{466});
  CHECK(parse_seed("0x1D2").entropy() == Words{466});
  CHECK(parse_seed("0X1d2").entropy() == Words{466});
  CHECK(parse_seed("0xAFaf9").entropy() == Words{0xafaf9});
  CHECK(parse_seed("4294967296").entropy() == Words{0, 1});
  CHECK(parse_seed("18446744073709551615").entropy() == SeedSequence(~std::uint64_t{0}).entropy());
  // 2^128 + 5
  CHECK(parse_seed("340282366920938463463374607431768211461").entropy() == Words{5, 0, 0, 0, 1});
  CHECK(parse_seed("0x100000000000000000000000000000005").entropy() == Words{5, 0, 0, 0, 1});
  CHECK(parse_seed("1099511627776,5").entropy() == Words{0, 256, 5});
  CHECK(parse_seed("0,0x0,3").entropy() == Words{0, 0, 3});
}

TEST_CASE("seed sequence: text that is no seed is refused by name") {
  CHECK_THROWS_WITH_AS(
      parse_seed("-1"),
      "--seed: '-1' is not a seed: give a whole number from 0 up, decimal or hexadecimal after 0x, "
      "or a comma list of them",
      Error);
  for (const char* text :
       {"", ",", "1,", ",1", "1,,2", "0x", "0xg", "1e3", "5x", " 1", "1 ", "+1", "1.0", "ff"}) {
    CAPTURE(text);
    try {
      parse_seed(text);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
    }
  }
}

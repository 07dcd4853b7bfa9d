#include <doctest/doctest.h>

#include "core/random/pcg64.hpp"
#include "support/random_oracle.hpp"

using namespace attnlab;
using namespace attnlab::test;
using nlohmann::json;

TEST_CASE("pcg64: a thousand words are NumPy's for every recorded seed") {
  for (const json& recorded : oracle_cases("raw_uint64")) {
    CAPTURE(recorded.at("seed").dump());
    Pcg64 bits(seed_of(recorded.at("seed")));
    for (const json& word : recorded.at("raw")) {
      REQUIRE(bits.next64() == std::stoull(word.get<std::string>(), nullptr, 16));
    }
  }
}

TEST_CASE("pcg64: advancing equals drawing") {
  const Pcg64 start(SeedSequence(7));
  Pcg64 drawn = start;
  for (unsigned count = 0; count < 300; ++count) {
    Pcg64 jumped = start;
    jumped.advance(count);
    REQUIRE(jumped == drawn);
    drawn.next64();
  }
}

TEST_CASE("pcg64: advancing by the whole period returns to the start and by one less steps back") {
  const Pcg64 start(SeedSequence(7));
  Pcg64 stepped_back = start;
  stepped_back.advance(-UInt128{1});
  CHECK_FALSE(stepped_back == start);
  stepped_back.next64();
  CHECK(stepped_back == start);
}

TEST_CASE("pcg64: halves come low before high and the spare half outlives whole words") {
  Pcg64 bits(SeedSequence(466));
  Pcg64 words = bits;
  const std::uint64_t first = words.next64();
  const std::uint64_t second = words.next64();
  CHECK(bits.next32() == static_cast<std::uint32_t>(first));
  CHECK(bits.has_spare);
  CHECK(bits.next64() == second);
  CHECK(bits.next32() == static_cast<std::uint32_t>(first >> 32));
  CHECK_FALSE(bits.has_spare);
  CHECK(bits.state == words.state);
}

TEST_CASE("pcg64: comparison sees every part of the state") {
  const Pcg64 bits(SeedSequence(1));
  Pcg64 other = bits;
  CHECK(bits == other);
  other.spare = 1;
  CHECK_FALSE(bits == other);
  other = bits;
  other.has_spare = true;
  CHECK_FALSE(bits == other);
  other = bits;
  other.increment += 2;
  CHECK_FALSE(bits == other);
  other = bits;
  other.state += UInt128{1} << 127;
  CHECK_FALSE(bits == other);
}

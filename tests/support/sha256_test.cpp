#include <string_view>

#include <doctest/doctest.h>

#include "support/sha256.hpp"

using attnlab::test::sha256_of;

TEST_CASE("sha256: the published examples") {
  const auto of_text = [](std::string_view text) { return sha256_of(std::span<const char>(text)); };
  CHECK(of_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(of_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

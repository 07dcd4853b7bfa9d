#include <cmath>

#include <doctest/doctest.h>

#include "core/random/ziggurat_tables.hpp"
#include "support/sha256.hpp"

using namespace attnlab;
using attnlab::test::sha256_of;

TEST_CASE("ziggurat tables: all six are NumPy's byte for byte") {
  const ZigguratTables& tables = ziggurat_tables();
  CHECK(sha256_of(std::span<const double>(tables.scale)) ==
        "33c6472209e1d09ea3548f0291e5e1ad67fb4f1d0305e9f1086689584b7bb7fa");
  CHECK(sha256_of(std::span<const double>(tables.density)) ==
        "acd898d9d87e212f657755ba43b21e40958090a7ff2103c9e79f4ea1b0fe2bc5");
  CHECK(sha256_of(std::span<const std::uint64_t>(tables.accept)) ==
        "565295797825931547a1036f5b012a247be54abbe077c39fe06c8ed1e9d0a5a9");
  CHECK(sha256_of(std::span<const float>(tables.scale_f32)) ==
        "7e876b6f831f031c494d3f21c00f1845928d7ba8984b207e08b3fcba766a67fd");
  CHECK(sha256_of(std::span<const float>(tables.density_f32)) ==
        "3ec75aef4fc5308b6f948d1fd8d0eef691a752eebbaa91914fc111948aea6ad8");
  CHECK(sha256_of(std::span<const std::uint32_t>(tables.accept_f32)) ==
        "b00c1701b8ee9b5e5bb285bef552e979942af25328141d131b0ad8183643fd39");
}

TEST_CASE("ziggurat tables: every piece has the same area") {
  // Piece i reaches from the height at edge i to that at edge i-1 and is as wide as edge i.
  const ZigguratTables& tables = ziggurat_tables();
  const double area = ziggurat_tail_start * (tables.density[254] - tables.density[255]);
  for (std::size_t i = 1; i < 256; ++i) {
    CAPTURE(i);
    const double edge = tables.scale[i] * 0x1p52;
    CHECK(std::abs(edge * (tables.density[i - 1] - tables.density[i]) - area) < 1e-14);
  }
}

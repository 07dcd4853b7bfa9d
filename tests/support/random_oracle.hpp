// Reads what NumPy's generator was recorded to do: tests/data/oracle.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/random/generator.hpp"

namespace attnlab::test {

/// The cases of tests/data/oracle/<name>.json.
nlohmann::json oracle_cases(const std::string& name);

/// A whole number in JSON: a number, or text in decimal or hexadecimal after 0x.
UInt128 parse_u128(const nlohmann::json& number);

/// default_rng(seed) for a seed in JSON: a number, text or a list of them.
SeedSequence seed_of(const nlohmann::json& seed);
Generator generator_of(const nlohmann::json& seed);

/// The state in NumPy's dictionary form.
Pcg64 state_of(const nlohmann::json& state);

/// Numbers recorded as hexadecimal text, or plainly.
std::vector<double> doubles_of(const nlohmann::json& values);

/// Where two sequences of numbers first differ in their bits, "" when nowhere.
std::string first_difference(std::span<const double> actual, std::span<const double> expected);

}  // namespace attnlab::test

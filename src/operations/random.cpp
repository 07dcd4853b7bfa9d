// Numbers of NumPy's default_rng, each kind from a fresh generator.
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/memory.hpp"
#include "core/random/generator.hpp"
#include "operations/operation.hpp"

namespace attnlab {
namespace {

struct RngParams {
  std::string seed = "466";
  std::size_t raw = 0;
  std::size_t normal = 0;
  std::size_t uniform = 0;
  std::size_t permutation = 0;
  std::size_t integers = 0;
  std::int64_t low = 0;
  std::int64_t high = 10;
};

void declare_rng(OptionSet& options, RngParams& params) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  options.text("seed", params.seed, "N", "of any size, decimal or 0x hex; a comma list is a sequence");
  options.integer("raw", params.raw, 0, most, "words of 64 bits, as 16 hex digits each");
  options.integer("normal", params.normal, 0, most, "standard normals");
  options.integer("uniform", params.uniform, 0, most, "numbers in [0, 1)");
  options.integer("permutation", params.permutation, 0, most, "0 .. N - 1 in random order");
  options.integer("integers", params.integers, 0, most, "whole numbers from --low up to below --high");
  options.integer("low", params.low, least, most, "smallest whole number");
  options.integer("high", params.high, least, most, "above the largest whole number");
}

Results run_rng(const RngParams& params, const Inputs&) {
  const SeedSequence seed = parse_seed(params.seed);
  for (const std::size_t count :
       {params.raw, params.normal, params.uniform, params.permutation, params.integers}) {
    require_memory({count}, "random numbers");
  }
  Results results;
  if (params.raw > 0) {
    Generator rng(seed);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < params.raw; ++i) words.push_back(fmt::format("{:016x}", rng.bits().next64()));
    results.push_back({"raw_hex", words});
  }
  if (params.normal > 0) {
    std::vector<double> numbers(params.normal);
    Generator(seed).fill_standard_normal(numbers);
    results.push_back(array_result("normal", numbers));
  }
  if (params.uniform > 0) {
    std::vector<double> numbers(params.uniform);
    Generator(seed).fill_random(numbers);
    results.push_back(array_result("uniform", numbers));
  }
  if (params.permutation > 0) {
    const std::vector<std::size_t> order = Generator(seed).permutation(params.permutation);
    results.push_back(whole_result("permutation", {{order.size()}, {order.begin(), order.end()}}));
  }
  if (params.integers > 0) {
    Generator rng(seed);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < params.integers; ++i)
      numbers.push_back(rng.integers(params.low, params.high));
    results.push_back({"integers", numbers});
  }
  if (results.empty()) {
    throw Error(ErrorKind::usage,
                "nothing to draw: give --raw, --normal, --uniform, --permutation or --integers");
  }
  return results;
}

}  // namespace

std::vector<Operation> random_operations() {
  return {make_operation<RngParams>(
      {.name = "rng",
       .family = "Random numbers",
       .summary = "NumPy's default_rng(seed): words, normals, uniforms, permutations",
       .source = "O'Neill 2014 (PCG); NumPy 1.24",
       .inputs = {},
       .results = {{"raw_hex", "[raw]"},
                   {"normal", "[normal]"},
                   {"uniform", "[uniform]"},
                   {"permutation", "[permutation]"},
                   {"integers", "[integers]"}},
       .details = "Each kind is drawn from a fresh generator."},
      declare_rng, run_rng)};
}

}  // namespace attnlab

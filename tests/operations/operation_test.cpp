#include "operations/operation.hpp"

#include <cmath>
#include <limits>
#include <set>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/norm.hpp"
#include "operations/attention_parameters.hpp"
#include "support/closeness.hpp"

using namespace attnlab;
using testing::difference;
using testing::scattered;

namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

Results run_operation(const std::string& name, const Options& options, const Inputs& inputs) {
  const auto session = find_operation(name)->start();
  for (const auto& [option, text] : options) session->options.set(option, text);
  return session->run(inputs);
}

Array array_of(const Results& results, const std::string& name) {
  for (const NamedResult& result : results) {
    if (result.name == name) return std::get<Array>(result.value);
  }
  FAIL("no result ", name);
  return {};
}

std::string difference_of(const Results& got, const Results& want, const std::string& name,
                          double bound = 1e-12) {
  const Array a = array_of(got, name);
  const Array b = array_of(want, name);
  if (a.shape != b.shape) return shape_text(a.shape) + " where " + shape_text(b.shape) + " was expected";
  return difference(std::span<const double>(a.values), b.values, bound);
}

Inputs query_key_value(const Matrix& query, const Matrix& key, const Matrix& value) {
  Inputs inputs;
  inputs.set("query", to_array(query));
  inputs.set("key", to_array(key));
  inputs.set("value", to_array(value));
  return inputs;
}

}  // namespace

TEST_CASE("operations: names are unique and each says what it is and where it comes from") {
  std::set<std::string> names;
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    CHECK(names.insert(operation.name).second);
    CHECK(find_operation(operation.name) == &operation);
    CHECK_FALSE(operation.family.empty());
    CHECK_FALSE(operation.summary.empty());
    CHECK_FALSE(operation.source.empty());
    CHECK_FALSE(operation.results.empty());
  }
  CHECK(find_operation("nosuch") == nullptr);
}

TEST_CASE("operations: inputs have shapes and share no name with a parameter") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    const auto session = operation.start();
    for (const InputInfo& input : operation.inputs) {
      CAPTURE(input.name);
      CHECK(input.shape.starts_with("["));
      CHECK_FALSE(input.help.empty());
      CHECK(session->options.find(input.name) == nullptr);
    }
  }
}

TEST_CASE("operations: without arrays the required ones are asked for and the others compute") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    if (operation.name == "rng") continue;  // draws nothing unless told what
    const auto session = operation.start();
    if (operation.inputs.empty()) {
      const Results results = session->run({});
      CHECK(results.size() == operation.results.size());
      for (std::size_t n = 0; n < results.size(); ++n) CHECK(results[n].name == operation.results[n].name);
    } else {
      CHECK_THROWS_AS(session->run({}), Error);
    }
  }
}

TEST_CASE("operations: attention of heads with everything at once is each head by itself") {
  const std::size_t num_queries = 4;
  const std::size_t num_keys = 6;
  const Matrix query = scattered(num_queries, 16, 1);
  Matrix key = scattered(num_keys, 8, 2);
  Matrix value = scattered(num_keys, 6, 3);
  const Matrix bias = scattered(num_queries, num_keys, 4);
  const std::vector<bool> is_real{false, true, true, true, true, false};
  for (std::size_t c = 0; c < 8; ++c) key(0, c) = testing::not_a_number;
  for (std::size_t c = 0; c < 6; ++c) value(5, c) = testing::infinity;

  Inputs inputs = query_key_value(query, key, value);
  inputs.set("key-padding", {{num_keys}, {0, 1, 1, 1, 1, 0}});
  inputs.set("bias", to_array(bias));
  const Results results = run_operation("attention",
                                        {{"heads", "4"},
                                         {"kv-heads", "2"},
                                         {"causal", ""},
                                         {"window", "4"},
                                         {"rope", "half"},
                                         {"rope-base", "500"},
                                         {"qk-norm", "rms"},
                                         {"alibi-slope", "0.25"}},
                                        inputs);

  const std::vector<double> query_positions{2, 3, 4, 5};
  AttentionOptions options;
  Reach reach;
  reach.causal = true;
  reach.left = 3;
  options.mask = both(reach_mask(query_positions, counted_positions(num_keys), reach),
                      padding_mask(num_queries, is_real));
  options.bias = bias;
  for (std::size_t i = 0; i < num_queries; ++i) {
    for (std::size_t j = 0; j < num_keys; ++j) {
      (*options.bias)(i, j) -= 0.25 * std::abs(query_positions[i] - static_cast<double>(j));
    }
  }
  const Rope rope = make_rope(4, RopeStyle::half, 500);
  std::vector<Matrix> outputs;
  for (std::size_t head = 0; head < 4; ++head) {
    const Matrix q = rotated(normalized(head_columns(query, head, 4), NormKind::rms), query_positions, rope);
    const Matrix k =
        rotated(normalized(head_columns(key, head / 2, 2), NormKind::rms), counted_positions(num_keys), rope);
    outputs.push_back(attention(q, k, head_columns(value, head / 2, 2), options).output);
  }
  CHECK(difference(to_matrix(array_of(results, "output"), "output"), concatenated(outputs)) == "");
  CHECK(array_of(results, "weights").shape == Shape{4, num_queries, num_keys});
  CHECK(array_of(results, "lse").shape == Shape{4, num_queries});
}

TEST_CASE("operations: flash and the float32 kernels give what dense attention gives") {
  const Inputs inputs = query_key_value(scattered(9, 12, 1), scattered(11, 6, 2), scattered(11, 4, 3));
  Options options{{"heads", "4"}, {"kv-heads", "2"}, {"causal", ""}, {"window-left", "5"}};
  const Results dense = run_operation("attention", options, inputs);
  options.insert(options.end(), {{"method", "flash"}, {"block-q", "2"}, {"block-k", "3"}});
  const Results flash = run_operation("attention", options, inputs);
  CHECK(difference_of(flash, dense, "output") == "");
  CHECK(difference_of(flash, dense, "lse") == "");
  options.insert(options.end(), {{"dtype", "float32"}, {"threads", "2"}});
  const Results fast = run_operation("attention", options, inputs);
  CHECK(difference_of(fast, dense, "output", 1e-6) == "");
  CHECK(difference_of(fast, dense, "lse", 1e-6) == "");
}

TEST_CASE("operations: the float32 kernels refuse what they do not offer") {
  Inputs inputs = query_key_value(scattered(2, 4, 1), scattered(2, 4, 2), scattered(2, 4, 3));
  CHECK_THROWS_WITH_AS(
      run_operation("attention", {{"dtype", "float32"}, {"rope", "half"}}, inputs),
      "--dtype float32 has kernels for heads, --causal, windows and --scale: leave out --rope", Error);
  inputs.set("mask", {{2, 2}, {1, 1, 1, 1}});
  CHECK_THROWS_WITH_AS(
      run_operation("attention", {{"dtype", "float32"}}, inputs),
      "--dtype float32 has kernels for heads, --causal, windows and --scale: leave out --mask", Error);
}

TEST_CASE("operations: scores and masks that no memory holds are refused before memory is taken") {
  const Matrix many = zeros(std::size_t{1} << 22, 1);
  const Inputs inputs = query_key_value(many, many, many);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"causal", ""}}, inputs),
                       doctest::Contains("of shape [4, 4194304, 4194304] need 562949953421312 bytes"), Error);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"causal", ""}}, inputs),
                       doctest::Contains("--method flash --dtype float32 needs little"), Error);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"causal", ""}, {"method", "flash"}}, inputs),
                       doctest::Contains("a mask, eight pairs a number, of shape [4194304, 524288]"), Error);
}

TEST_CASE("operations: choices that contradict each other are refused") {
  Inputs inputs = query_key_value(scattered(2, 4, 1), scattered(2, 4, 2), scattered(2, 4, 3));
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"pattern", "strided"}}, inputs),
                       "--pattern strided needs --stride", Error);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"heads", "4"}, {"kv-heads", "3"}}, inputs),
                       "--heads 4 is not a multiple of --kv-heads 3: query heads share them evenly", Error);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"rope", "half"}, {"rope-dim", "3"}}, inputs),
                       "--rope-dim: 3 columns do not split into pairs: give an even number", Error);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"alibi", ""}, {"alibi-slope", "1"}}, inputs),
                       "--alibi and --alibi-slope exclude each other", Error);
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"dropout", "1"}}, inputs),
                       "--dropout: 1 would keep nothing: give a rate below 1", Error);
  CHECK_THROWS_WITH_AS(
      run_operation("low-rank-attention", {{"causal", ""}}, inputs),
      "--causal is not supported by low-rank attention: each projected key mixes in future positions", Error);
  CHECK_THROWS_WITH_AS(run_operation("moe-route", {{"renormalize", ""}, {"no-renormalize", ""}}, inputs),
                       "--renormalize and --no-renormalize exclude each other", Error);
  inputs.set("gain", {{4}, {1, 1, 1, 1}});
  CHECK_THROWS_WITH_AS(run_operation("attention", {}, inputs), "--gain has no effect without --qk-norm rms",
                       Error);
}

TEST_CASE("operations: dropout acts only with a keep mask and then rescales") {
  Inputs inputs = query_key_value(zeros(1, 1), zeros(2, 1), Matrix{{2}, {6}});
  CHECK(array_of(run_operation("attention", {{"dropout", "0.5"}}, inputs), "output").values ==
        std::vector<double>{4});
  inputs.set("dropout-keep", {{1, 2}, {0, 1}});
  CHECK(array_of(run_operation("attention", {{"dropout", "0.5"}}, inputs), "output").values ==
        std::vector<double>{6});
}

TEST_CASE("operations: a bias and a keep mask may differ by head") {
  Inputs inputs = query_key_value(zeros(1, 2), zeros(2, 2), Matrix{{1, 10}, {3, 30}});
  const double hidden = -std::numeric_limits<double>::infinity();
  inputs.set("bias", {{2, 1, 2}, {hidden, 0, 0, hidden}});
  CHECK(array_of(run_operation("attention", {{"heads", "2"}}, inputs), "output").values ==
        std::vector<double>{3, 10});
  inputs.set("bias", {{1, 1, 2}, {0, 0}}, "--bias b.npy");
  CHECK_THROWS_WITH_AS(run_operation("attention", {{"heads", "2"}}, inputs),
                       "--bias b.npy: 1 grids where 2 heads need one each", Error);
}

TEST_CASE("operations: counts are exact beyond 64 bits and refuse to wrap") {
  const auto number = [](const std::string& name, const Options& options) {
    return to_string(std::get<Int128>(run_operation(name, options, {})[0].value));
  };
  CHECK(number("training-compute", {{"parameters", "405000000000"}, {"tokens", "15600000000000"}}) ==
        "37908000000000000000000000");
  CHECK(number("kv-cache-size", {}) == "37748736");
  CHECK(number("kv-cache-size",
               {{"length", "3"}, {"layers", "1"}, {"kv-heads", "1"}, {"head-dim", "1"}, {"bits", "3"}}) ==
        "3");
  CHECK(number("score-entries", {{"length", "4294967296"}}) == "18446744073709551616");
  CHECK(number("swiglu-width", {}) == "11008");
  CHECK(number("swiglu-width", {{"d-model", "5"}, {"multiple-of", "1"}}) == "13");
  const std::string most = "9223372036854775807";
  CHECK_THROWS_WITH_AS(number("kv-cache-size", {{"layers", most}, {"kv-heads", most}}),
                       "the cache is beyond 127 bits: choose smaller sizes", Error);
}

TEST_CASE("operations: the current length of dynamic scaling follows from the positions") {
  Inputs inputs;
  inputs.set("x", to_array(scattered(2, 8, 1)));
  inputs.set("pos", {{2}, {0, 4095}});
  const Options dynamic{{"scaling", "dynamic"}, {"factor", "2"}};
  Options explicit_length = dynamic;
  explicit_length.emplace_back("length", "4096");
  CHECK(difference_of(run_operation("rope", dynamic, inputs), run_operation("rope", explicit_length, inputs),
                      "output", 0) == "");
  CHECK(difference_of(run_operation("rope", dynamic, inputs), run_operation("rope", {}, inputs), "output") !=
        "");
}

TEST_CASE("operations: a gated block takes either set of names") {
  Inputs inputs;
  for (const char* name : {"x", "wq", "wk", "wv", "wo", "w1", "w2", "w3"}) {
    inputs.set(name, to_array(scattered(4, 4, static_cast<unsigned>(name[1] + name[0]))));
  }
  const Options gated{{"activation", "swiglu"}, {"norm", "rms"}, {"causal", ""}};
  const Results llama = run_operation("block", gated, inputs);
  inputs.set("w-gate", inputs.array("w1"));
  inputs.set("w-up", inputs.array("w3"));
  inputs.set("w-down", inputs.array("w2"));
  CHECK(difference_of(run_operation("block", gated, inputs), llama, "output", 0) == "");
}

TEST_CASE("operations: random numbers are drawn each from a fresh generator") {
  const Results results =
      run_operation("rng", {{"raw", "1"}, {"uniform", "2"}, {"permutation", "5"}, {"seed", "466"}}, {});
  CHECK(results.size() == 3);
  CHECK(array_of(results, "permutation").values.size() == 5);
  CHECK_THROWS_WITH_AS(run_operation("rng", {}, {}),
                       "nothing to draw: give --raw, --normal, --uniform, --permutation or --integers",
                       Error);
}

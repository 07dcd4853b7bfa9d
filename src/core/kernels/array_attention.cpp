#include "core/kernels/array_attention.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/kernels/huge_buffer.hpp"

namespace attnlab {
namespace {

// An array [heads, rows, columns], or [rows, columns] with one head, as floats.
struct FloatHeads {
  std::size_t heads;
  std::size_t rows;
  std::size_t columns;
  HugeBuffer<float> numbers;

  HeadView<const float> view() const { return heads_in_turn(numbers.data(), rows, columns); }
};

FloatHeads to_floats(const Array& array, const char* name) {
  const std::size_t rank = array.shape.size();
  if (rank != 2 && rank != 3) {
    throw Error(ErrorKind::data,
                fmt::format("{}: shape {} where [tokens, width] or [heads, tokens, width] was expected", name,
                            shape_text(array.shape)));
  }
  FloatHeads floats{rank == 3 ? array.shape[0] : 1, array.shape[rank - 2], array.shape[rank - 1],
                    HugeBuffer<float>(array.values.size(), name)};
  std::transform(array.values.begin(), array.values.end(), floats.numbers.data(),
                 [](double number) { return static_cast<float>(number); });
  return floats;
}

Array to_doubles(const HugeBuffer<float>& numbers, Shape shape) {
  return {std::move(shape), std::vector<double>(numbers.elements().begin(), numbers.elements().end())};
}

}  // namespace

ArrayAttention flash_attention(const Array& query, const Array& key, const Array& value,
                               const FlashOptions& options, ThreadPool& threads) {
  const FloatHeads q = to_floats(query, "query");
  const FloatHeads k = to_floats(key, "key");
  const FloatHeads v = to_floats(value, "value");
  if (q.columns != k.columns || k.rows != v.rows || k.heads != v.heads) {
    throw Error(ErrorKind::data,
                fmt::format("query {}, key {} and value {} do not fit each other", shape_text(query.shape),
                            shape_text(key.shape), shape_text(value.shape)));
  }
  HugeBuffer<float> output(q.heads * q.rows * v.columns, "the output of attention");
  HugeBuffer<float> log_sum_exp(q.heads * q.rows, "the log-sum-exp of attention");
  const FlashInputs inputs{q.view(), k.view(), v.view(),  q.heads,  k.heads,
                           q.rows,   k.rows,   q.columns, v.columns};
  const FlashWork work = flash_attention(inputs, heads_in_turn(output.data(), q.rows, v.columns), options,
                                         threads, log_sum_exp.elements());
  const bool one_head = query.shape.size() == 2;
  return {to_doubles(output, one_head ? Shape{q.rows, v.columns} : Shape{q.heads, q.rows, v.columns}),
          to_doubles(log_sum_exp, one_head ? Shape{q.rows} : Shape{q.heads, q.rows}), work};
}

}  // namespace attnlab

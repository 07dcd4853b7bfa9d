#include "lab/difference.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attnlab {
namespace {

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<Int128>(cell) ||
         std::holds_alternative<double>(cell);
}

bool is_nan(const Cell& cell) {
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr && std::isnan(*real);
}

void compare(Table& table, const std::string& what, const Cell& here, const Cell& other) {
  if (here == other || (is_nan(here) && is_nan(other))) return;
  const Cell difference =
      is_number(here) && is_number(other) ? Cell{number_of(here) - number_of(other)} : Cell{};
  table.rows.push_back({what, here, other, difference});
}

// The row with this key; null when there is none.
const std::vector<Cell>* row_of_key(const Table& table, const Cell& key) {
  const auto match =
      std::find_if(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[0] == key; });
  return match == table.rows.end() ? nullptr : &*match;
}

void compare_tables(Table& out, const Table& here, const Table& other) {
  const auto name_of_row = [&](const Cell& key) {
    return fmt::format("{}, {} {}", here.name, here.columns[0].name, exact_text(key));
  };
  for (const std::vector<Cell>& row : other.rows) {
    if (row_of_key(here, row[0]) == nullptr)
      out.rows.push_back({name_of_row(row[0]), "absent", "present", {}});
  }
  for (const std::vector<Cell>& row : here.rows) {
    const std::vector<Cell>* const match = row_of_key(other, row[0]);
    if (match == nullptr) {
      out.rows.push_back({name_of_row(row[0]), "present", "absent", {}});
      continue;
    }
    for (std::size_t j = 1; j < row.size() && j < match->size(); ++j) {
      if (here.columns[j].machine_dependent) continue;
      compare(out, fmt::format("{}, {}", name_of_row(row[0]), here.columns[j].name), row[j], (*match)[j]);
    }
  }
}

// "[2, 3]" of the element that is number `at` in row-major order.
std::string index_text(std::size_t at, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; at /= shape[axis]) index[axis] = at % shape[axis];
  return shape_text(index);
}

void compare_grids(Table& out, const Grid& here, const Grid& other) {
  if (here.array.shape != other.array.shape) {
    out.rows.push_back(
        {here.name + ", shape", shape_text(here.array.shape), shape_text(other.array.shape), {}});
    return;
  }
  double largest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < here.array.values.size(); ++i) {
    const double difference = std::abs(here.array.values[i] - other.array.values[i]);
    if (difference > largest) {
      largest = difference;
      at = i;
    }
  }
  if (largest > 0) {
    compare(out, fmt::format("{} {}, where it differs most", here.name, index_text(at, here.array.shape)),
            here.array.values[at], other.array.values[at]);
  }
}

template <class... Kinds>
bool scalar(const Value& value, Cell& cell) {
  return ((std::holds_alternative<Kinds>(value) ? (cell = std::get<Kinds>(value), true) : false) || ...);
}

}  // namespace

void add_difference(Report& report, const Report& other) {
  Table table{"against-default",
              "Against the lesson's own setting",
              {{"what"}, {"here"}, {"default"}, {"difference"}}};
  for (const auto& [name, value] : report.values()) {
    const Value* match = other.find_value(name);
    Cell here;
    Cell there;
    if (match != nullptr && scalar<bool, std::int64_t, Int128, double, std::string>(value, here) &&
        scalar<bool, std::int64_t, Int128, double, std::string>(*match, there)) {
      compare(table, name, here, there);
    }
  }
  for (const Table& here : report.tables()) {
    if (const Table* match = other.find_table(here.name)) compare_tables(table, here, *match);
  }
  for (const Grid& here : report.grids()) {
    if (const Grid* match = other.find_grid(here.name)) compare_grids(table, here, *match);
  }
  if (table.rows.empty()) table.title = "Nothing differs from the lesson's own setting";
  report.table(std::move(table));
}

}  // namespace attnlab

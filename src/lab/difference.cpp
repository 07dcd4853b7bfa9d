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

void compare(Table& table, const std::string& what, const Cell& here, const Cell& other) {
  if (here == other) return;
  const Cell difference =
      is_number(here) && is_number(other) ? Cell{number_of(here) - number_of(other)} : Cell{};
  table.rows.push_back({what, here, other, difference});
}

void compare_tables(Table& out, const Table& here, const Table& other) {
  for (const std::vector<Cell>& row : here.rows) {
    const auto match =
        std::find_if(other.rows.begin(), other.rows.end(), [&](const auto& one) { return one[0] == row[0]; });
    const std::string key = exact_text(row[0]);
    if (match == other.rows.end()) {
      out.rows.push_back(
          {fmt::format("{}, {} {}", here.name, here.columns[0].name, key), "present", "absent", {}});
      continue;
    }
    for (std::size_t j = 1; j < row.size() && j < match->size(); ++j) {
      if (here.columns[j].machine_dependent) continue;
      compare(out, fmt::format("{}, {} {}, {}", here.name, here.columns[0].name, key, here.columns[j].name),
              row[j], (*match)[j]);
    }
  }
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
  if (largest > 0)
    compare(out, here.name + ", where it differs most", here.array.values[at], other.array.values[at]);
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

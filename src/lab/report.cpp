#include "lab/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Cell entry(const Grid& grid, std::size_t at) {
  if (grid.whole_numbers) return static_cast<std::int64_t>(grid.array.values[at]);
  return grid.array.values[at];
}

Cell label_or_index(const std::vector<std::string>& labels, std::size_t at) {
  if (at < labels.size()) return labels[at];
  return static_cast<std::int64_t>(at);
}

// Counts are told in full: a million is no 1e+06.
std::string number_text(double value) {
  const bool count = value == std::floor(value) && std::abs(value) < 1e15;
  return count ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

}  // namespace

std::size_t Table::column(std::string_view column_name) const {
  const Column* found = find_named(columns, column_name);
  if (found == nullptr)
    throw Error(ErrorKind::fault, fmt::format("table {} has no column {}", name, column_name));
  return static_cast<std::size_t>(found - columns.data());
}

std::string Check::full_id() const { return label.empty() ? id : id + "-" + label; }

Verdict Check::verdict() const {
  if (!checkable) return Verdict::cannot_check;
  const double difference = std::abs(measured - expected);
  bool holds = false;
  switch (relation) {
    case Relation::within:
      holds = measured == expected || difference <= tolerance;
      break;
    case Relation::at_most:
      holds = measured <= expected;
      break;
    case Relation::at_least:
      holds = measured >= expected;
      break;
  }
  if (holds) return Verdict::pass;
  if (near_tolerance && difference <= *near_tolerance) return Verdict::near;
  return Verdict::fail;
}

std::string verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::near:
      return "near";
    case Verdict::fail:
      return "fail";
    case Verdict::cannot_check:
      return "cannot-check";
  }
  return "fail";
}

std::string measured_text(const Check& check) { return check.checkable ? number_text(check.measured) : "-"; }

std::string expectation_text(const Check& check) {
  if (!check.checkable) return "-";
  const std::string expected = number_text(check.expected);
  switch (check.relation) {
    case Relation::at_most:
      return "<= " + expected;
    case Relation::at_least:
      return ">= " + expected;
    case Relation::within:
      break;
  }
  return check.tolerance == 0 ? "exactly " + expected
                              : fmt::format("{} +- {:.3g}", expected, check.tolerance);
}

Report& Report::line(std::string text) {
  items_.push_back({Item::Kind::line, std::move(text), 0});
  return *this;
}

Report& Report::table(Table table) {
  items_.push_back({Item::Kind::table, {}, tables_.size()});
  return data(std::move(table));
}

Report& Report::grid(Grid grid) {
  items_.push_back({Item::Kind::grid, {}, grids_.size()});
  return data(std::move(grid));
}

Report& Report::data(Table table) {
  for (const std::vector<Cell>& row : table.rows) {
    if (row.size() != table.columns.size()) {
      throw Error(ErrorKind::fault, fmt::format("table {}: a row of {} cells in {} columns", table.name,
                                                row.size(), table.columns.size()));
    }
  }
  add_name(table.name);
  tables_.push_back(std::move(table));
  return *this;
}

Report& Report::data(Grid grid) {
  if (element_count(grid.array.shape) != grid.array.values.size()) {
    throw Error(ErrorKind::fault, fmt::format("array {}: {} values in shape {}", grid.name,
                                              grid.array.values.size(), shape_text(grid.array.shape)));
  }
  add_name(grid.name);
  grids_.push_back(std::move(grid));
  return *this;
}

Report& Report::value(std::string name, Value value) {
  values_.emplace_back(std::move(name), std::move(value));
  return *this;
}

Report& Report::check(Check check) {
  checks_.push_back(std::move(check));
  return *this;
}

Report& Report::disagree(std::string text) {
  disagreements_.push_back(std::move(text));
  return *this;
}

Report& Report::figure(Figure figure) {
  figures_.push_back(std::move(figure));
  return *this;
}

Report& Report::explain(std::string text) {
  explanation_.push_back(std::move(text));
  return *this;
}

void Report::add_name(const std::string& name) {
  if (std::find(data_names_.begin(), data_names_.end(), name) != data_names_.end()) {
    throw Error(ErrorKind::fault, fmt::format("two tables are named {}", name));
  }
  data_names_.push_back(name);
}

const Table* Report::find_table(std::string_view name) const { return find_named(tables_, name); }
const Grid* Report::find_grid(std::string_view name) const { return find_named(grids_, name); }

const Value* Report::find_value(std::string_view name) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const auto& one) { return one.first == name; });
  return found == values_.end() ? nullptr : &found->second;
}

const Check& Report::find_check(std::string_view full_id) const {
  const auto found = std::find_if(checks_.begin(), checks_.end(),
                                  [&](const Check& one) { return one.full_id() == full_id; });
  if (found == checks_.end()) throw Error(ErrorKind::fault, fmt::format("no check {}", full_id));
  return *found;
}

bool Report::passed() const {
  return std::all_of(checks_.begin(), checks_.end(), [](const Check& check) { return check.passed(); });
}

void Report::append(const Report& other) {
  const auto free_name = [taken = data_names_](const std::string& name) {
    std::string text = name;
    for (int i = 2; std::find(taken.begin(), taken.end(), text) != taken.end(); ++i)
      text = fmt::format("{}_{}", name, i);
    return text;
  };
  for (const Item& item : other.items_) {
    const std::size_t offset = item.kind == Item::Kind::table  ? tables_.size()
                               : item.kind == Item::Kind::grid ? grids_.size()
                                                               : 0;
    items_.push_back({item.kind, item.text, item.index + offset});
  }
  for (const std::string& name : other.data_names_) add_name(free_name(name));
  for (Table table : other.tables_) {
    table.name = free_name(table.name);
    tables_.push_back(std::move(table));
  }
  for (Grid grid : other.grids_) {
    grid.name = free_name(grid.name);
    grids_.push_back(std::move(grid));
  }
  values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  checks_.insert(checks_.end(), other.checks_.begin(), other.checks_.end());
  for (Figure figure : other.figures_) {
    for (std::string& name : figure.data) name = free_name(name);
    figures_.push_back(std::move(figure));
  }
  explanation_.insert(explanation_.end(), other.explanation_.begin(), other.explanation_.end());
  disagreements_.insert(disagreements_.end(), other.disagreements_.begin(), other.disagreements_.end());
}

Table long_form(const Grid& grid) {
  const Shape& shape = grid.array.shape;
  Table table{grid.name, grid.title, {}};
  if (shape.size() == 1) table.columns = {{"row"}};
  if (shape.size() == 2) table.columns = {{"row"}, {"column"}};
  if (shape.size() > 2) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      table.columns.push_back({fmt::format("axis_{}", axis)});
  }
  table.columns.push_back({"value"});
  table.rows.reserve(grid.array.values.size());
  Shape index(shape.size(), 0);
  for (std::size_t at = 0; at < grid.array.values.size(); ++at) {
    std::vector<Cell> row;
    row.reserve(shape.size() + 1);
    for (const std::size_t i : index) row.emplace_back(static_cast<std::int64_t>(i));
    row.push_back(entry(grid, at));
    table.rows.push_back(std::move(row));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return table;
}

Table wide_form(const Grid& grid) {
  const Shape& shape = grid.array.shape;
  const std::size_t columns = shape.empty() ? 1 : shape.back();
  const std::size_t rows = columns == 0 ? 0 : grid.array.values.size() / columns;
  Table table{grid.name, grid.title, {{"row"}}};
  for (std::size_t j = 0; j < columns; ++j) {
    table.columns.push_back({j < grid.column_labels.size() ? grid.column_labels[j] : fmt::format("{}", j)});
  }
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<Cell> row{label_or_index(grid.row_labels, i)};
    for (std::size_t j = 0; j < columns; ++j) row.push_back(entry(grid, i * columns + j));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace attnlab

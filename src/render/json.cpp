// JSON and ndjson. Strict: what JSON cannot hold is the string "NaN", "Infinity" or "-Infinity".
#include <type_traits>

#include <fmt/format.h>

#include "io/json.hpp"
#include "lab/version.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

template <class Items, class Text>
std::string json_list(const Items& items, Text&& text) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ", ";
    out += text(item);
  }
  return out + ']';
}

// Nested lists: the part of the array below `axis` that starts at `at`.
void append_nested(std::string& out, const Array& array, std::size_t axis, std::size_t at, std::size_t size) {
  if (axis == array.shape.size()) {
    out += json_number(array.values[at]);
    return;
  }
  const std::size_t length = array.shape[axis];
  const std::size_t below = length == 0 ? 0 : size / length;
  out += '[';
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0) out += ", ";
    append_nested(out, array, axis + 1, at + i * below, below);
  }
  out += ']';
}

std::string json_array(const Array& array) {
  std::string out;
  append_nested(out, array, 0, 0, array.values.size());
  return out;
}

std::string json_whole_array(const Grid& grid) {
  if (!grid.whole_numbers) return json_array(grid.array);
  if (grid.array.shape.size() == 1) {
    return json_list(grid.array.values,
                     [](double v) { return fmt::format("{}", static_cast<std::int64_t>(v)); });
  }
  return json_array(grid.array);
}

struct ValueText {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(std::int64_t whole) const { return fmt::format("{}", whole); }
  std::string operator()(Int128 wide) const { return to_string(wide); }
  std::string operator()(double real) const { return json_number(real); }
  std::string operator()(const std::string& text) const { return json_string(text); }
  std::string operator()(const Array& array) const { return json_array(array); }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    return json_list(list, *this);
  }
};

template <class Variant>
std::string json_of(const Variant& value) {
  return std::visit(ValueText{}, value);
}

// An object with one member a line, indented by `depth` levels.
class ObjectText {
 public:
  explicit ObjectText(std::size_t depth) : depth_(depth) {}
  void add(std::string_view key, const std::string& value) {
    text_ += text_.empty() ? "{\n" : ",\n";
    text_ += std::string(2 * (depth_ + 1), ' ') + json_string(key) + ": " + value;
  }
  std::string text() const {
    return text_.empty() ? "{}" : text_ + "\n" + std::string(2 * depth_, ' ') + "}";
  }

 private:
  std::size_t depth_;
  std::string text_;
};

std::string table_object(const Table& table, std::size_t depth) {
  ObjectText object(depth);
  object.add("title", json_string(table.title));
  std::string columns;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    columns += columns.empty() ? "[\n" : ",\n";
    const Column& column = table.columns[j];
    columns +=
        std::string(2 * (depth + 2), ' ') +
        fmt::format("{{\"name\": {}, \"unit\": {}, ", json_string(column.name), json_string(column.unit));
    if (column.machine_dependent) columns += "\"machine_dependent\": true, ";
    columns += "\"data\": " + json_list(table.rows, [&](const auto& row) { return json_of(row[j]); }) + "}";
  }
  object.add("columns", columns.empty() ? "[]" : columns + "\n" + std::string(2 * (depth + 1), ' ') + "]");
  return object.text();
}

std::string check_object(const Check& check) {
  std::string out =
      fmt::format("{{\"id\": {}, \"claim\": {}, ", json_string(check.full_id()), json_string(check.claim));
  if (check.checkable) {
    static constexpr const char* relations[] = {"within", "at_most", "at_least"};
    out += fmt::format("\"measured\": {}, \"relation\": \"{}\", \"expected\": {}, \"tolerance\": {}, ",
                       json_number(check.measured), relations[static_cast<int>(check.relation)],
                       json_number(check.expected), json_number(check.tolerance));
    if (check.standard_error)
      out += fmt::format("\"standard_error\": {}, ", json_number(*check.standard_error));
  } else {
    out += "\"measured\": null, \"expected\": null, \"tolerance\": null, ";
  }
  out += fmt::format("\"verdict\": \"{}\", ", verdict_text(check.verdict()));
  if (!check.reason.empty()) out += fmt::format("\"reason\": {}, ", json_string(check.reason));
  return out + fmt::format("\"source\": {}}}", json_string(check.source));
}

std::string row_object(const Table& table, const std::vector<Cell>& row) {
  std::string out;
  for (std::size_t j = 0; j < row.size(); ++j) {
    out += j == 0 ? "{" : ", ";
    out += json_string(table.columns[j].name) + ": " + json_of(row[j]);
  }
  return out + '}';
}

// Named values first, then every array under its name.
void add_values(ObjectText& object, const Report& report) {
  for (const auto& [name, value] : report.values()) object.add(name, json_of(value));
  for (const Grid& grid : report.grids()) {
    if (report.find_value(grid.name) == nullptr) object.add(grid.name, json_whole_array(grid));
  }
}

}  // namespace

std::string render_json(const Result& result, const RenderOptions&) {
  const Report& report = result.report;
  if (result.values_only) {
    ObjectText object(0);
    add_values(object, report);
    for (const Table& table : report.tables()) {
      if (report.find_value(table.name) != nullptr) continue;
      object.add(table.name,
                 json_list(table.rows, [&](const std::vector<Cell>& row) { return row_object(table, row); }));
    }
    return object.text() + '\n';
  }
  ObjectText object(0);
  object.add("attnlab", json_string(version()));
  object.add("experiment", json_string(result.name));
  ObjectText parameters(1);
  for (const auto& [name, value] : result.parameters) parameters.add(name, json_of(value));
  object.add("parameters", parameters.text());
  ObjectText values(1);
  add_values(values, report);
  object.add("values", values.text());
  ObjectText tables(1);
  for (const std::string& name : report.data_names()) {
    const Table* table = report.find_table(name);
    tables.add(name, table_object(table != nullptr ? *table : long_form(*report.find_grid(name)), 2));
  }
  object.add("tables", tables.text());
  std::string checks;
  for (const Check& check : report.checks())
    checks += (checks.empty() ? "[\n    " : ",\n    ") + check_object(check);
  object.add("checks", checks.empty() ? "[]" : checks + "\n  ]");
  return object.text() + '\n';
}

std::string render_ndjson(const Result& result, const RenderOptions& options) {
  const Table table = chosen_table(result, options);
  std::string out;
  for (const std::vector<Cell>& row : table.rows) out += row_object(table, row) + '\n';
  return out;
}

}  // namespace attnlab

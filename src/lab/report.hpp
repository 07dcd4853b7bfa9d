// What an experiment returns: everything it found, as data. Renderers turn it into bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/value.hpp"

namespace attnlab {

/// A column of a table. The unit stands in the name ("kv_bytes", "time_ms"); `unit` spells it out for axes.
struct Column {
  std::string name;
  std::string unit = {};
  bool machine_dependent = false;  ///< a time or a thread count: shown, never part of a claim
};

/// A table: rows of cells, as many as there are columns.
struct Table {
  std::string name;   ///< kebab-case, what --table takes
  std::string title;  ///< one line for readers
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};

  /// The index of a column; throws Error(fault) when there is none of that name.
  std::size_t column(std::string_view column_name) const;
};

/// An array with names for its axes: weights, scores, an encoding.
struct Grid {
  std::string name;
  std::string title;
  Array array;
  std::vector<std::string> axes = {};        ///< name of each axis: {"query", "key"}
  std::vector<std::string> row_labels = {};  ///< tokens, where positions have them
  std::vector<std::string> column_labels = {};
  std::vector<bool> hidden = {};  ///< true where a mask hides the entry; empty when none is
  bool whole_numbers = false;     ///< printed as integers
};

/// How a measured value must stand to the expected one.
enum class Relation { within, at_most, at_least };

/// What became of a claim.
enum class Verdict { pass, near, fail, cannot_check };

/// A claim, measured. It passes only when its comparison holds, so that NaN fails.
struct Check {
  std::string id;          ///< of the experiment's declared claims: "unit-spread"
  std::string label = {};  ///< which case of it, where there are several: "64"
  double measured = 0;
  Relation relation = Relation::within;
  double expected = 0;  ///< from a closed form, a plain loop or a publication; never from the code under test
  double tolerance = 0;  ///< |measured - expected| <= tolerance; ignored by at_most and at_least
  std::optional<double> standard_error = {};  ///< of a stochastic claim: its tolerance is four of them
  std::optional<double> near_tolerance = {};  ///< beyond `tolerance` and within this the verdict is `near`
  std::string reason = {};                    ///< why it is near, or cannot be checked
  bool checkable = true;
  std::string claim = {};   ///< the sentence, filled in from the experiment's declaration
  std::string source = {};  ///< the same

  /// "unit-spread-64": the id with its case.
  std::string full_id() const;
  Verdict verdict() const;
  /// False only for Verdict::fail.
  bool passed() const { return verdict() != Verdict::fail; }
};

/// "pass", "near", "fail" or "cannot-check".
std::string verdict_text(Verdict verdict);
/// What was measured, as text: counts in full, other numbers with six significant digits.
std::string measured_text(const Check& check);
/// "<= 1e-12", ">= 0.99", "2 +- 0.1", "exactly 3": what was expected, as text.
std::string expectation_text(const Check& check);

/// Scale of an axis.
enum class Scale { linear, log2, log10 };

struct Axis {
  std::string title;
  std::string unit = {};
  Scale scale = Scale::linear;
};

/// One line, or one set of bars, of a figure: a column of its table.
struct Series {
  std::string column;
  std::string label = {};         ///< in the legend; the column's name when empty
  std::string error_column = {};  ///< half the height of a band around the line
  bool theory = false;            ///< an overlay that was not measured: drawn dashed
};

enum class FigureKind { line, bars, stacked_bars, heat_map };

/// A picture of a table or of grids. It has no numbers of its own.
struct Figure {
  std::string name;
  std::string title;
  FigureKind kind = FigureKind::line;
  std::vector<std::string> data = {};  ///< the table's name, or those of the grids (small multiples)
  std::string x_column = {};           ///< of a table: the abscissa, or the names of the bars
  std::vector<Series> series = {};
  std::string panel_column = {};  ///< of a table: one panel for each value of it (small multiples)
  Axis x_axis = {};
  Axis y_axis = {};
  std::optional<std::pair<double, double>> domain = {};  ///< of the colours; the data's own range when absent
  std::string caption = {};                              ///< says what to see, with the source
};

/// Everything an experiment found, in the order in which it is told.
class Report {
 public:
  explicit Report(std::string title = {}) : title_(std::move(title)) {}

  /// A line of the text output.
  Report& line(std::string text);
  /// A table or array that the text output shows.
  Report& table(Table table);
  Report& grid(Grid grid);
  /// A table or array for --table and JSON only.
  Report& data(Table table);
  Report& data(Grid grid);
  /// A named value, for JSON. Grids are values of their own accord.
  Report& value(std::string name, Value value);
  Report& check(Check check);
  Report& figure(Figure figure);
  /// A comparison that the user asked for does not hold: told on standard error, exit status 1.
  Report& disagree(std::string text);
  /// A line of --explain: a formula with the numbers put in.
  Report& explain(std::string text);

  /// What the text output shows, in order: a line, or a table or grid by its index.
  struct Item {
    enum class Kind { line, table, grid } kind;
    std::string text;
    std::size_t index;
  };
  const std::string& title() const { return title_; }
  const std::vector<Item>& items() const { return items_; }
  const std::vector<Table>& tables() const { return tables_; }
  const std::vector<Grid>& grids() const { return grids_; }
  const std::vector<std::pair<std::string, Value>>& values() const { return values_; }
  const std::vector<Check>& checks() const { return checks_; }
  std::vector<Check>& checks() { return checks_; }
  const std::vector<Figure>& figures() const { return figures_; }
  const std::vector<std::string>& explanation() const { return explanation_; }
  const std::vector<std::string>& disagreements() const { return disagreements_; }
  /// Names of tables and grids in the order they were added: what --tables lists.
  const std::vector<std::string>& data_names() const { return data_names_; }

  /// Null when there is none of that name.
  const Table* find_table(std::string_view name) const;
  const Grid* find_grid(std::string_view name) const;
  const Value* find_value(std::string_view name) const;
  /// Throws Error(fault) when there is none; `full_id` is "id" or "id-label".
  const Check& find_check(std::string_view full_id) const;

  /// True when no check fails.
  bool passed() const;

  /// Adds all of another report behind what is here; a table whose name is taken becomes "name_2".
  void append(const Report& other);

 private:
  void add_name(const std::string& name);

  std::string title_;
  std::vector<Item> items_;
  std::vector<Table> tables_;
  std::vector<Grid> grids_;
  std::vector<std::pair<std::string, Value>> values_;
  std::vector<Check> checks_;
  std::vector<Figure> figures_;
  std::vector<std::string> explanation_;
  std::vector<std::string> disagreements_;
  std::vector<std::string> data_names_;
};

/// A grid in long form, the table that csv, ndjson and JSON show: one row for each entry, with its indices
/// (row, column) and value; a vector has row and value, other ranks axis_0, axis_1, ... and value.
Table long_form(const Grid& grid);
/// A matrix as a table of its rows: the first column is the row's index or label.
Table wide_form(const Grid& grid);

}  // namespace attnlab

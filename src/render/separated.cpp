// csv and tsv: one table, a header line, numbers that read back to the same value.
#include <algorithm>

#include "render/render.hpp"

namespace attnlab {
namespace {

// RFC 4180: a field with a separator, a quote or a line end stands in quotes, quotes doubled.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// tsv has no quotes: what would break a line or a field becomes a blank.
std::string tsv_field(const std::string& text) {
  std::string field = text;
  std::replace_if(
      field.begin(), field.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return field;
}

// An array as `op` and `convert` write it: a line for each row, no header, a vector as one row.
std::string plain_grid(const Grid& grid, char separator) {
  const std::size_t columns = grid.array.shape.empty() ? 1 : grid.array.shape.back();
  std::string out;
  for (std::size_t at = 0; at < grid.array.values.size(); ++at) {
    out += shortest(grid.array.values[at]);
    out += (at + 1) % columns == 0 ? '\n' : separator;
  }
  return out;
}

std::string separated(const Result& result, const RenderOptions& options, char separator,
                      std::string (*field)(const std::string&)) {
  if (options.plain_grid) {
    if (const Grid* grid = chosen_grid(result, options.table)) return plain_grid(*grid, separator);
  }
  const Table table = chosen_table(result, options);
  std::string out;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (j > 0) out += separator;
    out += field(table.columns[j].name);
  }
  out += '\n';
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (j > 0) out += separator;
      out += field(exact_text(row[j]));
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string render_csv(const Result& result, const RenderOptions& options) {
  return separated(result, options, ',', csv_field);
}

std::string render_tsv(const Result& result, const RenderOptions& options) {
  return separated(result, options, '\t', tsv_field);
}

}  // namespace attnlab

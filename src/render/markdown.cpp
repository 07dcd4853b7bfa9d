// Markdown: tables as tables, what NumPy would print in a fence.
#include <fmt/format.h>

#include "render/plain_table.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    // What would begin a cell, a tag, code or emphasis. An underscore within a word does not.
    if (std::string_view("|\\<`*").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_table(const Table& table, int digits) {
  std::string out;
  if (!table.title.empty()) out += fmt::format("**{}**\n\n", escaped(table.title));
  out += '|';
  for (const Column& column : table.columns) out += fmt::format(" {} |", escaped(column.name));
  out += "\n|";
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    const bool words = !table.rows.empty() && std::holds_alternative<std::string>(table.rows.front()[j]);
    out += words ? " --- |" : " ---: |";
  }
  out += '\n';
  for (const std::vector<Cell>& row : table.rows) {
    out += '|';
    for (const Cell& cell : row) out += fmt::format(" {} |", escaped(readable_text(cell, digits)));
    out += '\n';
  }
  return out;
}

}  // namespace

std::string render_markdown(const Result& result, const RenderOptions& options) {
  const int digits = options.precision.value_or(6);
  if (!options.table.empty()) {
    RenderOptions as_grid = options;
    as_grid.wide = true;
    return markdown_table(chosen_table(result, as_grid), digits);
  }
  const Report& report = result.report;
  std::string out = fmt::format("## {}\n", escaped(report.title().empty() ? result.name : report.title()));
  bool in_paragraph = false;
  for (const Report::Item& item : report.items()) {
    if (item.kind == Report::Item::Kind::line) {
      // Lines of one paragraph stay lines: two blanks before the line end.
      out += in_paragraph ? "  \n" : "\n";
      out += escaped(item.text);
      in_paragraph = true;
      continue;
    }
    out += in_paragraph ? "\n\n" : "\n";
    in_paragraph = false;
    out += item.kind == Report::Item::Kind::table
               ? markdown_table(report.tables()[item.index], digits)
               : markdown_table(wide_form(report.grids()[item.index]), options.precision.value_or(3));
  }
  if (in_paragraph) out += '\n';
  if (options.explain) {
    for (const std::string& text : report.explanation()) out += fmt::format("\n    {}", text);
    if (!report.explanation().empty()) out += '\n';
  }
  if (!report.checks().empty()) out += '\n' + markdown_table(claims_table(report.checks()), digits);
  return out;
}

}  // namespace attnlab

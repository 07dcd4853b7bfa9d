#include "render/plain_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attnlab {
namespace {

// Bytes of UTF-8 that start a character: what takes a column on the screen.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_word(const Cell& cell) { return std::holds_alternative<std::string>(cell); }

}  // namespace

std::string readable_text(const Cell& cell, int digits) {
  if (const auto* real = std::get_if<double>(&cell)) {
    return std::isnan(*real) ? "nan" : fmt::format("{:.{}g}", *real, digits);
  }
  return exact_text(cell);
}

std::string aligned_table(const Table& table, int digits) {
  const std::size_t columns = table.columns.size();
  std::vector<std::vector<std::string>> texts(1);
  for (const Column& column : table.columns) texts[0].push_back(column.name);
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<std::string>& line = texts.emplace_back();
    for (const Cell& cell : row) line.push_back(readable_text(cell, digits));
  }
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> left(columns, false);
  for (std::size_t j = 0; j < columns; ++j) {
    for (const auto& line : texts) widths[j] = std::max(widths[j], display_width(line[j]));
    left[j] =
        std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return is_word(row[j]); });
  }
  std::string out;
  for (const auto& line : texts) {
    std::string text;
    for (std::size_t j = 0; j < columns; ++j) {
      const std::string padding(widths[j] - display_width(line[j]), ' ');
      text += (j > 0 ? "  " : "") + (left[j] ? line[j] + padding : padding + line[j]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

Table claims_table(const std::vector<Check>& checks) {
  Table table{"claims", "Claims", {{"verdict"}, {"id"}, {"claim"}, {"measured"}, {"expected"}}};
  for (const Check& check : checks) {
    std::string claim = check.claim;
    if (!check.reason.empty() && check.verdict() != Verdict::pass) claim += " (" + check.reason + ")";
    table.rows.push_back({verdict_text(check.verdict()), check.full_id(), claim,
                          check.checkable ? Cell{check.measured} : Cell{}, expectation_text(check)});
  }
  return table;
}

}  // namespace attnlab

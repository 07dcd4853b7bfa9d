// Plain text for a terminal or a projector; the lesson's listings come out of here byte for byte.
#include <algorithm>

#include <fmt/format.h>

#include "render/numpy_text.hpp"
#include "render/plain_table.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

std::string grid_text(const Result& result, const Grid& grid, const RenderOptions& options) {
  const bool labelled = !grid.row_labels.empty() || !grid.column_labels.empty();
  if (labelled && grid.array.shape.size() == 2)
    return aligned_table(wide_form(grid), options.precision.value_or(3));
  PrintOptions print;
  if (!result
           .values_only) {  // as the lesson sets NumPy up; a user's own arrays print as NumPy does by itself
    print.precision = 3;
    print.suppress = true;
  }
  if (options.precision) print.precision = *options.precision;
  if (grid.whole_numbers) {
    const std::vector<std::int64_t> whole(grid.array.values.begin(), grid.array.values.end());
    return numpy_text(whole, grid.array.shape, print) + '\n';
  }
  return numpy_text(grid.array.values, grid.array.shape, print) + '\n';
}

std::string claim_lines(const std::vector<Check>& checks, bool in_full) {
  std::string out;
  for (const Check& check : checks) {
    const std::string verdict = verdict_text(check.verdict());
    const std::string measured =
        check.checkable ? fmt::format("{}, expected {}", measured_text(check), expectation_text(check)) : "";
    out += fmt::format("  {:<12} {}: {}", verdict, check.full_id(), check.claim);
    if (check.checkable) out += fmt::format(" ({})", measured);
    if (!check.reason.empty() && (in_full || check.verdict() != Verdict::pass)) out += "; " + check.reason;
    out += '\n';
    if (!in_full) continue;
    if (check.standard_error)
      out += fmt::format("{:15}standard error {:.3g}, judged by four of them\n", "", *check.standard_error);
    if (!check.source.empty()) out += fmt::format("{:15}{}\n", "", check.source);
  }
  return out;
}

}  // namespace

std::string render_text(const Result& result, const RenderOptions& options) {
  const Report& report = result.report;
  std::string out;
  if (!options.table.empty()) {  // that table alone
    if (const Grid* grid = chosen_grid(result, options.table)) return grid_text(result, *grid, options);
    return aligned_table(chosen_table(result, options), options.precision.value_or(6));
  }
  for (const Report::Item& item : report.items()) {
    switch (item.kind) {
      case Report::Item::Kind::line:
        out += item.text + '\n';
        break;
      case Report::Item::Kind::grid:
        out += grid_text(result, report.grids()[item.index], options);
        break;
      case Report::Item::Kind::table: {
        const Table& table = report.tables()[item.index];
        if (!out.empty() && !out.ends_with("\n\n")) out += '\n';
        if (!table.title.empty()) out += table.title + '\n';
        out += aligned_table(table, options.precision.value_or(6));
        break;
      }
    }
  }
  if (options.explain && !report.explanation().empty()) {
    out += '\n';
    for (const std::string& text : report.explanation()) out += text + '\n';
  }
  if (!report.checks().empty() && (options.explain || !result.lesson_listing)) {
    out += "\nclaims\n" + claim_lines(report.checks(), options.explain);
  }
  return out;
}

}  // namespace attnlab

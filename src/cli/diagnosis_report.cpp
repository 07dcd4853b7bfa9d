#include "cli/diagnosis_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/all.hpp"
#include "operations/gallery.hpp"

namespace attnlab {
namespace {

const std::vector<Column> mistake_columns = {{"name"}, {"why"}, {"remedy"}, {"right_when"}};

std::vector<Cell> mistake_row(const Mistake& mistake) {
  return {mistake.name, mistake.why, mistake.remedy, mistake.right_when};
}

void tell(Report& report, const Mistake& mistake) {
  report.line(fmt::format("  {}: {}.", mistake.name, mistake.why));
  report.line(fmt::format("    Remedy: {}.", mistake.remedy));
  if (!mistake.right_when.empty()) report.line(fmt::format("    Right {}.", mistake.right_when));
}

std::string element_text(const Array& array, const std::vector<std::size_t>& index) {
  std::size_t flat = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) flat = flat * array.shape[axis] + index[axis];
  return shortest(array.values[flat]);
}

void tell_difference(Report& report, const Diagnosis& found) {
  report.line(fmt::format("{} {}: {}", found.result, shape_text(found.expected.shape),
                          found.matches ? "matches" : "differs"));
  const bool is_16_bit = found.arithmetic.ends_with("float16");
  const std::string because = found.arithmetic.empty() ? ""
                              : is_16_bit              ? "; what " + found.arithmetic + " gives"
                                                       : "; within the rounding of " + found.arithmetic;
  report.line(fmt::format("largest difference {:.3g} absolute, {:.3g} relative{}", found.difference.max_abs,
                          found.difference.max_rel, because));
  report.line(fmt::format("your numbers look like {}", found.precision.name));
  if (!found.arrangement.empty()) report.line(fmt::format("your array is {}", found.arrangement));
  if (found.not_numbers > 0) {
    report.line(fmt::format("{} of yours {} NaN or infinite where the right ones are finite; {}",
                            found.not_numbers, found.not_numbers == 1 ? "is" : "are",
                            found.others_match ? "all others match" : "others differ as well"));
  }
  if (found.first_difference) {
    report.line(fmt::format("first difference at [{}]: yours {}, right {}; {}",
                            fmt::join(*found.first_difference, ", "),
                            element_text(found.yours, *found.first_difference),
                            element_text(found.expected, *found.first_difference), found.spread));
  }
}

void tell_explanations(Report& report, const Diagnosis& found) {
  if (found.matches) return;
  if (!found.settings.empty()) {
    report.line(
        fmt::format("Your numbers are right for another setting: {}", fmt::join(found.settings, " or ")));
    return;
  }
  if (found.explanations.empty()) {
    report.line("No known mistake gives these numbers, alone or with another.");
    if (!found.nearest) return;
    report.line(fmt::format("The nearest leaves a difference of {:.3g}:", found.nearest->difference.max_abs));
    for (const Mistake* mistake : found.nearest->mistakes) tell(report, *mistake);
    return;
  }
  const bool is_pair = found.explanations[0].mistakes.size() > 1;
  report.line(found.explanations.size() > 1 ? "Each of these gives your numbers:"
              : is_pair                     ? "Two mistakes at once give your numbers:"
                                            : "This mistake gives your numbers:");
  for (const Explanation& explanation : found.explanations) {
    if (is_pair && found.explanations.size() > 1)
      report.line(fmt::format("  {}, both at once:", explanation.name()));
    for (const Mistake* mistake : explanation.mistakes) tell(report, *mistake);
  }
}

Table mistakes_table(const Diagnosis& found) {
  Table table{"mistakes", "", mistake_columns};
  table.columns.push_back({"explanation"});
  for (std::size_t n = 0; n < found.explanations.size(); ++n) {
    for (const Mistake* mistake : found.explanations[n].mistakes) {
      table.rows.push_back(mistake_row(*mistake));
      table.rows.back().push_back(static_cast<std::int64_t>(n + 1));
    }
  }
  return table;
}

// --- a mistake beside the right answer

// "experiment/claim" with its sentence.
std::string claim_text(const std::string& claim) {
  const std::size_t slash = claim.find('/');
  const Experiment* experiment = experiments::find(claim.substr(0, slash));
  if (experiment == nullptr) return claim;
  for (const Claim& declared : experiment->claims) {
    if (declared.id == claim.substr(slash + 1)) return fmt::format("{}: {}", claim, declared.text);
  }
  return claim;
}

constexpr std::size_t most_rows = 8;

// Two arrays printed side by side: their rows are those of the last axis.
class SideBySide {
 public:
  SideBySide(const Array& right, const Array& wrong) : right_(right), wrong_(wrong) {
    columns_ = right.shape.empty() ? 1 : right.shape.back();
    rows_ = columns_ == 0 ? 0 : right.values.size() / columns_;
    largest_ = std::max(largest_magnitude(right.values), largest_magnitude(wrong.values));
    double difference = 0;
    for (std::size_t n = 0; n < right.values.size(); ++n) {
      is_whole_ &= is_whole(right.values[n]) && is_whole(wrong.values[n]);
      const double away = distance(right.values[n], wrong.values[n]);
      if (std::isfinite(away)) difference = std::max(difference, away);
    }
    if (difference > 0)
      decimals_ = std::clamp(1 - static_cast<int>(std::floor(std::log10(difference))), 3, 6);
    shown_ = columns_ > (decimals_ > 3 ? 4 : 5) ? 4 : columns_;
  }

  // The first few rows from where they differ; a star marks those that do.
  void tell(Report& report) const {
    std::size_t first = 0;
    while (first + most_rows < rows_ && !differs(first)) ++first;
    const std::size_t width = row_text(right_, first).size();
    report.line(fmt::format("  {:>5}  {:<{}}   {}", "row", "   right", width, "   wrong"));
    for (std::size_t row = first; row < std::min(rows_, first + most_rows); ++row) {
      report.line(fmt::format("  {:>5}  {}   {}{}", place_text(row), row_text(right_, row),
                              row_text(wrong_, row), differs(row) ? "  *" : ""));
    }
    if (first + most_rows < rows_) report.line("    ...");
  }

 private:
  static bool is_whole(double x) { return x == std::floor(x); }

  bool differs(std::size_t row) const {
    for (std::size_t n = row * columns_; n < (row + 1) * columns_; ++n) {
      if (distance(wrong_.values[n], right_.values[n]) > 1e-9 * largest_) return true;
    }
    return false;
  }

  // "2", or "1,2" for row 2 of matrix 1.
  std::string place_text(std::size_t row) const {
    if (right_.shape.size() < 3) return std::to_string(row);
    const std::size_t rows_of_a_matrix = right_.shape[right_.shape.size() - 2];
    return fmt::format("{},{}", row / rows_of_a_matrix, row % rows_of_a_matrix);
  }

  std::string row_text(const Array& array, std::size_t row) const {
    std::string text;
    for (std::size_t n = row * columns_; n < row * columns_ + shown_; ++n)
      text += number_text(array.values[n]);
    return text + (columns_ > shown_ ? "  ..." : "");
  }

  std::string number_text(double value) const {
    if (is_whole_ && largest_ < 1e15) return fmt::format("{:>{}.0f}", value, largest_ < 1e5 ? 7 : 17);
    if (largest_ < 0.01 || largest_ >= 1e5) return fmt::format("{:>11.3e}", value);
    return fmt::format("{:>{}.{}f}", value, decimals_ + (largest_ < 10 ? 4 : 7), decimals_);
  }

  const Array& right_;
  const Array& wrong_;
  std::size_t columns_, rows_, shown_ = 1;
  double largest_ = 0;
  bool is_whole_ = true;
  int decimals_ = 3;
};

Table comparison_table(const Exhibit& exhibit) {
  const Table right = long_form({"right", "", exhibit.right});
  const Table wrong = long_form({"wrong", "", exhibit.wrong});
  Table table{"comparison", "", right.columns, right.rows};
  table.columns.back().name = "right";
  table.columns.push_back({"wrong"});
  for (std::size_t n = 0; n < table.rows.size(); ++n) table.rows[n].push_back(wrong.rows[n].back());
  return table;
}

}  // namespace

Report diagnosis_report(const Diagnosis& found) {
  Report report;
  tell_difference(report, found);
  tell_explanations(report, found);
  report.value("result", found.result);
  report.value("matches", found.matches);
  report.value("max_abs_difference", found.difference.max_abs);
  report.value("max_rel_difference", found.difference.max_rel);
  report.value("arithmetic", found.arithmetic.empty() ? Value{} : Value{found.arithmetic});
  report.value("first_difference", found.first_difference
                                       ? Value{std::vector<std::int64_t>(found.first_difference->begin(),
                                                                         found.first_difference->end())}
                                       : Value{});
  report.value("spread", found.spread);
  report.value("arrangement", found.arrangement.empty() ? Value{} : Value{found.arrangement});
  report.value("settings", found.settings);
  report.value("nearest", found.nearest ? Value{found.nearest->name()} : Value{});
  report.data(mistakes_table(found));
  return report;
}

void tell_discrimination(Report& report, const Diagnosis& found, const Discrimination& told,
                         const std::string& file) {
  report.line("");
  report.value("discriminating_file", told.call ? Value{file} : Value{});
  if (!told.call) {
    report.line(
        found.explanations.size() < 2
            ? fmt::format("There are no two explanations to tell apart: {} is not written.", file)
            : fmt::format("No arrays tell these explanations apart with these options: {} is not written.",
                          file));
    return;
  }
  std::string arrays;
  for (const InputInfo& info : told.call->operation().inputs) {
    if (told.call->inputs.has(info.name)) arrays += fmt::format(" --{} {}:{}", info.name, file, info.name);
  }
  const std::string options = options_text(*told.call);
  const std::string again =
      fmt::format("attnlab diagnose {}{}{} --result {} --yours YOURS", told.call->operation().name, arrays,
                  options.empty() ? "" : " " + options, found.result);
  report.line(fmt::format(
      "{} holds arrays on which these explanations differ: compute your result on them, then", file));
  report.line("  " + again);
  for (const auto& [a, b] : told.alike) {
    report.line(fmt::format("{} and {} stay alike: with these options they give the same numbers.",
                            found.explanations[a].name(), found.explanations[b].name()));
  }
  report.value("next_command", again);
}

Report catalogue_report(const std::string& operation) {
  Report report;
  Table table{"mistakes", "", mistake_columns};
  table.columns.insert(table.columns.begin() + 1, {"operations"});
  table.columns.push_back({"claim"});
  for (const Mistake& mistake : mistakes()) {
    const auto& in = mistake.operations;
    if (!operation.empty() && std::find(in.begin(), in.end(), operation) == in.end()) continue;
    report.line(fmt::format("{}  ({})", mistake.name, fmt::join(in, ", ")));
    report.line(fmt::format("  {}.", mistake.why));
    table.rows.push_back(mistake_row(mistake));
    table.rows.back().insert(table.rows.back().begin() + 1, fmt::format("{}", fmt::join(in, " ")));
    table.rows.back().push_back(mistake.claim);
  }
  return report.data(std::move(table));
}

Report exhibit_report(const Mistake& mistake) {
  const Exhibit exhibit = exhibit_of(mistake);
  const std::string options = options_text(exhibit.call);
  const std::string command = exhibit.call.operation().name + (options.empty() ? "" : " " + options);
  Report report;
  tell(report, mistake);
  report.line("");
  const char* data = exhibit.call.operation().inputs.empty() ? ""
                     : exhibit.of_lesson                     ? " on the arrays of the lesson's first listing"
                                                             : " on small random arrays";
  report.line(
      fmt::format("attnlab op {}{}: {} {}", command, data, exhibit.result, shape_text(exhibit.right.shape)));
  SideBySide(exhibit.right, exhibit.wrong).tell(report);
  if (!mistake.claim.empty()) {
    report.line("");
    report.line("A claim that fails with it, in attnlab verify:");
    report.line("  " + claim_text(mistake.claim));
  }
  report.value("name", mistake.name);
  report.value("why", mistake.why);
  report.value("remedy", mistake.remedy);
  report.value("right_when", mistake.right_when);
  report.value("claim", mistake.claim.empty() ? Value{} : Value{mistake.claim});
  report.value("operation", exhibit.call.operation().name);
  report.value("options", options);
  report.value("of_lesson", exhibit.of_lesson);
  report.value("result", exhibit.result);
  report.data(comparison_table(exhibit));
  report.data(Grid{"right", "", exhibit.right});
  report.data(Grid{"wrong", "", exhibit.wrong});
  return report;
}

}  // namespace attnlab

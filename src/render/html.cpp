#include "render/html.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lab/embedded_files.hpp"
#include "lab/version.hpp"
#include "render/figure_data.hpp"
#include "render/numpy_text.hpp"
#include "render/plain_table.hpp"

namespace attnlab {
namespace {

// Of a table; a note says how to get the rest.
constexpr std::size_t most_rows = 24;
constexpr std::size_t most_columns = 16;

constexpr int page_digits = 6;

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(what, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out += by;
    at = found + what.size();
  }
  return out;
}

std::string heading(int level, const std::string& text, const std::string& id = "") {
  const std::string attribute = id.empty() ? "" : fmt::format(" id=\"{}\"", html_text(id));
  return fmt::format("<h{0}{1}>{2}</h{0}>\n", level, attribute, html_text(text));
}

// "What a mask hides" as an id: "what-a-mask-hides".
std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

std::string count_of(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "5 claims: 4 pass, 1 near"
std::string verdict_counts(const std::vector<Check>& checks) {
  std::map<Verdict, std::size_t> counts;
  for (const Check& check : checks) ++counts[check.verdict()];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [verdict, count] : counts)
    parts.push_back(fmt::format("{} {}", count, verdict_text(verdict)));
  return fmt::format("{}: {}", count_of(checks.size(), "claim"), fmt::join(parts, ", "));
}

/// One result on its way into the page.
class Article {
 public:
  Article(const Result& result, const RenderOptions& options, int level)
      : result_(result),
        report_(result.report),
        options_(options),
        digits_(options.precision.value_or(page_digits)),
        level_(level) {}

  std::string html() const {
    std::string out = introduction();
    if (options_.table.empty()) {
      out += text() + figures() + explanation() + claims();
    } else {
      out += chosen();
    }
    if (!result_.source.empty())
      out += fmt::format("<p class=\"source\">Source: {}</p>\n", html_text(result_.source));
    return out;
  }

 private:
  std::string introduction() const {
    std::string out;
    if (!result_.purpose.empty()) out += fmt::format("<p>{}</p>\n", html_text(result_.purpose));
    if (!result_.command.empty()) {
      out += fmt::format("<pre class=\"command\"><code>{}</code></pre>\n", html_text(result_.command));
    }
    return out;
  }

  // The table or figure that --table picks.
  std::string chosen() const {
    for (const Figure& figure : report_.figures()) {
      if (figure.name == options_.table) return figure_html(figure);
    }
    if (const Grid* grid = chosen_grid(result_, options_.table)) return grid_html(*grid);
    return table_html(chosen_table(result_, options_));
  }

  std::string text() const {
    if (result_.lesson_listing) {
      RenderOptions plain = options_;
      plain.explain = false;
      return preformatted(render_text(result_, plain));
    }
    std::string out;
    std::string lines;
    const auto flush = [&] {
      const std::size_t first = lines.find_first_not_of('\n');
      if (first != std::string::npos) out += preformatted(lines.substr(first));
      lines.clear();
    };
    for (const Report::Item& item : report_.items()) {
      if (item.kind == Report::Item::Kind::line) {
        lines += item.text + '\n';
        continue;
      }
      flush();
      out += item.kind == Report::Item::Kind::table ? table_html(report_.tables()[item.index])
                                                    : grid_html(report_.grids()[item.index]);
    }
    flush();
    return out;
  }

  static std::string preformatted(std::string text) {
    text.erase(text.find_last_not_of('\n') + 1);
    // HTML drops a line break right behind <pre>; none of ours may get lost.
    return text.empty() ? "" : fmt::format("<pre class=\"text\">\n{}</pre>\n", html_text(text));
  }

  // Where to find the rest of what the page cuts.
  std::string cut_note(const std::string& what, const std::string& name) const {
    std::string out = "<p class=\"quiet\">" + what;
    if (!result_.command.empty()) {
      out += fmt::format(" All of them: <code>{} --table {} --format csv</code>", html_text(result_.command),
                         html_text(name));
    }
    return out + "</p>\n";
  }

  std::string table_html(const Table& table) const {
    const std::size_t columns = std::min(table.columns.size(), most_columns);
    const std::size_t rows = std::min(table.rows.size(), most_rows);
    std::vector<const char*> attributes;
    const std::string title = table.title.empty() ? table.name : table.title;
    std::string out = fmt::format(
        "<div class=\"scroll\" role=\"region\" "
        "aria-label=\"{0}\"><table>\n<caption>{0}</caption>\n<thead><tr>",
        html_text(title));
    for (std::size_t j = 0; j < columns; ++j) {
      const bool words = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
        return std::holds_alternative<std::string>(row[j]);
      });
      attributes.push_back(words ? "" : " class=\"number\"");
      out += fmt::format("<th scope=\"col\"{}>{}</th>", attributes[j], html_text(table.columns[j].name));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t i = 0; i < rows; ++i) {
      out += "<tr>";
      for (std::size_t j = 0; j < columns; ++j) {
        const std::string cell = html_text(readable_text(table.rows[i][j], digits_));
        out += j == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", attributes[j], cell)
                      : fmt::format("<td{}>{}</td>", attributes[j], cell);
      }
      out += "</tr>\n";
    }
    out += "</tbody>\n</table></div>\n";
    if (rows < table.rows.size()) {
      out += cut_note(fmt::format("The first {} of {} rows.", rows, table.rows.size()), table.name);
    } else if (columns < table.columns.size()) {
      out += cut_note(fmt::format("The first {} of {} columns.", columns, table.columns.size()), table.name);
    }
    return out;
  }

  // A matrix as a table; arrays of other ranks as NumPy prints them, which cuts them by itself.
  std::string grid_html(const Grid& grid) const {
    if (grid.array.shape.size() == 2) return table_html(wide_form(grid));
    PrintOptions print;
    print.precision = digits_;
    std::string out =
        fmt::format("<p class=\"quiet\">{}</p>\n", html_text(grid.title.empty() ? grid.name : grid.title));
    return out + preformatted(numpy_text(grid.array.values, grid.array.shape, print));
  }

  bool shown_in_text(const std::string& name) const {
    return std::any_of(report_.items().begin(), report_.items().end(), [&](const Report::Item& item) {
      switch (item.kind) {
        case Report::Item::Kind::table:
          return report_.tables()[item.index].name == name;
        case Report::Item::Kind::grid:
          return !result_.lesson_listing && report_.grids()[item.index].name == name;
        case Report::Item::Kind::line:
          break;
      }
      return false;
    });
  }

  std::string numbers_of(const Figure& figure) const {
    std::string tables;
    for (const std::string& name : figure.data) {
      if (shown_in_text(name)) continue;
      const Table* table = report_.find_table(name);
      const Grid* grid = report_.find_grid(name);
      if (table != nullptr) tables += table_html(*table);
      if (grid != nullptr) tables += grid_html(*grid);
    }
    if (tables.empty()) return "";
    return fmt::format("<details>\n<summary>Numbers of the figure: {}</summary>\n{}</details>\n",
                       html_text(figure.title), tables);
  }

  std::string figure_html(const Figure& figure) const {
    // Inside of a script only this character could end it.
    const std::string specification =
        replaced(vega_lite_specification(figure_data(report_, figure)), "<", "\\u003c");
    return fmt::format(
        "<figure id=\"{}\">\n<div class=\"chart\" role=\"img\" aria-label=\"{}\"></div>\n"
        "<figcaption><b>{}.</b> {}</figcaption>\n<script "
        "type=\"application/json\">{}</script>\n</figure>\n{}",
        html_text(result_.name + "-" + figure.name), html_text(figure.title + ". " + figure.caption),
        html_text(figure.title), html_text(figure.caption), specification, numbers_of(figure));
  }

  std::string figures() const {
    std::string out;
    for (const Figure& figure : report_.figures()) out += figure_html(figure);
    return out;
  }

  std::string explanation() const {
    if (report_.explanation().empty()) return "";
    std::string lines;
    for (const std::string& text : report_.explanation()) lines += text + '\n';
    return fmt::format("<details{}>\n<summary>How it came about: {}</summary>\n{}</details>\n",
                       options_.explain ? " open" : "", html_text(report_.title()), preformatted(lines));
  }

  // The checks of each claim together, whatever order they were made in.
  std::vector<std::vector<const Check*>> checks_by_claim() const {
    std::vector<std::vector<const Check*>> groups;
    for (const Check& check : report_.checks()) {
      const auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& one) { return one.front()->id == check.id; });
      if (group == groups.end()) {
        groups.push_back({&check});
      } else {
        group->push_back(&check);
      }
    }
    return groups;
  }

  std::string claims() const {
    if (report_.checks().empty()) return "";
    std::string out = heading(level_ + 1, "Claims of " + result_.name);
    out += fmt::format(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Claims of {}, a table\"><table "
        "class=\"claims\">\n"
        "<caption>{}</caption>\n<thead><tr><th scope=\"col\">claim</th><th scope=\"col\">case</th>"
        "<th scope=\"col\">verdict</th><th scope=\"col\" class=\"number\">measured</th>"
        "<th scope=\"col\">expected</th></tr></thead>\n",
        html_text(result_.name), html_text(verdict_counts(report_.checks())));
    for (const std::vector<const Check*>& checks : checks_by_claim()) {
      out += fmt::format("<tbody>\n<tr><th scope=\"rowgroup\" rowspan=\"{}\">{}</th>", checks.size(),
                         html_text(checks.front()->claim));
      for (const Check* check : checks) out += (check == checks.front() ? "" : "<tr>") + case_cells(*check);
      out += "</tbody>\n";
    }
    return out + "</table></div>\n";
  }

  static const char* verdict_sign(Verdict verdict) {
    switch (verdict) {
      case Verdict::pass:
        return "✓";
      case Verdict::near:
        return "≈";
      case Verdict::fail:
        return "✗";
      case Verdict::cannot_check:
        break;
    }
    return "?";
  }

  std::string case_cells(const Check& check) const {
    const std::string verdict = verdict_text(check.verdict());
    std::string expected = check.checkable ? expectation_text(check) : "";
    if (!check.reason.empty() && check.verdict() != Verdict::pass)
      expected += (expected.empty() ? "" : "; ") + check.reason;
    return fmt::format(
        "<td>{}</td><td class=\"verdict {}\"><span aria-hidden=\"true\">{}</span> {}</td>"
        "<td class=\"number\">{}</td><td>{}</td></tr>\n",
        html_text(check.label), verdict, verdict_sign(check.verdict()), verdict,
        check.checkable ? html_text(readable_text(check.measured, digits_)) : "", html_text(expected));
  }

  const Result& result_;
  const Report& report_;
  const RenderOptions& options_;
  int digits_;
  int level_;
};

// Nothing may be fetched: the policy makes the browser see to it.
constexpr const char* policy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

std::string document(const std::string& title, const std::string& body, const RenderOptions& options) {
  const bool has_figures = body.find("<figure") != std::string::npos;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"attnlab {}\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body data-digits=\"{}\">\n",
      policy, version(), html_text(title), embedded_file("web/page.css"),
      std::max(1, options.precision.value_or(page_digits)));
  out += body;
  if (has_figures) {
    out += "<noscript><p>The figures need JavaScript; the tables hold their numbers.</p></noscript>\n";
    out += fmt::format("<script>{}</script>\n", replaced(options.chart_script, "</script", "<\\/script"));
  }
  // Without figures the script still makes wide tables reachable by keyboard.
  return out + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", embedded_file("web/page.js"));
}

// Runs `visit(section, results of it)` for each stretch of results of one section.
template <class Visit>
void for_each_section(const std::vector<Result>& results, const Visit& visit) {
  for (auto begin = results.begin(); begin != results.end();) {
    const auto end =
        std::find_if(begin, results.end(), [&](const Result& one) { return one.section != begin->section; });
    visit(begin->section, std::vector<Result>(begin, end));
    begin = end;
  }
}

std::string contents(const std::vector<Result>& results) {
  std::string out = "<nav aria-label=\"Contents\">\n<ol>\n";
  for_each_section(results, [&](const std::string& section, const std::vector<Result>& of_section) {
    out += fmt::format("<li><a href=\"#{}\">{}</a>\n<ol>\n", slug(section), html_text(section));
    for (const Result& result : of_section) {
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", html_text(result.name),
                         html_text(result.report.title()));
    }
    out += "</ol></li>\n";
  });
  return out + "</ol>\n</nav>\n";
}

std::string opening(const std::string& title, const std::vector<Result>& results) {
  std::vector<Check> checks;
  for (const Result& result : results)
    checks.insert(checks.end(), result.report.checks().begin(), result.report.checks().end());
  return fmt::format(
      "<a class=\"skip\" href=\"#lesson\">Skip to the lesson</a>\n<header>\n{}"
      "<p>{}. {}. Each stands below the command that prints it.</p>\n"
      "<p class=\"quiet\">Point at a mark of a figure to read its value; choose a series above a figure to "
      "see it "
      "alone.</p>\n</header>\n",
      heading(1, title), count_of(results.size(), "experiment"), verdict_counts(checks));
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_page(const std::string& title, const std::vector<Result>& results,
                      const RenderOptions& options) {
  std::string body = opening(title, results) + "<div class=\"columns\">\n" + contents(results);
  body += "<main id=\"lesson\" tabindex=\"-1\">\n";
  for_each_section(results, [&](const std::string& section, const std::vector<Result>& of_section) {
    body += fmt::format("<section aria-labelledby=\"{}\">\n", slug(section));
    body += heading(2, section, slug(section));
    for (const Result& result : of_section) {
      body += fmt::format("<article aria-labelledby=\"{}\">\n", html_text(result.name));
      body += heading(3, result.report.title(), result.name) + Article(result, options, 3).html();
      body += "</article>\n";
    }
    body += "</section>\n";
  });
  return document(title, body + "</main>\n</div>\n", options);
}

std::string render_html(const Result& result, const RenderOptions& options) {
  const std::string title = result.report.title().empty() ? result.name : result.report.title();
  return document(title, "<main>\n" + heading(1, title) + Article(result, options, 1).html() + "</main>\n",
                  options);
}

}  // namespace attnlab

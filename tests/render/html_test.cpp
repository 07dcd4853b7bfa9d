// Pages: what they hold, that they fetch nothing, and that no text can break out of its place.
#include <tuple>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "experiments/all.hpp"
#include "render/html.hpp"
#include "support/run.hpp"

using namespace attnlab;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++times;
  return times;
}

Result result_of(const std::string& name) {
  Result result;
  result.name = name;
  result.section = experiments::find(name)->section;
  result.command = "attnlab " + name;
  result.report = run_experiment(name);
  return result;
}

// What could close an element or start another.
const std::string hostile = "</script><b>\"it's\" & </pre>";
const std::string harmless = "&lt;/script&gt;&lt;b&gt;&quot;it&#39;s&quot; &amp; &lt;/pre&gt;";

Result hostile_result() {
  Result result;
  result.name = "hostile";
  result.section = hostile;
  result.purpose = hostile;
  result.source = hostile;
  result.command = hostile;
  result.report = Report(hostile);
  result.report.line(hostile).explain(hostile);
  result.report.table(Table{"t", hostile, {{hostile}, {"y"}}, {{hostile, 1.0}}});
  Figure figure{.name = "f", .title = hostile, .kind = FigureKind::bars, .data = {"t"}};
  figure.x_column = hostile;
  figure.series = {{"y", hostile}};
  figure.caption = hostile;
  result.report.figure(figure);
  Check claim{.id = "c", .measured = 1, .expected = 1};
  claim.claim = hostile;
  result.report.check(claim);
  return result;
}

std::string specification(const std::string& page) {
  const std::string opening = "<script type=\"application/json\">";
  const std::size_t from = page.find(opening) + opening.size();
  return page.substr(from, page.find("</script>", from) - from);
}

}  // namespace

TEST_CASE("html: a page holds every figure and claim of every experiment") {
  std::vector<Result> results;
  for (const Experiment& experiment : experiments::all()) results.push_back(result_of(experiment.name));
  const std::string page = html_page("The lesson", results, {});
  CHECK(count(page, "<h1>The lesson</h1>") == 1);
  CHECK(count(page, "<article") == results.size());
  for (const Result& result : results) {
    CAPTURE(result.name);
    CHECK(contains(page, "<h3 id=\"" + result.name + "\">" + html_text(result.report.title())));
    CHECK(contains(page, "<a href=\"#" + result.name + "\">"));
    CHECK(contains(page, "<code>attnlab " + result.name + "</code>"));
    for (const Figure& figure : result.report.figures()) {
      CHECK(contains(page, "<figure id=\"" + result.name + "-" + figure.name + "\">"));
      CHECK(contains(page, "role=\"img\" aria-label=\"" + html_text(figure.title + ". " + figure.caption)));
    }
    for (const Check& check : result.report.checks())
      CHECK(contains(page, "\">" + html_text(check.claim) + "</th><td>"));
  }
}

TEST_CASE("html: a claim stands once with each of its cases and what they gave") {
  Result result;
  result.name = "cases";
  for (const auto& [id, label, measured] : {std::tuple{"a", "4", 1.0}, {"b", "", 2.0}, {"a", "8", 7.0}}) {
    Check check{.id = id, .label = label, .measured = measured, .expected = 1, .tolerance = 0.5};
    check.claim = id == std::string("a") ? "width is 1" : "depth is 1";
    check.reason = "too deep";
    result.report.check(check);
  }
  const std::string page = render_html(result, {});
  CHECK(contains(page, "<caption>3 claims: 1 pass, 2 fail</caption>"));
  CHECK(contains(page,
                 "<th scope=\"rowgroup\" rowspan=\"2\">width is 1</th><td>4</td>"
                 "<td class=\"verdict pass\"><span aria-hidden=\"true\">✓</span> pass</td>"
                 "<td class=\"number\">1</td><td>1 +- 0.5</td></tr>\n<tr><td>8</td>"
                 "<td class=\"verdict fail\"><span aria-hidden=\"true\">✗</span> fail</td>"
                 "<td class=\"number\">7</td><td>1 +- 0.5; too deep</td></tr>"));
  CHECK(count(page, "rowspan=\"1\">depth is 1</th>") == 1);
}

TEST_CASE("html: sections stand once in the lesson's order") {
  const std::string page =
      html_page("Two", {result_of("attention"), result_of("lookup"), result_of("masking")}, {});
  CHECK(count(page, "<h2 id=") == 2);
  CHECK(page.find("<h2 id=\"attention-as-soft-lookup\">") < page.find("<h2 id=\"causal-masking\">"));
  CHECK(contains(page, "<a href=\"#causal-masking\">Causal masking</a>"));
}

TEST_CASE("html: nothing is fetched") {
  std::string page = html_page("The lesson", {result_of("attention"), result_of("rope")}, {});
  CHECK(contains(page, "default-src 'none'"));
  const std::string schema = "https://vega.github.io/schema/vega-lite/v6.json";
  for (std::size_t at = page.find(schema); at != std::string::npos; at = page.find(schema)) {
    page.erase(at, schema.size());
  }
  CHECK_FALSE(contains(page, "http://"));
  CHECK_FALSE(contains(page, "https://"));
  CHECK_FALSE(contains(page, " src="));
  CHECK_FALSE(contains(page, "url("));
  CHECK_FALSE(contains(page, "@import"));
}

TEST_CASE("html: no text breaks out of its place") {
  const Result result = hostile_result();
  for (const std::string& page : {render_html(result, {}), html_page(hostile, {result}, {})}) {
    CHECK_FALSE(contains(page, "<b>\""));
    CHECK(count(page, "</pre>") == count(page, "<pre"));
    CHECK(count(page, "</script>") == count(page, "<script"));
    CHECK(contains(page, "<title>" + harmless + "</title>"));
    const auto parsed = nlohmann::json::parse(specification(page));
    CHECK(parsed["title"]["text"] == hostile);
    CHECK(parsed["data"]["values"][0]["x"] == hostile);
  }
}

TEST_CASE("html: the script that draws is inside and cannot end early") {
  const std::string script = "draw('</script>');";
  const std::string page = render_html(result_of("attention"), {.chart_script = script});
  CHECK(contains(page, "<script>draw('<\\/script>');</script>"));
}

TEST_CASE("html: a lesson's listing stands as printed") {
  const std::string page = render_html(result_of("attention"), {});
  Result listing = result_of("attention");
  listing.lesson_listing = true;
  CHECK(contains(render_html(listing, {}), "[0.772 0.228 0.    0.    0.   ]"));
  CHECK(contains(page, "0.772493"));  // as a table otherwise
}

TEST_CASE("html: large tables are cut with a note how to get all") {
  Result result;
  result.name = "large";
  result.command = "attnlab large --seed 5";
  Table table{"steps", "Steps", {{"step"}, {"loss"}}};
  for (std::int64_t step = 0; step < 1000; ++step) table.rows.push_back({step, 0.5});
  result.report.table(table);
  result.report.grid(Grid{"wide", "Wide", {{1, 100}, std::vector<double>(100, 0.25)}});
  const std::string page = render_html(result, {});
  CHECK(count(page, "<tr><th scope=\"row\"") == 25);
  CHECK(contains(page,
                 "The first 24 of 1000 rows. All of them: <code>attnlab large --seed 5 --table steps "
                 "--format csv</code>"));
  CHECK(contains(page, "The first 16 of 101 columns."));
}

TEST_CASE("html: --table picks one table or one figure") {
  const Result result = result_of("attention");
  const std::string figure = result.report.figures().front().name;
  CHECK(count(render_html(result, {.table = figure}), "<figure") == 1);
  const std::string page = render_html(result, {.table = "query"});
  CHECK(count(page, "<table>") == 1);
  CHECK_FALSE(contains(page, "<figure"));
  Result others;
  others.name = "others";
  others.report.data(Table{"t", "Of numbers", {{"a"}}, {{7.0}}});
  others.report.data(Grid{"cube", "A cube", {{1, 2, 2}, {1, 2, 3, 4.5}}});
  CHECK(contains(render_html(others, {.table = "t"}), ">7<"));
  CHECK(contains(render_html(others, {.table = "cube"}),
                 "<p class=\"quiet\">A cube</p>\n<pre class=\"text\">\n[[[1.  2. ]\n  [3.  4.5]]]</pre>"));
  CHECK_THROWS_WITH_AS(render_html(result, {.table = "qeury"}), doctest::Contains("qeury is not one of"),
                       Error);
}

TEST_CASE("html: digits are those asked for") {
  const std::string page = render_html(result_of("attention"), {.table = "query", .precision = 2});
  CHECK(contains(page, "data-digits=\"2\""));
  CHECK_FALSE(contains(page, "0.772493"));
}

TEST_CASE("html: a result without figures needs no script to draw") {
  Result result;
  result.name = "words";
  result.report = Report("Words");
  result.report.line("one").line("").line("two");
  const std::string page = render_html(result, {.chart_script = "draw()"});
  CHECK(contains(page, "<pre class=\"text\">\none\n\ntwo</pre>"));
  CHECK_FALSE(contains(page, "draw()"));
}

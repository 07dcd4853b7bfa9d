// Pictures: every figure of every experiment in every writer, and what bad data does to them.
#include <cmath>
#include <cstdlib>
#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "experiments/all.hpp"
#include "render/figure_data.hpp"
#include "support/run.hpp"

using namespace attnlab;

namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();

Result result_of(const std::string& experiment) {
  Result result;
  result.name = experiment;
  result.report = run_experiment(experiment);
  return result;
}

Result array_result(Shape shape, std::vector<double> values) {
  Result result;
  result.name = "array";
  result.report.data(Grid{"x", "", {std::move(shape), std::move(values)}});
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("figures: every experiment has one and every writer draws it") {
  for (const Experiment& experiment : experiments::all()) {
    CAPTURE(experiment.name);
    const Result result = result_of(experiment.name);
    CHECK_FALSE(result.report.figures().empty());
    for (const Figure& figure : result.report.figures()) {
      CAPTURE(figure.name);
      const RenderOptions options{.table = figure.name};
      const std::string plot = render_plot(result, options);
      CHECK(contains(plot, figure.title.substr(0, 20)));
      CHECK_FALSE(contains(plot, "\x1b"));
      CHECK_FALSE(contains(plot, "nan"));
      CHECK(contains(render_gnuplot(result, options), "\nplot $panel0"));
      const auto vega = nlohmann::json::parse(render_vega_lite(result, options));
      CHECK(vega["$schema"] == "https://vega.github.io/schema/vega-lite/v6.json");
      CHECK_FALSE(vega["data"]["values"].empty());
    }
  }
}

TEST_CASE("figures: gnuplot draws every figure as a well-formed svg") {
  for (const Experiment& experiment : experiments::all()) {
    CAPTURE(experiment.name);
    const Result result = result_of(experiment.name);
    for (const Figure& figure : result.report.figures()) {
      CAPTURE(figure.name);
      const std::string svg = render_svg(result, {.table = figure.name});
      CHECK(svg.starts_with("<?xml"));
      CHECK(contains(svg, "</svg>"));
      CHECK(svg == render_svg(result, {.table = figure.name}));
    }
  }
}

TEST_CASE("figures: png and pdf are what they say") {
  const Result result = result_of("attention");
  CHECK(render_png(result, {}).starts_with("\x89PNG"));
  CHECK(render_pdf(result, {}).starts_with("%PDF"));
}

TEST_CASE("figures: without gnuplot it is said how to get it") {
  const Result result = result_of("attention");
  const char* path = std::getenv("PATH");
  const std::string old = path == nullptr ? "" : path;
  ::setenv("PATH", "/nonexistent", 1);
  CHECK_THROWS_WITH_AS(render_svg(result, {}),
                       "gnuplot, which draws svg, png and pdf, is not installed: apt-get install gnuplot-nox",
                       Error);
  ::setenv("PATH", old.c_str(), 1);
}

TEST_CASE("figures: constant data and one point and gaps draw without nonsense") {
  for (const Result& result :
       {array_result({3}, {2, 2, 2}), array_result({1}, {5}), array_result({}, {5}),
        array_result({4}, {1, nan_value, 3, 4}), array_result({2, 2}, {1, 1, 1, 1}),
        array_result({2, 2}, {nan_value, 1, INFINITY, -INFINITY}), array_result({1, 3}, {1, 2, 3}),
        array_result({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}) {
    const std::string plot = render_plot(result, {});
    CHECK_FALSE(plot.empty());
    CHECK_FALSE(contains(plot, " nan"));
    CHECK_FALSE(contains(plot, "-nan"));
    CHECK(nlohmann::json::accept(render_vega_lite(result, {})));
    CHECK(render_svg(result, {}).starts_with("<?xml"));
  }
}

TEST_CASE("figures: a matrix draws as a heat map byte for byte") {
  const Result result = array_result({2, 2}, {0, 1, 0.5, 0.25});
  const std::string expected = render_plot(result, {});
  CHECK(expected == render_plot(result, {.table = "x"}));
  CHECK(contains(expected, "row"));
  CHECK(contains(expected, "column"));
}

TEST_CASE("figures: small multiples are one panel for each value") {
  Result result;
  result.name = "multiples";
  result.report.data(
      Table{"t",
            "",
            {{"d"}, {"x"}, {"y"}},
            {{std::int64_t{4}, 1.0, 2.0}, {std::int64_t{4}, 2.0, 3.0}, {std::int64_t{8}, 1.0, 5.0}}});
  result.report.figure({.name = "f",
                        .title = "Panels",
                        .data = {"t"},
                        .x_column = "x",
                        .series = {{"y"}},
                        .panel_column = "d",
                        .caption = "c"});
  const FigureData data = chosen_figures(result, "").front();
  REQUIRE(data.panels.size() == 2);
  CHECK(data.panels[0].series[0].y == std::vector<double>{2, 3});
  CHECK(data.panels[1].title == "8");
  CHECK(contains(render_gnuplot(result, {}), "set multiplot layout 1,2"));
  CHECK(nlohmann::json::parse(render_vega_lite(result, {}))["facet"]["field"] == "panel");
}

TEST_CASE("figures: an error column becomes a band around the line") {
  Result result;
  result.report.data(Table{"t", "", {{"x"}, {"y"}, {"error"}}, {{1.0, 5.0, 0.5}, {2.0, 7.0, 0.25}}});
  result.report.figure({.name = "f",
                        .title = "Bands",
                        .data = {"t"},
                        .x_column = "x",
                        .series = {{.column = "y", .error_column = "error"}},
                        .caption = "c"});
  CHECK(chosen_figures(result, "").front().panels[0].series[0].error == std::vector<double>{0.5, 0.25});
  const std::string script = render_gnuplot(result, {});
  CHECK(contains(script, "$panel0_0 << EOD\n1 5 0.5\n2 7 0.25\nEOD\n"));
  CHECK(contains(script, "plot $panel0_0 using 1:($2-$3):($2+$3) with filledcurves"));
  CHECK(contains(script, ", \\\n     $panel0_0 using 1:2 with linespoints"));
  CHECK(render_svg(result, {}).starts_with("<?xml"));
  const auto vega = nlohmann::json::parse(render_vega_lite(result, {}));
  CHECK(vega["data"]["values"][1]["low"] == 6.75);
  CHECK(vega["data"]["values"][1]["high"] == 7.25);
  CHECK(vega["layer"][0]["mark"]["type"] == "area");
  CHECK(vega["layer"][0]["encoding"]["y2"]["field"] == "high");
}

TEST_CASE("figures: gnuplot writes a grid's labels at its ticks") {
  Result result;
  Grid grid{"x", "X", {{1, 2}, {1, 2}}};
  grid.row_labels = {"the"};
  grid.column_labels = {"it's", "cat"};
  result.report.data(grid);
  result.report.figure(
      {.name = "f", .title = "X", .kind = FigureKind::heat_map, .data = {"x"}, .caption = "c"});
  CHECK(contains(render_gnuplot(result, {}), "set xtics ('it''s' 0, 'cat' 1)\nset ytics ('the' 0)\n"));
}

TEST_CASE("figures: a table without a figure draws its numbers over its first column") {
  Result result;
  result.report.data(Table{
      "t", "Table", {{"x"}, {"word"}, {"y"}}, {{1.0, std::string("a"), 5.0}, {2.0, std::string("b"), 7.0}}});
  const FigureData data = chosen_figures(result, "").front();
  REQUIRE(data.panels.size() == 1);
  REQUIRE(data.panels[0].series.size() == 1);
  CHECK(data.panels[0].series[0].label == "y");
  CHECK(data.panels[0].series[0].x == std::vector<double>{1, 2});
  CHECK(data.panels[0].series[0].y == std::vector<double>{5, 7});
  CHECK(data.figure.x_axis.title == "x");
  CHECK(data.figure.y_axis.title == "y");
  CHECK(contains(render_plot(result, {}), "Table"));
}

TEST_CASE("figures: what cannot be drawn is refused with what can") {
  Result words;
  words.name = "words";
  words.report.data(Table{"t", "", {{"a"}, {"b"}}, {{std::string("x"), std::string("y")}}});
  CHECK_THROWS_WITH_AS(render_plot(words, {}), "--table: t has no numbers to draw", Error);
  Result empty;
  empty.report.data(Table{"t", "", {{"a"}, {"b"}}, {}});
  CHECK_THROWS_WITH_AS(render_svg(empty, {}), "--table: t has no numbers to draw", Error);
  CHECK_THROWS_WITH_AS(render_plot(result_of("attention"), {.table = "weihgts"}),
                       doctest::Contains("weihgts is not one of weights"), Error);
  Result nothing;
  nothing.name = "nothing";
  CHECK_THROWS_WITH_AS(render_plot(nothing, {}), "--plot: nothing has nothing to draw", Error);
}

TEST_CASE("figures: quotes and line ends in names do not break a script") {
  Result result;
  result.name = "quotes";
  result.report.data(Table{"t", "", {{"name"}, {"y"}}, {{std::string("it's \"a\"\nb"), 1.0}}});
  result.report.figure({.name = "f",
                        .title = "It's",
                        .kind = FigureKind::bars,
                        .data = {"t"},
                        .x_column = "name",
                        .series = {{"y"}},
                        .caption = "a 'b'"});
  CHECK(render_svg(result, {}).starts_with("<?xml"));
  CHECK(nlohmann::json::accept(render_vega_lite(result, {})));
}

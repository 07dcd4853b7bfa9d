#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "lab/difference.hpp"
#include "lab/report.hpp"

using namespace attnlab;

namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("report: a check passes only when its comparison holds") {
  CHECK(Check{.id = "a", .measured = 1, .expected = 1}.verdict() == Verdict::pass);
  CHECK(Check{.id = "a", .measured = 1.5, .expected = 1, .tolerance = 0.5}.verdict() == Verdict::pass);
  CHECK(Check{.id = "a", .measured = 1.5, .expected = 1, .tolerance = 0.4}.verdict() == Verdict::fail);
  CHECK(Check{.id = "a", .measured = 2, .relation = Relation::at_most, .expected = 2}.passed());
  CHECK_FALSE(Check{.id = "a", .measured = 2.1, .relation = Relation::at_most, .expected = 2}.passed());
  CHECK(Check{.id = "a", .measured = 2, .relation = Relation::at_least, .expected = 2}.passed());
  CHECK_FALSE(Check{.id = "a", .measured = 1.9, .relation = Relation::at_least, .expected = 2}.passed());
}

TEST_CASE("report: NaN never passes and equal infinities do") {
  for (const Relation relation : {Relation::within, Relation::at_most, Relation::at_least}) {
    CHECK_FALSE(
        Check{.id = "a", .measured = nan_value, .relation = relation, .expected = 1, .tolerance = infinity}
            .passed());
    CHECK_FALSE(
        Check{.id = "a", .measured = nan_value, .relation = relation, .near_tolerance = infinity}.passed());
  }
  CHECK(Check{.id = "a", .measured = infinity, .expected = infinity}.passed());
  CHECK_FALSE(Check{.id = "a", .measured = -infinity, .expected = infinity}.passed());
}

TEST_CASE("report: near and cannot-check do not fail") {
  const Check near{.id = "path", .measured = 4, .expected = 5, .near_tolerance = 1};
  CHECK(near.verdict() == Verdict::near);
  CHECK(near.passed());
  const Check unknown{.id = "traffic", .reason = "its counting is not stated", .checkable = false};
  CHECK(unknown.verdict() == Verdict::cannot_check);
  CHECK(unknown.passed());
  CHECK(verdict_text(Verdict::cannot_check) == "cannot-check");
}

TEST_CASE("report: expectations read as sentences") {
  CHECK(expectation_text({.id = "a", .expected = 124439808}) == "exactly 124439808");
  CHECK(expectation_text({.id = "a", .expected = 0, .tolerance = 1e-12}) == "0 +- 1e-12");
  CHECK(expectation_text({.id = "a", .relation = Relation::at_most, .expected = 0.5}) == "<= 0.5");
  CHECK(expectation_text({.id = "a", .checkable = false}) == "-");
}

TEST_CASE("report: a table with a short row and two tables of one name are faults") {
  Report report;
  CHECK_THROWS_AS(report.table({"t", "", {{"a"}, {"b"}}, {{1.0}}}), Error);
  report.data(Table{"u", "", {{"a"}}, {{1.0}}});
  CHECK_THROWS_WITH_AS(report.data(Grid{"u", "", {{1}, {1}}}), "two tables are named u", Error);
  CHECK_THROWS_AS(report.data(Grid{"g", "", {{2, 2}, {1, 2, 3}}}), Error);
}

TEST_CASE("report: long form walks an array in row order") {
  const Table matrix = long_form({"m", "", {{2, 2}, {1, 2, 3, 4}}});
  CHECK(matrix.columns[0].name == "row");
  CHECK(matrix.columns[1].name == "column");
  CHECK(matrix.rows[2] == std::vector<Cell>{std::int64_t{1}, std::int64_t{0}, 3.0});
  const Table cube = long_form({"c", "", {{1, 2, 2}, {1, 2, 3, 4}}});
  CHECK(cube.columns[2].name == "axis_2");
  CHECK(cube.rows[3] == std::vector<Cell>{std::int64_t{0}, std::int64_t{1}, std::int64_t{1}, 4.0});
  CHECK(long_form({"v", "", {{0}, {}}}).rows.empty());
}

TEST_CASE("report: wide form labels rows and columns") {
  Grid grid{"m", "", {{1, 2}, {1, 2}}};
  grid.row_labels = {"the"};
  grid.column_labels = {"cat", "sat"};
  const Table table = wide_form(grid);
  CHECK(table.columns[2].name == "sat");
  CHECK(table.rows[0] == std::vector<Cell>{"the", 1.0, 2.0});
}

TEST_CASE("report: appended reports keep their order") {
  Report a("a");
  a.line("first").data(Grid{"g", "", {{1}, {1}}});
  Report b("b");
  b.line("second").grid(Grid{"h", "", {{1}, {2}}});
  a.append(b);
  REQUIRE(a.items().size() == 3);
  CHECK(a.grids()[a.items()[2].index].name == "h");
  CHECK(a.data_names() == std::vector<std::string>{"g", "h"});
}

TEST_CASE("report: an appended name that is taken gets a number in tables and arrays and figures") {
  Report a("a");
  a.data(Grid{"scores", "", {{1}, {1}}});
  Report b("b");
  b.data(Grid{"scores", "", {{1}, {2}}}).data(Table{"decay", "", {{"x"}}, {{1.0}}});
  b.figure(Figure{"pattern", "", FigureKind::heat_map, {"scores", "decay"}});
  a.append(b);
  CHECK(a.data_names() == std::vector<std::string>{"scores", "scores_2", "decay"});
  CHECK(a.find_grid("scores_2")->array.values == std::vector<double>{2});
  CHECK(a.figures()[0].data == std::vector<std::string>{"scores_2", "decay"});
  a.append(b);
  CHECK(a.data_names().back() == "decay_2");
  CHECK(a.find_grid("scores_3") != nullptr);
}

TEST_CASE("report: the difference to another names what differs and by how much") {
  Report here;
  here.value("total", std::int64_t{12}).value("same", 1.0);
  here.data(Table{
      "t", "", {{"d"}, {"std"}}, {{std::int64_t{4}, 2.5}, {std::int64_t{8}, 3.5}, {std::int64_t{9}, NAN}}});
  here.data(Grid{"w", "", {{1, 2}, {1, 5}}});
  Report other;
  other.value("total", std::int64_t{10}).value("same", 1.0);
  other.data(Table{
      "t", "", {{"d"}, {"std"}}, {{std::int64_t{4}, 2.0}, {std::int64_t{6}, 2.0}, {std::int64_t{9}, NAN}}});
  other.data(Grid{"w", "", {{1, 2}, {1, 3}}});
  add_difference(here, other);
  const Table& table = *here.find_table("against-default");
  REQUIRE(table.rows.size() == 5);
  CHECK(table.rows[0] == std::vector<Cell>{"total", std::int64_t{12}, std::int64_t{10}, 2.0});
  CHECK(table.rows[1] == std::vector<Cell>{"t, d 6", "absent", "present", {}});
  CHECK(table.rows[2] == std::vector<Cell>{"t, d 4, std", 2.5, 2.0, 0.5});
  CHECK(table.rows[3] == std::vector<Cell>{"t, d 8", "present", "absent", {}});
  CHECK(table.rows[4] == std::vector<Cell>{"w [0, 1], where it differs most", 5.0, 3.0, 2.0});
}

#include "lab/model_tables.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"

using namespace attnlab;

namespace {

Int128 whole(const Cell& cell) { return std::get<Int128>(cell); }

std::vector<AccountGroup> account(const CountedModel& model) {
  return account_for(model.config.architecture, model.count, {});
}

}  // namespace

TEST_CASE("model tables: components sum to the total") {
  const CountedModel model = count_embedded_model("mixtral-8x7b");
  const Table table = component_table(model.count);
  Int128 sum = 0;
  for (const auto& row : table.rows) sum += whole(row[table.column("parameters")]);
  CHECK(sum == Int128{46702792704});
}

TEST_CASE("model tables: a model of images has a stem and a head") {
  const Table table = component_table(count_embedded_model("vit-base-patch16-224").count);
  Int128 stem = 0;
  Int128 head = 0;
  for (const auto& row : table.rows) {
    const auto& part = std::get<std::string>(row[table.column("part")]);
    if (part == "stem") stem += whole(row[table.column("parameters")]);
    if (part == "head") head += whole(row[table.column("parameters")]);
  }
  CHECK(stem == Int128{768} * 3 * 16 * 16 + 768);
  CHECK(head == Int128{768} * 1000 + 1000);
}

TEST_CASE("model tables: parts sum to the total of every model") {
  std::vector<CountedModel> models;
  for (const std::string& name : embedded_model_names()) models.push_back(count_embedded_model(name));
  const Table table = parts_table(models);
  REQUIRE(table.rows.size() == models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    CAPTURE(models[i].name);
    Int128 sum = 0;
    for (std::size_t j = 1; j < table.columns.size(); ++j) sum += whole(table.rows[i][j]);
    CHECK(sum == models[i].count.total);
  }
}

TEST_CASE("model tables: two models stand side by side with difference and ratio") {
  const CountedModel small = count_embedded_model("gpt2");
  const CountedModel mixture = count_embedded_model("deepseek-v3");
  const Table table = side_by_side("compare", "", account(small), "gpt2", account(mixture), "deepseek-v3");
  CHECK(std::get<std::string>(table.rows[0][0]) == "total");
  CHECK(whole(table.rows[0][3]) == Int128{671026419200} - 124439808);
  CHECK(std::get<double>(table.rows[0][4]) == 671026419200.0 / 124439808.0);
  for (const auto& row : table.rows) {
    // Blocks of a mixture differ, so it has no such figure.
    if (std::get<std::string>(row[0]) == "per_block") CHECK(std::holds_alternative<std::monostate>(row[2]));
  }
}

TEST_CASE("model tables: a length beyond the model's positions is noted") {
  const CountedModel model = count_embedded_model("gpt2");
  CHECK(model_lines(model, account(model), 1024)[1].empty());
  CHECK(model_lines(model, account(model), 1025)[1] ==
        "note: T = 1,025 is beyond the model's 1,024 positions");
}

TEST_CASE("model tables: a model that is not embedded is refused with the nearest name") {
  CHECK_THROWS_WITH_AS(
      count_embedded_model("gpt2-larg"),
      "--model: gpt2-larg is no embedded model (did you mean gpt2-large?); --model list shows them", Error);
  CHECK(embedded_model_names().size() == 56);
}

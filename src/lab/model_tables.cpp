#include "lab/model_tables.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace attnlab {
namespace {

Cell cell_of(const Quantity& quantity) {
  if (quantity.per == 1) return quantity.value;
  return quantity.real();
}

std::string figure_line(const Quantity& quantity, const Quantity* exact) {
  const std::string value =
      quantity.per == 1 ? with_thousands(quantity.value) : fmt::format("{:.1f}", quantity.real());
  std::string beside = quantity.unit == "bytes" ? byte_text(quantity.value) : "";
  if (exact != nullptr) beside = fmt::format("{:.1f} %", 100 * quantity.real() / exact->real());
  std::string line = fmt::format("  {:<31}{:>26}  {:<24}{}", quantity.name, value, beside, quantity.meaning);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// The column that a part adds to; nullptr for tables and output matrix, which have their own totals.
Int128* column_of(Part part, Int128& attention, Int128& mlp, Int128& norms, Int128& other) {
  switch (part) {
    case Part::attention:
      return &attention;
    case Part::mlp:
    case Part::router:
    case Part::experts:
      return &mlp;
    case Part::norms:
      return &norms;
    case Part::stem:
    case Part::head:
      return &other;
    case Part::embedding:
    case Part::lm_head:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

Value value_of(const Quantity& quantity) {
  if (quantity.per == 1) return quantity.value;
  return quantity.real();
}

std::vector<std::string> model_lines(const CountedModel& model, const std::vector<AccountGroup>& account,
                                     std::int64_t seq_len) {
  const Architecture& a = model.config.architecture;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} of family {}, {} layers of width {}", model.name, a.model_class,
                              a.model_type, a.main_stack().layers.size(), with_thousands(a.d_model)));
  for (const std::string& note : model.config.notes) lines.push_back(fmt::format("note: {}", note));
  if (a.max_positions > 0 && seq_len > a.max_positions) {
    lines.push_back(fmt::format("note: T = {} is beyond the model's {} positions", with_thousands(seq_len),
                                with_thousands(a.max_positions)));
  }
  for (const AccountGroup& group : account) {
    lines.emplace_back();
    lines.push_back(group.title);
    const bool relative = group.name == "training-flops";
    const Quantity* exact = relative ? find_figure(account, "training_per_token") : nullptr;
    for (const Quantity& quantity : group.quantities) {
      const bool is_per_token = relative && quantity.name != "training_compute";
      lines.push_back(figure_line(quantity, is_per_token ? exact : nullptr));
    }
  }
  return lines;
}

Table account_table(const std::vector<AccountGroup>& account) {
  Table table{"account",
              "All figures",
              {{"figure"}, {"value"}, {"unit"}, {"group"}, {"formula"}, {"numbers"}, {"meaning"}}};
  for (const AccountGroup& group : account) {
    for (const Quantity& q : group.quantities) {
      table.rows.push_back({q.name, cell_of(q), q.unit, group.name, q.formula, q.numbers, q.meaning});
    }
  }
  return table;
}

Table component_table(const ParameterCount& count) {
  Table table{"components",
              "Components, which sum to the total",
              {{"component"},
               {"part"},
               {"shape"},
               {"layers"},
               {"copies"},
               {"per_layer"},
               {"parameters"},
               {"active"}}};
  for (const Component& row : count.components) {
    table.rows.push_back({full_name(row), std::string(name_of(row.part)), shape_text(row.shape), row.layers,
                          row.copies, row.per_layer, row.parameters, row.active_once});
  }
  return table;
}

Table defaults_table(const ModelConfig& config) {
  Table table{"defaults", "Keys that the config leaves out", {{"key"}, {"value"}, {"reason"}}};
  for (const DefaultTaken& taken : config.defaults) {
    table.rows.push_back({taken.key, taken.value, taken.reason});
  }
  return table;
}

Table stored_table(const Architecture& architecture) {
  Table table{
      "stored", "What files and the hub may show instead", {{"stored"}, {"added"}, {"exact"}, {"reason"}}};
  for (const StoredVariant& variant : stored_variants(architecture)) {
    table.rows.push_back({variant.stored, variant.added, variant.exact, variant.reason});
  }
  return table;
}

Table parts_table(const std::vector<CountedModel>& models) {
  Table table{"parts",
              "Parameters by part",
              {{"model"}, {"embedding"}, {"attention"}, {"mlp"}, {"norms"}, {"lm_head"}, {"other"}}};
  for (const CountedModel& model : models) {
    Int128 attention = 0;
    Int128 mlp = 0;
    Int128 norms = 0;
    Int128 other = 0;
    for (const Component& row : model.count.components) {
      Int128* column = column_of(row.part, attention, mlp, norms, other);
      if (column != nullptr) *column += row.parameters;
    }
    table.rows.push_back(
        {model.name, model.count.embedding, attention, mlp, norms, model.count.lm_head, other});
  }
  return table;
}

Figure parts_figure(const std::vector<CountedModel>& models) {
  Figure figure{.name = "parts", .title = "Where the parameters are", .kind = FigureKind::stacked_bars};
  figure.data = {"parts"};
  figure.x_column = "model";
  figure.series = {{"embedding"}, {"attention"}, {"mlp", "MLP and experts"},
                   {"norms"},     {"lm_head"},   {"other"}};
  figure.x_axis.title = "model";
  figure.y_axis.title = "parameters";
  const bool is_gpt2_family =
      models.size() > 1 &&
      std::all_of(models.begin(), models.end(), [](const auto& one) { return one.name.starts_with("gpt2"); });
  figure.caption =
      is_gpt2_family
          ? "As GPT-2 grows, its tables take a smaller share (shapes: Radford et al. 2019, table 2)"
          : "Parameters of each part, over all layers";
  return figure;
}

Table side_by_side(std::string name, std::string title, const std::vector<AccountGroup>& one,
                   const std::string& one_name, const std::vector<AccountGroup>& other,
                   const std::string& other_name) {
  Table table{
      std::move(name), std::move(title), {{"figure"}, {one_name}, {other_name}, {"difference"}, {"ratio"}}};
  for (const AccountGroup& group : one) {
    for (const Quantity& q : group.quantities) {
      const Quantity* counterpart = find_figure(other, q.name);
      if (counterpart == nullptr) {
        table.rows.push_back({q.name, cell_of(q), {}, {}, {}});
        continue;
      }
      Cell difference = counterpart->real() - q.real();
      if (q.per == 1 && counterpart->per == 1) difference = counterpart->value - q.value;
      Cell ratio = {};
      if (q.value != 0) ratio = counterpart->real() / q.real();
      table.rows.push_back({q.name, cell_of(q), cell_of(*counterpart), difference, ratio});
    }
  }
  for (const AccountGroup& group : other) {
    for (const Quantity& q : group.quantities) {
      if (find_figure(one, q.name) == nullptr) table.rows.push_back({q.name, {}, cell_of(q), {}, {}});
    }
  }
  return table;
}

Table tensors_table(const CheckpointComparison& comparison) {
  Table table{
      "tensors", "Tensors that differ", {{"difference"}, {"tensor"}, {"stored"}, {"derived"}, {"reason"}}};
  for (const StoredTensor& tensor : comparison.missing) {
    table.rows.push_back({"missing", tensor.name, {}, shape_text(tensor.shape), {}});
  }
  for (const ExtraTensor& tensor : comparison.extra) {
    table.rows.push_back({"extra", tensor.name, shape_text(tensor.shape), {}, tensor.reason});
  }
  for (const ShapeDifference& tensor : comparison.other_shape) {
    table.rows.push_back(
        {"other shape", tensor.name, shape_text(tensor.stored), shape_text(tensor.derived), {}});
  }
  return table;
}

}  // namespace attnlab

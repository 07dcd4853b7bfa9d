// A counted model told: lines of text, and tables for every other format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accounting/account.hpp"
#include "accounting/checkpoint.hpp"
#include "lab/counted_model.hpp"
#include "lab/report.hpp"

namespace attnlab {

/// A figure as a value of a report: a whole number where it is one.
Value value_of(const Quantity& quantity);

/// What the model is, notes on how it was read, and every figure with its meaning; bytes in both units,
/// training FLOPs also in per cent of the exact sum.
std::vector<std::string> model_lines(const CountedModel& model, const std::vector<AccountGroup>& account,
                                     std::int64_t seq_len);

/// "account": figure, value, unit, group, formula, numbers, meaning.
Table account_table(const std::vector<AccountGroup>& account);
/// "components": one row for each weight, with shape and layers; `parameters` sums to the total.
Table component_table(const ParameterCount& count);
/// "defaults": the keys that the config leaves out.
Table defaults_table(const ModelConfig& config);
/// "stored": what files and the hub show instead, and why.
Table stored_table(const Architecture& architecture);
/// "parts": parameters by part, a row for each model; what the stacked bars of "parts" show.
Table parts_table(const std::vector<CountedModel>& models);
Figure parts_figure(const std::vector<CountedModel>& models);
/// The figures of two models side by side; what only one of them has is left empty.
Table side_by_side(std::string name, std::string title, const std::vector<AccountGroup>& one,
                   const std::string& one_name, const std::vector<AccountGroup>& other,
                   const std::string& other_name);
/// "tensors": those that are missing, extra or of another shape.
Table tensors_table(const CheckpointComparison& comparison);

}  // namespace attnlab

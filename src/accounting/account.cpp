#include "accounting/account.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnlab {
namespace {

Quantity parameters(std::string name, Int128 value, std::string formula, std::string meaning) {
  return {std::move(name), value, 1, "parameters", std::move(formula), "", std::move(meaning)};
}

std::vector<Quantity> parameter_figures(const Architecture& a, const ParameterCount& count) {
  Int128 token_table = 0;
  for (const Weight& weight : a.input) {
    if (weight.part == Part::embedding) token_table += elements_of(weight);
  }
  const Int128 tables = count.embedding + count.lm_head;
  std::vector<Quantity> list;
  list.push_back(
      parameters("total", count.total, "sum of the components", "a tied matrix once, buffers not"));
  list.push_back(parameters("embedding", count.embedding, "tables looked up", "token, position, token type"));
  list.push_back(parameters("lm_head", count.lm_head, "vocabulary x width",
                            a.has_lm_head
                                ? (a.tied ? "tied: it is the token table" : "the separate output matrix")
                                : "this class has none"));
  list.push_back(parameters("non_embedding", count.total - tables, "total - embedding - lm_head",
                            "as the Pythia and Qwen cards count"));
  list.push_back(parameters("active", count.active, "total - experts not visited", "what one token uses"));
  list.push_back(parameters("active_without_input_embedding", count.active - token_table,
                            "active - input tables", "as OpenAI and DeepSeek label their mixtures"));
  if (count.per_block) {
    const BlockParameters& block = *count.per_block;
    list.push_back(
        parameters("per_block", block.total(), "attention + mlp + norms", "one block; all are alike"));
    list.push_back(parameters("attention", block.attention, "projections and biases", "of one block"));
    list.push_back(parameters("mlp", block.mlp, "projections, biases, experts, router", "of one block"));
    list.push_back(parameters("norms", block.norms, "gains and biases", "of one block"));
  }
  return list;
}

void append(std::vector<Quantity>& list, std::vector<Quantity> more) {
  for (Quantity& quantity : more) list.push_back(std::move(quantity));
}

}  // namespace

std::vector<AccountGroup> account_for(const Architecture& a, const ParameterCount& count,
                                      const Workload& workload) {
  const std::int64_t seq_len = workload.seq_len;
  std::vector<AccountGroup> groups;
  groups.push_back({"parameters", "parameters", parameter_figures(a, count)});
  groups.push_back({"training-flops",
                    fmt::format("training FLOPs per token, T = {}", with_thousands(seq_len)),
                    flops_per_token(a, count, seq_len)});
  if (workload.train_tokens) {
    const Int128 tokens = *workload.train_tokens;
    const Quantity& per_token = find_quantity(groups.back().quantities, "six_n_total");
    groups.back().quantities.push_back(
        {"training_compute", checked_multiply(per_token.value, tokens, "the training compute"), 1, "FLOPs",
         "6 N D", fmt::format("{} x {}", with_thousands(per_token.value), with_thousands(tokens)),
         fmt::format("D = {} tokens, N = all weights that a token visits", with_thousands(tokens))});
  }
  groups.push_back({"inference-flops", "inference FLOPs", inference_flops(a, count, seq_len)});
  AccountGroup cache{"cache",
                     fmt::format("key-value cache, T = {}, batch {}, {} bits", with_thousands(seq_len),
                                 workload.batch, workload.cache_bits),
                     cache_size(a, {seq_len, workload.batch, workload.cache_bits})};
  append(cache.quantities, cache_alternatives(a, workload.cache_bits));
  if (workload.budget) {
    append(cache.quantities, largest_context(a, count, *workload.budget, workload.batch, workload.cache_bits,
                                             workload.weight_bits));
  }
  groups.push_back(std::move(cache));
  groups.push_back({"scores", fmt::format("attention scores, T = {}", with_thousands(seq_len)),
                    score_size(a, count, seq_len)});
  groups.push_back(
      {"training-memory",
       fmt::format("memory of training, T = {}, batch {}", with_thousands(seq_len), workload.batch),
       training_memory(a, count, seq_len, workload.batch)});
  return groups;
}

const Quantity* find_figure(const std::vector<AccountGroup>& account, std::string_view name) {
  for (const AccountGroup& group : account) {
    for (const Quantity& quantity : group.quantities) {
      if (quantity.name == name) return &quantity;
    }
  }
  return nullptr;
}

std::string explained(const Quantity& quantity) {
  std::string text = fmt::format("{} = {}", quantity.name, quantity.formula);
  if (!quantity.numbers.empty()) text += " = " + quantity.numbers;
  const std::string value =
      quantity.per == 1 ? with_thousands(quantity.value) : fmt::format("{:.1f}", quantity.real());
  return fmt::format("{} = {} {}", text, value, quantity.unit);
}

std::string full_name(const Component& component) {
  return component.stack.empty() ? component.name : fmt::format("{}.{}", component.stack, component.name);
}

std::string explained(const Component& component) {
  std::string text = full_name(component) + " = ";
  if (component.layers > 0) text += fmt::format("{} layers x ", component.layers);
  if (component.copies > 1) text += fmt::format("{} copies x ", component.copies);
  return fmt::format("{}{} = {}", text, fmt::join(component.shape, " x "),
                     with_thousands(component.parameters));
}

std::string byte_text(Int128 bytes) {
  static constexpr const char* binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  static constexpr const char* decimal[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  const double value = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{:.0f} B", value);
  const auto scaled = [value](double step, const char* const(&names)[7]) {
    double rest = value;
    std::size_t at = 0;
    while (rest >= step && at + 1 < 7) {
      rest /= step;
      ++at;
    }
    return fmt::format("{:.4g} {}", rest, names[at]);
  };
  return fmt::format("{} ({})", scaled(1024, binary), scaled(1000, decimal));
}

}  // namespace attnlab

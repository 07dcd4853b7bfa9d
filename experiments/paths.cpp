// How many steps information needs from one position to another, and how many steps must wait for each other.
//
// Who reads whom in one layer is a graph; a breadth-first search over stacked layers finds the longest of all
// shortest paths. Attention needs one layer, a recurrence a step for every position in between, stacked
// dilated convolutions a logarithm, and windows as many layers as windows fit.
//
//   mask of a layer: [seq_len, seq_len], true where a position reads another
//
// Source: Vaswani et al., "Attention Is All You Need" (2017), section 4 and table 1.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "core/mask.hpp"
#include "core/positions.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::vector<std::int64_t> seq_lens = {8, 16, 32, 64, 128};
  std::size_t kernel = 3;
  std::size_t window = 8;
};

void declare(OptionSet& options, Params& p) {
  options.integers("seq-len", p.seq_lens, 2, 512, "lengths of the sequence").short_form('T');
  options.integer("kernel", p.kernel, 2, 64, "positions that a convolution reads at once");
  options.integer("window", p.window, 1, 256, "positions before it that windowed attention reads");
}

/// Who reads whom in layer `layer` of a stack.
using LayerMask = std::function<Mask(std::size_t layer)>;

// Keys at most `left` positions before the query.
Mask window_mask(std::size_t seq_len, std::size_t left) {
  Reach reach;
  reach.causal = true;
  reach.left = static_cast<double>(left);
  return reach_mask(counted_positions(seq_len), counted_positions(seq_len), reach);
}

// A causal convolution whose taps lie `dilation` apart.
Mask convolution_mask(std::size_t seq_len, std::size_t kernel, std::size_t dilation) {
  Mask mask = full_mask(seq_len, seq_len, false);
  for (std::size_t query = 0; query < seq_len; ++query) {
    for (std::size_t tap = 0; tap < kernel && tap * dilation <= query; ++tap)
      mask(query, query - tap * dilation) = true;
  }
  return mask;
}

// Layers until every later position has heard of every earlier one: the longest of all shortest paths.
std::size_t longest_path(std::size_t seq_len, const LayerMask& mask_of) {
  // heard(i, s): position i knows what stood at position s.
  Mask heard = full_mask(seq_len, seq_len, false);
  for (std::size_t i = 0; i < seq_len; ++i) heard(i, i) = true;
  const auto complete = [&] {
    for (std::size_t i = 0; i < seq_len; ++i) {
      for (std::size_t s = 0; s <= i; ++s) {
        if (!heard(i, s)) return false;
      }
    }
    return true;
  };
  std::size_t layers = 0;
  for (; !complete() && layers <= seq_len; ++layers) {
    const Mask mask = mask_of(layers);
    Mask next = heard;
    for (std::size_t i = 0; i < seq_len; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        if (!mask(i, j) || j == i) continue;
        for (std::size_t s = 0; s <= j; ++s) {
          if (heard(j, s)) next(i, s) = true;
        }
      }
    }
    heard = std::move(next);
  }
  return layers;
}

// The longest chain of outputs of one layer of which each waits for the one before: waits_for(i, j) when
// output i cannot be computed before output j.
std::size_t longest_chain(const Mask& waits_for) {
  std::vector<std::size_t> chain(waits_for.shape(0), 1);
  for (std::size_t i = 0; i < chain.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (waits_for(i, j)) chain[i] = std::max(chain[i], chain[j] + 1);
    }
  }
  return *std::max_element(chain.begin(), chain.end());
}

std::size_t whole_logarithm(std::size_t value, std::size_t base) {
  std::size_t layers = 0;
  for (std::size_t reach = 1; reach < value; reach *= base) ++layers;
  return layers;
}

void measure(Report& report, Table& table, const Params& p, std::size_t seq_len, const Context& context) {
  const Mask whole = context.breaks("every-other") ? convolution_mask(seq_len, (seq_len + 1) / 2, 2)
                                                   : causal_mask(seq_len, seq_len);
  const std::size_t step = context.breaks("leaps") ? 3 : 1;
  const Mask previous = window_mask(seq_len, step);
  const Mask window = window_mask(seq_len, p.window * (context.breaks("leaps") ? 2 : 1));
  const auto in_every_layer = [](const Mask& mask) { return [&mask](std::size_t) { return mask; }; };
  const std::size_t attention = longest_path(seq_len, in_every_layer(whole));
  const std::size_t recurrence = longest_path(seq_len, in_every_layer(previous));
  const std::size_t windowed = longest_path(seq_len, in_every_layer(window));
  const bool undilated = context.breaks("undilated");
  std::size_t dilation = 1;
  const std::size_t convolution = longest_path(seq_len, [&](std::size_t layer) {
    if (layer > 0 && !undilated) dilation *= p.kernel;
    return convolution_mask(seq_len, p.kernel, dilation);
  });
  // Attention's outputs read inputs only; a recurrence's output reads the output before it.
  const Mask none = full_mask(seq_len, seq_len, false);
  const std::size_t attention_waits = longest_chain(context.breaks("one-by-one") ? previous : none);
  const std::size_t recurrence_waits = longest_chain(context.breaks("all-at-once") ? none : previous);
  const auto cell = [](std::size_t value) -> Cell { return static_cast<std::int64_t>(value); };
  table.rows.push_back({cell(seq_len), cell(attention), cell(recurrence), cell(convolution), cell(windowed),
                        cell(attention_waits), cell(recurrence_waits)});

  const auto exactly = [&](const char* id, std::size_t got, std::size_t want) {
    report.check({.id = id,
                  .label = fmt::format("{}", seq_len),
                  .measured = static_cast<double>(got),
                  .expected = static_cast<double>(want)});
  };
  exactly("attention-one-step", attention, 1);
  exactly("recurrence", recurrence, seq_len - 1);
  exactly("convolution", convolution, whole_logarithm(seq_len, p.kernel));
  exactly("window", windowed, (seq_len - 1 + p.window - 1) / p.window);
  exactly("attention-waits-for-none", attention_waits, 1);
  exactly("recurrence-waits", recurrence_waits, seq_len);
  const auto longest = *std::max_element(p.seq_lens.begin(), p.seq_lens.end());
  if (seq_len != static_cast<std::size_t>(longest)) return;  // one row about the lesson's word is enough
  report.check(
      {.id = "recurrence-as-printed",
       .label = fmt::format("{}", seq_len),
       .measured = static_cast<double>(recurrence),
       .expected = static_cast<double>(seq_len),
       .near_tolerance = 1,
       .reason = "T - 1 steps lie between the first and the last of T positions; the lesson says T"});
}

Report run(const Params& p, const Context& context) {
  Report report("Paths between positions");
  Table table{
      "paths",
      fmt::format(
          "Longest path between two positions, in layers or steps (convolution of {}, window of {}), and "
          "steps of one layer that wait for each other",
          p.kernel, p.window),
      {{"seq_len"},
       {"attention"},
       {"recurrence"},
       {"dilated_convolution"},
       {"window"},
       {"attention_waits"},
       {"recurrence_waits"}}};
  for (const std::int64_t seq_len : p.seq_lens) {
    measure(report, table, p, static_cast<std::size_t>(seq_len), context);
  }
  report.table(std::move(table));
  report.explain(
      "breadth-first search: in each layer a position hears what those it reads have heard before");
  report.explain(
      fmt::format("closed forms: attention 1, recurrence T - 1, convolution ceil(log_{} T), window "
                  "ceil((T - 1) / {})",
                  p.kernel, p.window));
  report.figure(
      {.name = "paths",
       .title = "Longest path between two positions",
       .kind = FigureKind::line,
       .data = {"paths"},
       .x_column = "seq_len",
       .series = {{"attention"}, {"dilated_convolution", "dilated convolution"}, {"window"}, {"recurrence"}},
       .x_axis = {"length of the sequence", "positions", Scale::log2},
       .y_axis = {"longest path", "steps", Scale::log2},
       .caption =
           "Attention joins any two positions in one step, however long the text. Vaswani et al. 2017, "
           "table 1."});
  return report;
}

}  // namespace

Experiment paths_experiment() {
  return make_experiment<Params>(
      {.name = "paths",
       .title = "Paths between positions",
       .summary = "steps between two positions: attention, recurrence, convolution, window",
       .section = "Attention as soft lookup",
       .source = "Vaswani et al. 2017, section 4 and table 1",
       .purpose = "Searches the graph of who reads whom for the longest path between two positions, and "
                  "counts the steps of "
                  "one layer that must wait for each other.",
       .examples = {"attnlab paths", "attnlab paths --seq-len 8:256:x2 --kernel 2",
                    "attnlab paths --window 32 --format csv"},
       .claims = {{"attention-one-step", "attention joins any two positions in one step"},
                  {"recurrence", "a recurrence needs T - 1 steps from the first position to the last"},
                  {"recurrence-as-printed", "a recurrence needs about T steps"},
                  {"convolution",
                   "dilated convolutions of k taps need the logarithm of T to base k, rounded up"},
                  {"window", "windows of r positions need (T - 1) / r layers, rounded up"},
                  {"attention-waits-for-none", "all positions of an attention layer can be computed at once"},
                  {"recurrence-waits", "the outputs of a recurrence wait for each other, T of them"}},
       .breakages = {{"every-other", "attention reads every other position only"},
                     {"leaps", "a step of the recurrence reaches three positions, a window twice its width"},
                     {"undilated", "the convolutions are not dilated"},
                     {"one-by-one", "attention waits for the output before"},
                     {"all-at-once", "a recurrence waits for nothing"}}},
      declare, run);
}

}  // namespace attnlab::experiments

// Induction heads: trained before the class's eyes, measured, taken out again, and set by hand.
//
// A sequence is a period of random tokens, repeated. Where it repeats, a model can know what comes: it has to
// find an earlier copy of the current token and look one position further. Two layers of attention learn that
// within a few hundred steps, all at once: a head of the first writes each token's predecessor beside it, a
// head of the second matches its own token against those predecessors. One layer cannot: it learns which
// tokens the period holds, and no more.
//
//   tokens: [seq_len]    residual stream: [seq_len, d_model]    weights of each head: [seq_len, seq_len]
//
// Source: Olsson et al., "In-context Learning and Induction Heads" (2022). The layers and their gradients are
// in src/core/backward, model and training in src/core/induction.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/induction/circuit.hpp"
#include "core/induction/model_check.hpp"
#include "core/induction/record.hpp"
#include "core/integer.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "io/attention_model_file.hpp"
#include "lab/bounds.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  ModelShape shape;
  bool causal = true;
  SequenceRule rule;
  std::optional<std::size_t> period;
  std::size_t test_period = 40;
  double learning_rate = TrainingOptions{}.adam.learning_rate;
  std::size_t batch = TrainingOptions{}.batch;
  std::optional<std::size_t> steps, control_steps;
  std::size_t every = 20;
  std::string ablate, save, load;
  bool wire = false;
};

void declare(OptionSet& options, Params& p) {
  options.integer("layers", p.shape.num_layers, 1, 4, "layers of attention; the control has one");
  options.integer("heads", p.shape.num_heads, 1, 16, "heads in a layer");
  options.integer("d-model", p.shape.d_model, 1, 512, "width of the residual stream").short_form('d');
  options.integer("vocabulary", p.shape.vocabulary, 2, 1024, "different tokens");
  options.integer("seq-len", p.shape.seq_len, 4, 256, "tokens of a sequence").short_form('T');
  options.choice<PositionKind>(
      "positions", p.shape.positions,
      {{"shortformer", PositionKind::shortformer},
       {"learned", PositionKind::learned},
       {"rope", PositionKind::rope},
       {"alibi", PositionKind::alibi},
       {"none", PositionKind::none}},
      "shortformer adds them to queries and keys only, learned to the residual stream");
  options.choice<bool>("mask", p.causal, {{"causal", true}, {"none", false}}, "what a position may see");
  options.integer("min-period", p.rule.min_period, 1, 254, "shortest period of the training sequences");
  options.integer("max-period", p.rule.max_period, 1, 254, "longest period of the training sequences");
  options.integer("period", p.period, 1, 254, "train on this one period: the trap");
  options.integer("test-period", p.test_period, 1, 254, "a period to test that training need not have shown");
  options.real("learning-rate", p.learning_rate, 1e-6, 1.0, "of Adam, after a warm-up of 50 steps");
  options.integer("batch", p.batch, 1, 1024, "sequences in a step");
  options.integer("steps", p.steps, 0, 100000, "training steps; 600, or 0 with --load, unless given");
  options.integer("control-steps", p.control_steps, 0, 100000,
                  "training steps of the one-layer control; 1000, or 0 with --load, unless given");
  options.integer("every", p.every, 1, 100000, "steps between two measurements");
  options.text("ablate", p.ablate, "L.H,...", "heads to take out at the end: 2.3, or 1.* for a whole layer");
  options.file("save", p.save, "write the trained weights there, as .safetensors").no_parameter();
  options.file("load", p.load, "start from weights that --save wrote; their architecture counts");
  options.flag("wire", p.wire, "no training: the circuit set by hand");
}

constexpr std::size_t num_test_sequences = 128;
constexpr std::size_t most_maps = 16;  // heads shown as heat maps

/// The setting for which the claims about training are made; thresholds hold for it at any seed.
bool is_recipe(const Params& p) {
  const Params d;
  return p.shape.num_layers == 2 && p.shape.vocabulary == d.shape.vocabulary &&
         p.shape.seq_len == d.shape.seq_len && p.shape.positions == d.shape.positions && p.causal &&
         p.rule.min_period == d.rule.min_period && p.rule.max_period == d.rule.max_period &&
         p.batch == d.batch && p.learning_rate >= 2e-3 && p.learning_rate <= 4e-3 && p.load.empty();
}

// --ablate: "1.*,2.3" with layers and heads counted from 1.
Ablation parse_ablation(const std::string& text, const ModelShape& shape) {
  Ablation ablation(shape.num_layers, std::vector<bool>(shape.num_heads));
  for (const std::string_view item : split(text, ',')) {
    const std::vector<std::string_view> parts = split(item, '.');
    if (parts.size() != 2)
      throw Error(ErrorKind::usage, fmt::format("--ablate: {} is not LAYER.HEAD, as 2.3 or 1.*", item));
    const auto layers = static_cast<std::int64_t>(shape.num_layers);
    const auto heads = static_cast<std::int64_t>(shape.num_heads);
    const std::int64_t first_layer = parts[0] == "*" ? 1 : parse_integer(parts[0], "--ablate", 1, layers);
    const std::int64_t last_layer = parts[0] == "*" ? layers : first_layer;
    const std::int64_t first_head = parts[1] == "*" ? 1 : parse_integer(parts[1], "--ablate", 1, heads);
    const std::int64_t last_head = parts[1] == "*" ? heads : first_head;
    for (std::int64_t layer = first_layer; layer <= last_layer; ++layer)
      for (std::int64_t head = first_head; head <= last_head; ++head)
        ablation[static_cast<std::size_t>(layer - 1)][static_cast<std::size_t>(head - 1)] = true;
  }
  return ablation;
}

// Tables and pictures

Cell count_cell(std::size_t value) { return static_cast<std::int64_t>(value); }

Table head_table(const Evaluation& evaluation) {
  Table table{"heads",
              "Heads at the end",
              {{"layer"}, {"head"}, {"previous_token"}, {"prefix_matching"}, {"strict_induction"}}};
  for (std::size_t layer = 0; layer < evaluation.heads.size(); ++layer) {
    for (std::size_t head = 0; head < evaluation.heads[layer].size(); ++head) {
      const HeadScores& scores = evaluation.heads[layer][head];
      table.rows.push_back({count_cell(layer + 1), count_cell(head + 1), scores.previous_token,
                            scores.prefix_matching, scores.strict_induction});
    }
  }
  return table;
}

// Heat maps of the heads on one sequence; returns the grids' names.
std::vector<std::string> add_maps(Report& report, const std::string& when, const ModelShape& shape,
                                  const std::vector<std::vector<Matrix>>& maps) {
  std::vector<std::string> names;
  for (std::size_t layer = 0; layer < shape.num_layers; ++layer) {
    for (std::size_t head = 0; head < shape.num_heads && names.size() < most_maps; ++head) {
      Grid grid{fmt::format("{}-{}-{}", when, layer + 1, head + 1),
                fmt::format("Layer {}, head {}, {} training", layer + 1, head + 1, when),
                to_array(maps[layer][head]),
                {"query position", "key position"}};
      if (shape.causal) {
        for (std::size_t i = 0; i < shape.seq_len; ++i)
          for (std::size_t j = 0; j < shape.seq_len; ++j) grid.hidden.push_back(j > i);
      }
      names.push_back(grid.name);
      report.data(std::move(grid));
    }
  }
  return names;
}

void add_map_figure(Report& report, const std::string& name, const std::string& title,
                    std::vector<std::string> grids) {
  report.figure({.name = name,
                 .title = title,
                 .kind = FigureKind::heat_map,
                 .data = std::move(grids),
                 .x_axis = {"key position"},
                 .y_axis = {"query position"},
                 .domain = {{0, 1}},
                 .caption =
                     "A previous-token head is the line below the diagonal; an induction head the lines one "
                     "position right of earlier copies. Olsson et al. 2022."});
}

// The circuit set by hand

void check_wire(Report& report, const Context& context, ThreadPool& threads, bool show) {
  const SequenceRule rule{.distinct = true};
  Generator rng = context.rng();
  const std::vector<RepeatedSequence> sequences = draw_sequences(rng, rule, context.slow ? 64 : 8);
  const HandSetModel circuit =
      induction_circuit(rule.vocabulary, rule.seq_len, !context.breaks("no-previous-token"));
  const HandSetModel control =
      induction_circuit(rule.vocabulary, rule.seq_len, context.breaks("two-layer-control"));
  const Evaluation copied = evaluate(circuit.shape, circuit.weights, sequences, threads);
  Ablation first_layer = parse_ablation("1.*", circuit.shape);
  if (context.breaks("nothing-ablated")) first_layer.clear();
  const Evaluation silenced = evaluate(circuit.shape, circuit.weights, sequences, threads, first_layer);
  const Evaluation guessed = evaluate(control.shape, control.weights, sequences, threads);
  const double matching = copied.best(&HeadScores::prefix_matching, circuit.shape.num_layers - 1);
  report.check(
      {.id = "wire-matches", .measured = matching, .relation = Relation::at_least, .expected = 0.99});
  report.check({.id = "wire-copies", .measured = copied.repeated_accuracy, .expected = 1.0});
  const double chance = 1.0 / static_cast<double>(rule.min_period);
  report.check({.id = "wire-ablation",
                .measured = silenced.repeated_accuracy,
                .relation = Relation::at_most,
                .expected = chance});
  report.check({.id = "wire-control",
                .measured = guessed.repeated_accuracy,
                .relation = Relation::at_most,
                .expected = chance});
  if (!show) return;
  report.line("Two layers set by hand, one head each: previous token, then match and copy.");
  Table table{"circuit",
              "Repeated part of sequences with distinct tokens",
              {{"circuit"}, {"accuracy"}, {"loss_nats"}, {"prefix_matching"}}};
  table.rows.push_back({"both layers", copied.repeated_accuracy, copied.repeated_loss, matching});
  table.rows.push_back({"first head silenced", silenced.repeated_accuracy, silenced.repeated_loss,
                        silenced.best(&HeadScores::prefix_matching, circuit.shape.num_layers - 1)});
  table.rows.push_back({"second layer alone", guessed.repeated_accuracy, guessed.repeated_loss,
                        guessed.best(&HeadScores::prefix_matching, control.shape.num_layers - 1)});
  report.table(std::move(table));
  report.table(head_table(copied));
  add_map_figure(report, "maps", "The circuit set by hand",
                 add_maps(report, "without", circuit.shape,
                          attention_maps(circuit.shape, circuit.weights, sequences.front().tokens)));
}

// Training

/// A model in training with what was measured on the way.
struct Run {
  ModelShape shape;
  ModelWeights<float> weights;
  std::vector<RecordPoint> record;

  const Evaluation& last() const { return record.back().evaluation; }
  /// What was measured last at or before a step.
  const Evaluation& at(std::size_t step) const {
    const RecordPoint* found = &record.front();
    for (const RecordPoint& point : record)
      if (point.step <= step) found = &point;
    return found->evaluation;
  }
};

/// Everything about a demonstration that the options and the kind of run decide.
struct Setting {
  ModelShape shape;
  SequenceRule rule;
  TrainingOptions training;
  std::size_t steps = 0;
  std::size_t control_steps = 0;
  std::size_t every = 0;
  std::size_t test_sequences = num_test_sequences;
};

Setting setting_of(const Params& p, const Context& context, const std::optional<StoredModel>& loaded) {
  Setting s;
  s.shape = loaded ? loaded->shape : p.shape;
  s.rule = p.rule;
  if (!loaded) s.shape.causal = p.causal;
  if (context.breaks("no-previous-token")) s.shape.num_layers = 1;
  s.rule.vocabulary = s.shape.vocabulary;
  s.rule.seq_len = s.shape.seq_len;
  if (p.period) s.rule.min_period = s.rule.max_period = *p.period;
  check_rule(s.rule);
  s.training.batch = p.batch;
  s.training.adam.learning_rate = p.learning_rate;
  s.steps = p.steps.value_or(loaded ? 0 : 600);
  s.control_steps = p.control_steps.value_or(loaded ? 0 : 1000);
  s.every = p.every;
  if (!context.slow) {  // enough to run every line
    s.steps = std::min<std::size_t>(s.steps, 10);
    s.control_steps = std::min<std::size_t>(s.control_steps, 10);
    s.test_sequences = 8;
  }
  return s;
}

Run train(const Setting& s, const ModelShape& shape, std::size_t steps, ModelWeights<float> weights,
          Generator rng, const std::vector<RepeatedSequence>& sequences, ThreadPool& threads,
          const std::function<void(const RecordPoint&)>& progress) {
  Trainer trainer(shape, s.rule, s.training, std::move(weights), std::move(rng), threads);
  std::vector<RecordPoint> record =
      train_and_record(trainer, shape, steps, s.every, sequences, threads, progress);
  return {shape, std::move(trainer.weights()), std::move(record)};
}

// One row for each measured step; the shorter of the two runs leaves its cells empty.
Table curve_table(const Run& model, const Run& control, double guess, double bag) {
  Table table{"curve",
              "While training",
              {{"step"},
               {"first_loss", "nats"},
               {"repeated_loss", "nats"},
               {"control_loss", "nats"},
               {"previous_token"},
               {"prefix_matching"},
               {"strict_induction"},
               {"guess_loss", "nats"},
               {"bag_loss", "nats"}}};
  const Run& longer = model.record.size() >= control.record.size() ? model : control;
  const auto point_at = [](const Run& run, std::size_t step) -> const Evaluation* {
    for (const RecordPoint& point : run.record)
      if (point.step == step) return &point.evaluation;
    return nullptr;
  };
  const std::size_t last_layer = model.shape.num_layers - 1;
  for (const RecordPoint& point : longer.record) {
    std::vector<Cell> row(9);
    row[0] = count_cell(point.step);
    if (const Evaluation* at = point_at(model, point.step)) {
      row[1] = at->first_loss;
      row[2] = at->repeated_loss;
      row[4] = at->best(&HeadScores::previous_token, 0);
      row[5] = at->best(&HeadScores::prefix_matching, last_layer);
      row[6] = at->best(&HeadScores::strict_induction, last_layer);
    }
    if (const Evaluation* at = point_at(control, point.step)) row[3] = at->repeated_loss;
    row[7] = guess;
    row[8] = bag;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// About ten rows of the curve, for readers.
Table milestones(const Table& curve) {
  Table table{"milestones", curve.title, {curve.columns.begin(), curve.columns.begin() + 7}};
  const std::size_t stride = std::max<std::size_t>(1, (curve.rows.size() + 9) / 10);
  for (std::size_t i = 0; i < curve.rows.size(); ++i)
    if (i % stride == 0 || i + 1 == curve.rows.size())
      table.rows.push_back({curve.rows[i].begin(), curve.rows[i].begin() + 7});
  return table;
}

Table head_curve_table(const Run& model) {
  Table table{"head-curve",
              "Every head while training",
              {{"step"}, {"layer"}, {"head"}, {"previous_token"}, {"prefix_matching"}, {"strict_induction"}}};
  for (const RecordPoint& point : model.record) {
    for (std::vector<Cell>& row : head_table(point.evaluation).rows) {
      row.insert(row.begin(), count_cell(point.step));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

void add_curve_figures(Report& report) {
  report.figure({.name = "loss",
                 .title = "Loss on the first and on the repeated part",
                 .data = {"curve"},
                 .x_column = "step",
                 .series = {{"first_loss", "first part"},
                            {"repeated_loss", "repeated part"},
                            {"control_loss", "repeated part, one layer"},
                            {"guess_loss", "a guess: ln of the vocabulary", "", true},
                            {"bag_loss", "the period's tokens, not their order", "", true}},
                 .x_axis = {"training step"},
                 .y_axis = {"loss", "nats"},
                 .caption =
                     "The repeated loss falls all at once when the circuit has formed; with one layer it "
                     "stops at the tokens of the period. Olsson et al. 2022."});
  report.figure({.name = "scores",
                 .title = "The two halves of the circuit",
                 .data = {"curve"},
                 .x_column = "step",
                 .series = {{"previous_token", "previous token, best head of layer 1"},
                            {"prefix_matching", "prefix matching, best head of the last layer"}},
                 .x_axis = {"training step"},
                 .y_axis = {"attention weight"},
                 .domain = {{0, 1}},
                 .caption = "Both rise together, each making the other worth learning. Olsson et al. 2022."});
}

// Taking heads out

/// The heads of layer 1 as --ablate takes them: those that look back one token more than the layer's average,
/// and the others.
struct FirstLayer {
  std::string looking_back, others;
};

FirstLayer first_layer_of(const Run& model) {
  const std::vector<HeadScores>& heads = model.last().heads.front();
  double average = 0;
  for (const HeadScores& head : heads) average += head.previous_token / static_cast<double>(heads.size());
  FirstLayer layer;
  for (std::size_t head = 0; head < heads.size(); ++head) {
    std::string& side = heads[head].previous_token > average ? layer.looking_back : layer.others;
    side += fmt::format("{}1.{}", side.empty() ? "" : ",", head + 1);
  }
  return layer;
}

Ablation ablation_of(const std::string& text, const ModelShape& shape, const Context& context) {
  Ablation ablation = parse_ablation(text, shape);
  if (context.breaks("nothing-ablated")) ablation.clear();
  return ablation;
}

/// Losses and matching without some heads.
struct Without {
  std::string heads;
  Evaluation evaluation;
};

std::vector<Without> ablations(const Params& p, const Run& model,
                               const std::vector<RepeatedSequence>& sequences, ThreadPool& threads,
                               const Context& context) {
  std::vector<std::string> texts{"1.*"};
  for (std::size_t layer = 1; layer <= model.shape.num_layers; ++layer)
    for (std::size_t head = 1; head <= model.shape.num_heads; ++head)
      texts.push_back(fmt::format("{}.{}", layer, head));
  const FirstLayer first = first_layer_of(model);
  if (!first.looking_back.empty()) texts.insert(texts.end(), {first.looking_back, first.others});
  if (!p.ablate.empty()) texts.insert(texts.begin(), p.ablate);
  std::vector<Without> results;
  for (const std::string& text : texts) {
    const Ablation ablation = ablation_of(text, model.shape, context);
    results.push_back({text, evaluate(model.shape, model.weights, sequences, threads, ablation)});
  }
  return results;
}

Table ablation_table(const Run& model, const std::vector<Without>& results) {
  Table table{"ablation",
              "Repeated part with heads taken out (layer.head)",
              {{"without"}, {"repeated_loss", "nats"}, {"prefix_matching"}}};
  const std::size_t last = model.shape.num_layers - 1;
  const auto add = [&](const std::string& heads, const Evaluation& evaluation) {
    table.rows.push_back(
        {heads, evaluation.repeated_loss, evaluation.best(&HeadScores::prefix_matching, last)});
  };
  add("nothing", model.last());
  for (const Without& result : results) add(result.heads, result.evaluation);
  return table;
}

Table period_table(const Params& p, const Setting& s, const Evaluation& model, const Evaluation& control,
                   const Evaluation& unseen, const Evaluation& control_unseen) {
  Table table{
      "periods",
      "Repeated part at the periods of training and at another",
      {{"period"}, {"repeated_loss", "nats"}, {"accuracy"}, {"control_loss", "nats"}, {"control_accuracy"}}};
  const auto add = [&](const std::string& period, const Evaluation& two, const Evaluation& one) {
    table.rows.push_back(
        {period, two.repeated_loss, two.repeated_accuracy, one.repeated_loss, one.repeated_accuracy});
  };
  add(s.rule.min_period == s.rule.max_period ? fmt::format("{}", s.rule.min_period)
                                             : fmt::format("{} to {}", s.rule.min_period, s.rule.max_period),
      model, control);
  add(fmt::format("{}", p.test_period), unseen, control_unseen);
  return table;
}

// Claims

double step_or_nan(const std::optional<std::size_t>& step) {
  return step ? static_cast<double>(*step) : std::numeric_limits<double>::quiet_NaN();
}

const Evaluation& without(const std::vector<Without>& results, const std::string& heads) {
  for (const Without& result : results)
    if (result.heads == heads) return result.evaluation;
  throw Error(ErrorKind::fault, "induction: no ablation of " + heads);
}

// What it costs more to take out the heads of layer 1 that look back than to take out the others, over parts
// of the test sequences.
void check_previous_token_heads(Report& report, const Run& model,
                                const std::vector<RepeatedSequence>& sequences, ThreadPool& threads,
                                const Context& context) {
  const FirstLayer first = first_layer_of(model);
  if (first.looking_back.empty()) return;
  constexpr std::size_t num_parts = 8;
  const std::size_t length = sequences.size() / num_parts;
  Vector differences = zeros(num_parts);
  for (std::size_t part = 0; part < num_parts; ++part) {
    const std::span<const RepeatedSequence> some =
        std::span<const RepeatedSequence>(sequences).subspan(part * length, length);
    const auto loss_without = [&](const std::string& heads) {
      const Ablation ablation = ablation_of(heads, model.shape, context);
      return evaluate(model.shape, model.weights, some, threads, ablation).repeated_loss;
    };
    differences(part) = loss_without(first.looking_back) - loss_without(first.others);
  }
  const double error = standard_error(elements(differences));
  report.check({.id = "previous-token-heads",
                .measured = mean(elements(differences)),
                .relation = Relation::at_least,
                .expected = std::max(4 * error, beyond_rounding),
                .standard_error = error});
}

void check_training(Report& report, const Params& p, const Setting& s, const Run& model, const Run& control,
                    const std::vector<Without>& results, const Evaluation& unseen,
                    const Evaluation& control_unseen) {
  const bool varied = !p.period && is_recipe(p);
  const std::size_t last_layer = model.shape.num_layers - 1;
  const Relation at_most = Relation::at_most;
  const Relation at_least = Relation::at_least;
  if (varied && s.steps >= 500) {
    const double drop = step_or_nan(first_step_below(model.record, 2.0));
    const double rise = step_or_nan(first_step_matching(model.record, last_layer, 0.5));
    const double matching = model.last().best(&HeadScores::prefix_matching, last_layer);
    report.value("drop_step", drop).value("rise_step", rise);
    report.check(
        {.id = "drop", .measured = model.at(500).repeated_loss, .relation = at_most, .expected = 1.5});
    report.check({.id = "together", .measured = std::abs(drop - rise), .relation = at_most, .expected = 100});
    report.check({.id = "matching", .measured = matching, .relation = at_least, .expected = 0.8});
    const Evaluation& beheaded = without(results, "1.*");
    report.check(
        {.id = "ablation", .measured = beheaded.repeated_loss, .relation = at_least, .expected = 2.5});
    report.check(
        {.id = "unseen-period", .measured = unseen.repeated_loss, .relation = at_most, .expected = 1.5});
  }
  if (varied && s.control_steps >= 1000)
    report.check(
        {.id = "control", .measured = control.at(1000).repeated_loss, .relation = at_least, .expected = 2.5});
  if (p.period && is_recipe(p) && s.control_steps >= 1000) {
    const double score = control.last().best(&HeadScores::strict_induction, 0);
    report.check({.id = "trap-score", .measured = score, .relation = at_least, .expected = 0.9});
    if (p.test_period != *p.period)
      report.check({.id = "trap-unseen",
                    .measured = control_unseen.repeated_loss,
                    .relation = at_least,
                    .expected = 2.5});
  }
  if (!p.causal && s.steps >= 500)
    report.check(
        {.id = "no-mask", .measured = model.last().first_loss, .relation = at_most, .expected = 1.0});
}

std::vector<RepeatedSequence> test_sequences_of(const Setting& s, std::size_t period, Generator rng) {
  SequenceRule rule = s.rule;
  if (period > 0) rule.min_period = rule.max_period = period;
  check_rule(rule);
  return draw_sequences(rng, rule, s.test_sequences);
}

Report run(const Params& p, const Context& context) {
  Report report("Induction heads");
  if (p.wire && !(p.ablate.empty() && p.save.empty() && p.load.empty()))
    throw Error(ErrorKind::usage, "--wire trains nothing: leave out --ablate, --save and --load");
  const bool forget = context.breaks("forgotten-gradient");
  report.check({.id = "gradients",
                .measured = worst_model_gradient_error(p.shape.positions, p.causal, context.rng(), forget),
                .relation = Relation::at_most,
                .expected = 1e-6});
  ThreadPool threads(static_cast<std::size_t>(context.threads));
  check_wire(report, context, threads, p.wire);
  if (p.wire) return report;

  std::optional<StoredModel> loaded;
  if (!p.load.empty()) loaded = load_model(p.load);
  const Setting s = setting_of(p, context, loaded);
  if (!p.ablate.empty()) parse_ablation(p.ablate, s.shape);  // refused before the training, not after it
  const std::vector<Generator> rngs =
      context.rng().spawn(6);  // each part draws the same whatever the others do
  const std::vector<RepeatedSequence> sequences = test_sequences_of(s, 0, rngs[0]);
  const std::vector<RepeatedSequence> unseen_sequences = test_sequences_of(s, p.test_period, rngs[1]);
  ModelShape control_shape = s.shape;
  control_shape.num_layers = context.breaks("two-layer-control") ? 2 : 1;

  Generator weights_rng = rngs[2];
  Generator control_weights_rng = rngs[3];
  ModelWeights<float> weights = loaded ? std::move(loaded->weights) : random_weights(s.shape, weights_rng);
  const std::vector<int>& shown = sequences.front().tokens;
  const std::vector<std::vector<Matrix>> maps_before = attention_maps(s.shape, weights, shown);
  const double all_steps = std::max(1.0, static_cast<double>(s.steps + s.control_steps));
  const auto told = [&](const char* what, std::size_t done) {
    return [&context, what, done, all_steps](const RecordPoint& point) {
      context.progress(
          static_cast<double>(done + point.step) / all_steps,
          fmt::format("{}, step {}: repeated loss {:.2f}", what, point.step, point.evaluation.repeated_loss));
    };
  };
  const Run model =
      train(s, s.shape, s.steps, std::move(weights), rngs[4], sequences, threads, told("model", 0));
  const Run control =
      train(s, control_shape, s.control_steps, random_weights(control_shape, control_weights_rng), rngs[5],
            sequences, threads, told("one-layer control", s.steps));
  if (!p.save.empty()) save_model(p.save, model.shape, model.weights);

  const double guess = std::log(static_cast<double>(s.shape.vocabulary));
  const double bag = bag_of_tokens_loss(s.rule);
  const Table curve = curve_table(model, control, guess, bag);
  report.line(fmt::format(
      "{} layers of {} heads, {} weights; periods {} to {}; {} steps, the one-layer control {}",
      s.shape.num_layers, s.shape.num_heads, with_thousands(static_cast<Int128>(model.weights.values.size())),
      s.rule.min_period, s.rule.max_period, s.steps, s.control_steps));
  report.line(fmt::format(
      "a guess costs {:.3f} nats; knowing the tokens of the period but not their order {:.3f}", guess, bag));
  report.data(curve);
  report.table(milestones(curve));
  report.table(head_table(model.last()));
  const std::vector<Without> results = ablations(p, model, sequences, threads, context);
  report.table(ablation_table(model, results));

  const Evaluation unseen = evaluate(model.shape, model.weights, unseen_sequences, threads);
  const Evaluation control_unseen = evaluate(control.shape, control.weights, unseen_sequences, threads);
  report.table(period_table(p, s, model.last(), control.last(), unseen, control_unseen));
  report.data(head_curve_table(model));
  add_curve_figures(report);
  add_map_figure(report, "before", "Attention before training",
                 add_maps(report, "before", s.shape, maps_before));
  add_map_figure(report, "after", "Attention after training",
                 add_maps(report, "after", model.shape, attention_maps(model.shape, model.weights, shown)));
  check_training(report, p, s, model, control, results, unseen, control_unseen);
  if (!p.period && is_recipe(p) && s.steps >= 500)
    check_previous_token_heads(report, model, sequences, threads, context);
  return report;
}

}  // namespace

Experiment induction_experiment() {
  return make_experiment<Params>(
      {.name = "induction",
       .title = "Induction heads",
       .summary = "heads that find an earlier copy and say what followed, trained in seconds",
       .section = "Multi-head attention",
       .source = "Olsson et al. 2022",
       .purpose = "Trains a small attention-only transformer on random tokens that repeat, and a one-layer "
                  "control, and "
                  "shows when the loss on the repeated part falls, which heads do it, what happens without "
                  "them, and a "
                  "period that training never showed. --wire sets the circuit by hand instead; --period 32 "
                  "shows a trap: "
                  "with one period only, a single layer learns to look 31 back, which is no induction.",
       .examples = {"attnlab induction", "attnlab induction --wire",
                    "attnlab induction --ablate 1.* --save heads.safetensors"},
       .claims = {{"gradients", "every gradient by hand agrees with finite differences in double"},
                  {"wire-matches", "the matching head set by hand looks only where its token came before"},
                  {"wire-copies", "the circuit set by hand copies every repeated token"},
                  {"wire-ablation", "with its previous-token head silenced it does no better than a guess"},
                  {"wire-control",
                   "the matching head alone, with no predecessors to match, does no better than a guess"},
                  {"drop", "with two layers the repeated loss is below 1.5 nats at step 500", "", true},
                  {"together", "prefix matching rises within 100 steps of the drop", "", true},
                  {"matching", "a head of the last layer matches prefixes with more than 0.8 of its weight",
                   "", true},
                  {"ablation", "without the heads of layer 1 nothing is copied", "", true},
                  {"unseen-period", "a period that training never showed is copied too", "", true},
                  {"control", "with one layer the repeated loss stays above 2.5 nats at step 1000", "", true},
                  {"previous-token-heads",
                   "taking out the heads of layer 1 that look back a token costs more than taking out the "
                   "others, by "
                   "more than four standard errors",
                   "", true},
                  {"trap-score", "with --period a single layer scores like an induction head", "", true},
                  {"trap-unseen", "and copies nothing at another period: it looks a fixed distance back", "",
                   true},
                  {"no-mask",
                   "without the causal mask the model reads the next token instead of predicting it", "",
                   true}},
       .breakages = {{"forgotten-gradient", "the gradient of the first layer's keys is forgotten"},
                     {"no-previous-token", "the model and the circuit set by hand lack their first layer"},
                     {"two-layer-control", "the control has two layers as well"},
                     {"nothing-ablated", "the heads to be taken out stay in"}},
       .any_threads = true},
      declare, run);
}

}  // namespace attnlab::experiments

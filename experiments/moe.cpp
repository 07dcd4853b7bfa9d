// Mixture of experts: a router sends each token to a few of many feed-forward layers.
//
// Parameters grow with the number of experts, the work of a token only with how many it visits. A router that
// favours no expert still loads them unevenly by chance: loads are binomial, and what exceeds an expert's
// capacity is dropped. The balance loss E * sum_i f_i P_i (f the share of tokens, P the mean probability) is
// 1 at balance.
//
//   logits: [tokens, experts]    weights: [tokens, chosen]
//
// Source: Shazeer et al., "Outrageously Large Neural Networks" (2017); Fedus, Zoph and Shazeer, "Switch
// Transformers" (2021), section 2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/feed_forward.hpp"
#include "core/moe.hpp"
#include "core/softmax.hpp"
#include "core/statistics.hpp"
#include "experiments/all.hpp"
#include "lab/counted_model.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  std::size_t tokens = 4096;
  std::vector<std::int64_t> experts = {8, 64};
  std::vector<std::int64_t> chosen = {1, 2};
  std::size_t draws = 4;
  double bias = 3;
};

void declare(OptionSet& options, Params& p) {
  options.integer("num-tokens", p.tokens, 16, 1 << 17, "tokens of a batch");
  options.integers("experts", p.experts, 2, 1024, "numbers of experts");
  options.integers("chosen", p.chosen, 1, 64, "experts that a token visits");
  options.integer("draws", p.draws, 2, 1000, "random routers to average over");
  options.real("bias", p.bias, 0, 20, "what the unbalanced router adds to the first expert's logit");
}

Matrix draw_logits(Generator& rng, std::size_t tokens, std::size_t experts, double bias_of_first) {
  Matrix logits = normal_matrix(rng, tokens, experts);
  for (std::size_t t = 0; t < tokens; ++t) logits(t, 0) += bias_of_first;
  return logits;
}

std::vector<std::int64_t> loads_of(const Routing& routing, std::size_t experts) {
  std::vector<std::int64_t> loads(experts, 0);
  for (const std::vector<std::size_t>& chosen : routing.experts) {
    for (const std::size_t expert : chosen) ++loads[expert];
  }
  return loads;
}

// P_i: the mean probability of each expert.
std::vector<double> mean_probabilities(const Matrix& logits) {
  const Matrix probabilities = softmax(logits);
  std::vector<double> mean(logits.shape(1), 0);
  for (std::size_t t = 0; t < logits.shape(0); ++t) {
    for (std::size_t expert = 0; expert < mean.size(); ++expert)
      mean[expert] += probabilities(t, expert) / static_cast<double>(logits.shape(0));
  }
  return mean;
}

// What chance adds to the balance loss of so few tokens, at most, on average: the experts that a token visits
// are those it finds likely, so f_i and P_i rise together, by (E m - 1) / N in all, where m is the mean of a
// token's largest probability.
double loss_by_chance(const Matrix& logits) {
  const Matrix probabilities = softmax(logits);
  const auto tokens = static_cast<double>(logits.shape(0));
  double largest = 0;
  for (std::size_t t = 0; t < logits.shape(0); ++t) {
    const auto row = row_of(probabilities, t);
    largest += *std::max_element(row.begin(), row.end()) / tokens;
  }
  return (static_cast<double>(logits.shape(1)) * largest - 1) / tokens;
}

// E * sum_i f_i P_i, with f_i the expert's share of all visits.
double balance_loss(const std::vector<double>& probabilities, const std::vector<std::int64_t>& loads) {
  double visits = 0;
  double sum = 0;
  for (std::size_t expert = 0; expert < loads.size(); ++expert) {
    visits += static_cast<double>(loads[expert]);
    sum += static_cast<double>(loads[expert]) * probabilities[expert];
  }
  return static_cast<double>(loads.size()) * sum / visits;
}

double dropped_share(const std::vector<std::int64_t>& loads, double capacity) {
  double over = 0;
  double all = 0;
  for (const std::int64_t load : loads) {
    over += std::max(static_cast<double>(load) - capacity, 0.0);
    all += static_cast<double>(load);
  }
  return over / all;
}

// How the experts' loads spread when chance alone decides: each is binomial(tokens, chosen / experts).
struct Chance {
  double mean, deviation, dropped_error;
  double dropped;  // at a capacity of exactly the mean
};

Chance chance_of(std::size_t tokens, std::size_t experts, std::size_t chosen) {
  const auto n = static_cast<double>(tokens);
  const double p = static_cast<double>(chosen) / static_cast<double>(experts);
  const double mean = n * p;
  // De Moivre: the mean excess of a binomial over its mean is (1 - p)^(n - m) p^(m + 1) (m + 1) C(n, m + 1),
  // m the mean rounded down.
  const double m = std::floor(mean);
  const double log_excess = (n - m) * std::log1p(-p) + (m + 1) * std::log(p) + std::log(m + 1) +
                            std::lgamma(n + 1) - std::lgamma(m + 2) - std::lgamma(n - m);
  const double deviation = std::sqrt(mean * (1 - p));
  // Loads are nearly normal with correlation -1 / (E - 1), so a sum of their magnitudes has this variance.
  const auto count = static_cast<double>(experts);
  const double spread = count * (1 - 2 / std::numbers::pi + 1 / (std::numbers::pi * (count - 1)));
  return {mean, deviation, deviation * std::sqrt(spread) / (2 * n * static_cast<double>(chosen)),
          std::exp(log_excess) / mean};
}

Table load_table(const Params& p, const Context& context, Report& report) {
  Table table{"balance",
              "Loads under a router that favours none",
              {{"experts"},
               {"chosen"},
               {"balance_loss"},
               {"load_variation"},
               {"load_variation_binomial"},
               {"dropped_at_1"},
               {"dropped_at_1_binomial"},
               {"dropped_at_1.25"}}};
  Generator rng = context.rng();
  const double hidden_bias = context.breaks("biased-router") ? 1 : 0;
  for (const std::int64_t count : p.experts) {
    const auto experts = static_cast<std::size_t>(count);
    std::vector<Matrix> logits;
    std::vector<std::vector<double>> probabilities;
    for (std::size_t draw = 0; draw < p.draws; ++draw) {
      logits.push_back(draw_logits(rng, p.tokens, experts, hidden_bias));
      probabilities.push_back(mean_probabilities(logits.back()));
    }
    for (const std::int64_t visits : p.chosen) {
      const auto chosen = static_cast<std::size_t>(visits);
      if (chosen >= experts) continue;
      const Chance chance = chance_of(p.tokens, experts, chosen);
      double loss = 0, squares = 0, dropped = 0, dropped_later = 0;
      const auto draws = static_cast<double>(p.draws);
      for (std::size_t draw = 0; draw < p.draws; ++draw) {
        const std::vector<std::int64_t> loads = loads_of(route(logits[draw], chosen, true), experts);
        loss += balance_loss(probabilities[draw], loads) / draws;
        dropped += dropped_share(loads, chance.mean) / draws;
        dropped_later += dropped_share(loads, 1.25 * chance.mean) / draws;
        for (const std::int64_t load : loads) {
          const double off = static_cast<double>(load) - chance.mean;
          squares += off * off / static_cast<double>(experts) / draws;
        }
      }
      table.rows.push_back({count, visits, loss, std::sqrt(squares) / chance.mean,
                            chance.deviation / chance.mean, dropped, chance.dropped, dropped_later});
      const std::string label = fmt::format("{}-of-{}", visits, count);
      report.check({.id = "balance-loss",
                    .label = label,
                    .measured = loss,
                    .expected = 1,
                    .tolerance = std::max(0.01, 4 * loss_by_chance(logits.front()))});
      // The squares of nearly normal loads that must sum to zero: chi-squared with E - 1 degrees of freedom,
      // whose cube root is nearly normal (Wilson and Hilferty 1931).
      const double freedom = static_cast<double>(experts - 1) * draws;
      const double error = std::sqrt(2 / (9 * freedom));
      report.check({.id = "binomial-loads",
                    .label = label,
                    .measured = std::cbrt(squares / (chance.deviation * chance.deviation)),
                    .expected = 1 - 2 / (9 * freedom),
                    .tolerance = 4 * error,
                    .standard_error = error});
      const double dropped_error = chance.dropped_error / std::sqrt(draws);
      report.check({.id = "dropped",
                    .label = label,
                    .measured = dropped,
                    .expected = chance.dropped,
                    .tolerance = 4 * dropped_error,
                    .standard_error = dropped_error});
    }
  }
  return table;
}

// The chance that a normal shifted by `bias` is the largest of `experts`: the integral of its density times
// Phi(z + bias)^(experts - 1).
double share_of_favoured(double bias, std::size_t experts) {
  constexpr int steps = 4000;
  constexpr double reach = 10;
  const double width = 2 * reach / steps;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double z = -reach + i * width;
    const double below = 0.5 * std::erfc(-(z + bias) / std::numbers::sqrt2);
    sum += std::exp(-0.5 * z * z) * std::pow(below, static_cast<double>(experts - 1));
  }
  return sum * width / std::sqrt(2 * std::numbers::pi);
}

Table biased_table(const Params& p, const Context& context, Report& report) {
  const auto experts = static_cast<std::size_t>(p.experts.front());
  Generator rng = context.rng();
  const Matrix logits = draw_logits(rng, p.tokens, experts, context.breaks("fair-router") ? 0 : p.bias);
  const std::vector<std::int64_t> loads = loads_of(route(logits, 1, true), experts);
  const double capacity = 1.25 * static_cast<double>(p.tokens) / static_cast<double>(experts);
  Table table{
      "load", "Tokens an expert under a router that favours the first", {{"expert"}, {"load"}, {"capacity"}}};
  for (std::size_t expert = 0; expert < experts; ++expert)
    table.rows.push_back({static_cast<std::int64_t>(expert), loads[expert], capacity});
  const double share = static_cast<double>(loads[0]) / static_cast<double>(p.tokens);
  const double expected = share_of_favoured(p.bias, experts);
  const double error = std::sqrt(expected * (1 - expected) / static_cast<double>(p.tokens));
  const double loss = balance_loss(mean_probabilities(logits), loads);
  report.line(
      fmt::format("one logit raised by {}: {:.1f} % of the tokens to one expert, balance loss {:.2f}, {:.1f} "
                  "% dropped at 1.25",
                  p.bias, 100 * share, loss, 100 * dropped_share(loads, capacity)));
  report.check({.id = "collapse",
                .measured = share,
                .expected = expected,
                .tolerance = 4 * error,
                .standard_error = error});
  if (p.bias == 3 && experts == 8) {
    // Of 400 draws of 4,096 tokens in NumPy 1.24: a mean of 4.654 with a deviation of 0.0388.
    const double loss_error = 0.0388 * std::sqrt(4096 / static_cast<double>(p.tokens));
    report.check({.id = "loss-notices",
                  .measured = loss,
                  .expected = 4.654,
                  .tolerance = 4 * loss_error,
                  .standard_error = loss_error});
  }
  return table;
}

// Runs a small layer of experts and counts its multiply-adds; experts not chosen answer NaN, so that touching
// one would show.
Table work_table(const Params& p, const Context& context, Report& report) {
  constexpr std::size_t tokens = 24, d_model = 12, hidden = 48;
  const auto experts = static_cast<std::size_t>(p.experts.front());
  Generator rng = context.rng();
  const Matrix x = normal_matrix(rng, tokens, d_model);
  const Matrix logits = normal_matrix(rng, tokens, experts);
  std::vector<FeedForward> layers(experts);
  for (FeedForward& layer : layers) {
    layer.up = normal_matrix(rng, d_model, hidden, 0, 0.3);
    layer.down = normal_matrix(rng, hidden, d_model, 0, 0.15);
  }
  Table table{"work",
              "Parameters and work against one dense layer",
              {{"chosen"}, {"parameters_ratio"}, {"work_per_token_ratio"}}};
  for (const std::int64_t visits : p.chosen) {
    const auto chosen = static_cast<std::size_t>(visits);
    if (chosen > experts) continue;
    Routing routing = route(logits, context.breaks("all-experts") ? experts : chosen, true);
    std::vector<Matrix> answers(tokens, zeros(experts, d_model));
    Matrix expected = zeros(tokens, d_model);
    std::int64_t multiply_adds = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      for (double& entry : elements(answers[t])) entry = std::numeric_limits<double>::quiet_NaN();
      Matrix token = zeros(1, d_model);
      std::copy(row_of(x, t).begin(), row_of(x, t).end(), token.begin());
      double sum = 0;
      for (const std::size_t expert : routing.experts[t]) sum += std::exp(logits(t, expert));
      for (const std::size_t expert : routing.experts[t]) {
        const Matrix answer = feed_forward(token, layers[expert]);
        multiply_adds += static_cast<std::int64_t>(layers[expert].up.size() + layers[expert].down.size());
        for (std::size_t c = 0; c < d_model; ++c) {
          answers[t](expert, c) = answer(0, c);
          expected(t, c) += std::exp(logits(t, expert)) / sum * answer(0, c);
        }
      }
    }
    if (context.breaks("unweighted")) {
      for (double& weight : elements(routing.weights)) weight = 1;
    }
    const double work = static_cast<double>(multiply_adds) / (tokens * 2.0 * d_model * hidden);
    table.rows.push_back({visits, static_cast<std::int64_t>(experts), work});
    const std::string label = std::to_string(visits);
    report.check({.id = "weighted-answers",
                  .label = label,
                  .measured = largest_difference(elements(mix(routing, answers)), elements(expected)),
                  .tolerance = 1e-12});
    report.check(
        {.id = "same-work",
         .label = label,
         .measured = work,
         .expected = 1,
         .near_tolerance = static_cast<double>(visits) - 1,
         .reason = "true for one expert of the dense layer's width; each further one adds its work"});
  }
  return table;
}

void mixtral_claims(const Context& context, Report& report) {
  const ParameterCount count = count_embedded_model("mixtral-8x7b").count;
  const bool swap = context.breaks("total-for-active");
  report.check({.id = "mixtral",
                .label = "total",
                .measured = static_cast<double>(swap ? count.active : count.total),
                .expected = 46702792704});
  report.check({.id = "mixtral",
                .label = "active",
                .measured = static_cast<double>(swap ? count.total : count.active),
                .expected = 12879925248});
}

Report run(const Params& p, const Context& context) {
  const std::int64_t most = *std::max_element(p.experts.begin(), p.experts.end());
  const std::int64_t visited = *std::max_element(p.chosen.begin(), p.chosen.end());
  if (visited > most) {
    throw Error(ErrorKind::usage,
                fmt::format("--chosen: {} experts a token are more than the {} of --experts", visited, most));
  }
  Report report("Mixture of experts");
  report.table(load_table(p, context, report));
  report.table(biased_table(p, context, report));
  report.table(work_table(p, context, report));
  mixtral_claims(context, report);
  const auto experts = static_cast<double>(p.experts.front());
  const double share = 1 / experts;
  report.explain(fmt::format(
      "{} tokens, {} experts, one each: mean load {}, deviation sqrt({} x {:.4f} x {:.4f}) = {:.2f}",
      p.tokens, experts, static_cast<double>(p.tokens) / experts, p.tokens, share, 1 - share,
      std::sqrt(static_cast<double>(p.tokens) * share * (1 - share))));
  report.explain("capacity = factor x tokens x chosen / experts; what comes beyond it is dropped");
  report.figure({.name = "load",
                 .title = "Load of each expert",
                 .kind = FigureKind::bars,
                 .data = {"load"},
                 .x_column = "expert",
                 .series = {{"load"}, {"capacity", "capacity at 1.25"}},
                 .x_axis = {"expert"},
                 .y_axis = {"tokens"},
                 .caption = "A router that favours one expert fills it and drops what exceeds its capacity. "
                            "Fedus et al. 2021, section 2.2."});
  return report;
}

}  // namespace

Experiment moe_experiment() {
  return make_experiment<Params>(
      {.name = "moe",
       .title = "Mixture of experts",
       .summary = "routers, loads, dropped tokens, and parameters against work",
       .section = "The transformer block",
       .source = "Shazeer et al. 2017, section 2; Fedus et al. 2021, section 2",
       .purpose =
           "Routes random tokens to experts, compares their loads with chance, shows what a router that "
           "favours one expert does, and counts parameters and work against a dense layer. Each expert is as "
           "wide as the dense layer.",
       .examples = {"attnlab moe", "attnlab moe --experts 16 --chosen 4 --draws 50",
                    "attnlab moe --bias 1 --plot"},
       .claims =
           {{"balance-loss", "under a router that favours none the balance loss is 1, its minimum",
             "Fedus et al. 2021, section 2.2"},
            {"binomial-loads",
             "the variance of the loads is a binomial's, N p (1 - p) (cube root of the ratio)"},
            {"dropped", "at capacity factor 1 the tokens dropped are a binomial's mean excess"},
            {"collapse", "a raised logit draws the share of tokens that its integral says"},
            {"loss-notices", "the balance loss of an unbalanced router stands clear of 1"},
            {"weighted-answers",
             "a token's output is the answers of its experts, weighted by a softmax over them; others are "
             "not touched"},
            {"same-work", "experts add parameters and no computation a token"},
            {"mixtral", "an 8x7B model has 46.7 billion parameters, of which a token meets 12.9",
             "Jiang et al. 2024, table 1: 47B and 13B"}},
       .breakages = {{"biased-router", "the router that should favour none favours the first expert"},
                     {"fair-router", "the router that should favour the first expert favours none"},
                     {"all-experts", "every token visits every expert"},
                     {"unweighted", "the answers are added without weights"},
                     {"total-for-active", "total and active parameters trade places"}}},
      declare, run);
}

}  // namespace attnlab::experiments

// The nonlinearities of feed-forward layers: GELU exactly and by its two approximations, ReLU, SiLU, and why
// a gated layer is two thirds as wide.
//
//   gelu(x) = x Phi(x)    tanh form: Hendrycks and Gimpel's    sigmoid form: x / (1 + exp(-1.702 x))
//   silu(x) = x / (1 + exp(-x))    swiglu(x) = (silu(x W_gate) * x W_up) W_down
//
// Source: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016); Shazeer, "GLU Variants Improve
// Transformer" (2020).
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include <fmt/format.h>

#include "accounting/parameters.hpp"
#include "core/activation.hpp"
#include "experiments/all.hpp"

namespace attnlab::experiments {
namespace {

struct Params {
  double reach = 4;
  double step = 0.25;
  std::vector<std::int64_t> widths = {768, 1536, 3072};
};

void declare(OptionSet& options, Params& p) {
  options.real("reach", p.reach, 0.5, 30, "the curves run from minus this to this");
  options.real("step", p.step, 0.01, 1, "distance between two points of a curve");
  options.integers("d-model", p.widths, 3, 1 << 20, "widths at which gated and plain layers are compared")
      .short_form('d');
}

using Function = std::function<double(double)>;

/// The functions under test, with the fault that was asked for, if any.
struct Functions {
  Function gelu, gelu_tanh, gelu_sigmoid, silu;
};

Functions functions_for(const Context& context) {
  const double slope = context.breaks("other-slope") ? 1.0 : 1.702;
  const double silu_slope = context.breaks("other-slope") ? 1.702 : 1.0;
  const Activation gelu = context.breaks("tanh-for-phi") ? Activation::gelu_tanh : Activation::gelu;
  return {[=](double x) { return activate(gelu, x); },
          [](double x) { return activate(Activation::gelu_tanh, x); },
          [=](double x) { return activate(Activation::silu, slope * x) / slope; },
          [=](double x) { return activate(Activation::silu, silu_slope * x) / silu_slope; }};
}

struct Extreme {
  double place = 0;
  double value = 0;
};

// The largest value on [low, high]: a scan, then the bracket narrowed to a few ulps of its place.
Extreme largest(const Function& f, double low, double high) {
  constexpr int steps = 2000;
  const double width = (high - low) / steps;
  double best = low;
  for (int i = 0; i <= steps; ++i) {
    const double x = low + i * width;
    if (f(x) > f(best)) best = x;
  }
  double left = best - width;
  double right = best + width;
  for (int i = 0; i < 100; ++i) {
    const double third = (right - left) / 3;
    (f(left + third) < f(right - third) ? left : right) +=
        f(left + third) < f(right - third) ? third : -third;
  }
  return {(left + right) / 2, f((left + right) / 2)};
}

// x Phi(x), Phi by Simpson's rule on the density.
double integrated_gelu(double x) {
  constexpr int steps = 2000;
  const double width = x / steps;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double factor = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += factor * std::exp(-0.5 * (i * width) * (i * width));
  }
  return x * (0.5 + sum * width / 3 / std::sqrt(2 * std::numbers::pi));
}

Table curves(const Params& p, const Functions& f) {
  Table table{"activations",
              "Activations and the errors of two approximations of GELU",
              {{"x"}, {"gelu"}, {"relu"}, {"silu"}, {"gelu_tanh"}, {"tanh_error"}, {"sigmoid_error"}}};
  const auto points = static_cast<int>(std::floor(p.reach / p.step));
  for (int i = -points; i <= points; ++i) {
    const double x = i * p.step;
    table.rows.push_back({x, f.gelu(x), activate(Activation::relu, x), f.silu(x), f.gelu_tanh(x),
                          f.gelu_tanh(x) - f.gelu(x), f.gelu_sigmoid(x) - f.gelu(x)});
  }
  return table;
}

Table widths(const Params& p, const Context& context, Report& report) {
  Table table{"widths",
              "A gated layer of the same number of weights",
              {{"d_model"}, {"plain_hidden"}, {"gated_hidden"}, {"plain_weights"}, {"gated_weights"}}};
  for (const std::int64_t d : p.widths) {
    const std::int64_t hidden = context.breaks("full-width") ? 4 * d : swiglu_width(d, 1);
    const std::int64_t plain = 2 * d * 4 * d;
    const std::int64_t gated = 3 * d * hidden;
    table.rows.push_back({d, 4 * d, hidden, plain, gated});
    if (d % 3 != 0) continue;
    report.check({.id = "gated-parity",
                  .label = std::to_string(d),
                  .measured = static_cast<double>(gated),
                  .expected = static_cast<double>(plain)});
  }
  return table;
}

Report run(const Params& p, const Context& context) {
  Report report("Activations of feed-forward layers");
  const Functions f = functions_for(context);
  report.table(curves(p, f));
  report.table(widths(p, context, report));

  const auto distance_to = [&](const Function& other) -> Function {
    return [&f, other](double x) { return std::abs(f.gelu(x) - other(x)); };
  };
  const Extreme tanh_error = largest(distance_to(f.gelu_tanh), 0, 6);
  const Extreme sigmoid_error = largest(distance_to(f.gelu_sigmoid), 0, 6);
  const Extreme gelu_minimum = largest([&](double x) { return -f.gelu(x); }, -3, 0);
  const Extreme silu_minimum = largest([&](double x) { return -f.silu(x); }, -3, 0);
  double definition_error = 0;
  for (int eighth = -40; eighth <= 40; ++eighth) {
    const double x = eighth / 8.0;
    definition_error = std::max(definition_error, std::abs(f.gelu(x) - integrated_gelu(x)));
  }
  report.line(
      fmt::format("GELU by tanh differs by at most {:.3e} (at |x| = {:.3f}), by a sigmoid {:.4f} (at {:.3f})",
                  tanh_error.value, tanh_error.place, sigmoid_error.value, sigmoid_error.place));
  report.line(fmt::format("lowest points: GELU {:.6f} at {:.6f}, SiLU {:.6f} at {:.6f}", -gelu_minimum.value,
                          gelu_minimum.place, -silu_minimum.value, silu_minimum.place));

  report.check({.id = "gelu-definition", .measured = definition_error, .tolerance = 1e-12});
  report.check({.id = "tanh-form", .measured = tanh_error.value, .expected = 4.732e-4, .tolerance = 1e-6});
  report.check({.id = "tanh-form",
                .label = "place",
                .measured = tanh_error.place,
                .expected = 2.699,
                .tolerance = 1e-3});
  report.check(
      {.id = "sigmoid-form", .measured = sigmoid_error.value, .expected = 0.0203, .tolerance = 5e-5});
  report.check({.id = "sigmoid-form",
                .label = "place",
                .measured = sigmoid_error.place,
                .expected = 2.270,
                .tolerance = 1e-3});
  // Where x Phi(x) has slope 0: Phi(x) + x phi(x) = 0, solved elsewhere.
  report.check(
      {.id = "gelu-minimum", .measured = -gelu_minimum.value, .expected = -0.1699712, .tolerance = 1e-6});
  report.check({.id = "gelu-minimum",
                .label = "place",
                .measured = gelu_minimum.place,
                .expected = -0.7517915,
                .tolerance = 1e-6});
  // Lambert's W(1/e), the solution of w exp(w) = 1/e.
  constexpr double w = 0.27846454276107380;
  report.check({.id = "silu-minimum", .measured = -silu_minimum.value, .expected = -w, .tolerance = 1e-6});
  report.check({.id = "silu-minimum",
                .label = "place",
                .measured = silu_minimum.place,
                .expected = -1 - w,
                .tolerance = 1e-6});
  report.explain(
      fmt::format("gelu(1) = 1 Phi(1) = {:.6f}; silu(1) = 1 / (1 + exp(-1)) = {:.6f}", f.gelu(1), f.silu(1)));
  report.explain("plain layer: 2 d (4 d) = 8 d^2 weights; gated: 3 d (8 d / 3) = 8 d^2");
  report.figure({.name = "activations",
                 .title = "Activations",
                 .kind = FigureKind::line,
                 .data = {"activations"},
                 .x_column = "x",
                 .series = {{"gelu", "GELU"}, {"silu", "SiLU"}, {"relu", "ReLU"}},
                 .x_axis = {"x"},
                 .y_axis = {"activation"},
                 .caption = "GELU and SiLU are smooth and dip below zero where ReLU is flat. Hendrycks and "
                            "Gimpel 2016."});
  report.figure({.name = "errors",
                 .title = "Errors of two approximations of GELU",
                 .kind = FigureKind::line,
                 .data = {"activations"},
                 .x_column = "x",
                 .series = {{"tanh_error", "tanh form"}, {"sigmoid_error", "sigmoid form"}},
                 .x_axis = {"x"},
                 .y_axis = {"approximation minus GELU"},
                 .caption = "The tanh form is off by less than 0.0005, the sigmoid form by up to 0.02. "
                            "Hendrycks and Gimpel 2016."});
  return report;
}

}  // namespace

Experiment activations_experiment() {
  return make_experiment<Params>(
      {.name = "activations",
       .title = "Activations of feed-forward layers",
       .summary = "GELU, SiLU, their approximations, and the width of gated layers",
       .section = "The transformer block",
       .source = "Hendrycks and Gimpel 2016; Shazeer 2020",
       .purpose =
           "Draws the nonlinearities between the two maps of a feed-forward layer, finds where "
           "approximations "
           "of GELU are worst, and shows why a SwiGLU layer with three matrices is 8/3 as wide as the model "
           "instead of four times.",
       .examples = {"attnlab activations", "attnlab activations --reach 6 --step 0.1 --format csv",
                    "attnlab activations --d-model 512,4096,8192 --table widths --format csv"},
       .claims = {{"gelu-definition", "GELU is x times the normal distribution function"},
                  {"tanh-form", "GELU's tanh form differs by at most 0.00047, at |x| = 2.7"},
                  {"sigmoid-form", "x sigmoid(1.702 x) differs from GELU by at most 0.0203, at |x| = 2.27"},
                  {"gelu-minimum", "GELU is lowest at -0.7518, with -0.1700"},
                  {"silu-minimum", "SiLU is lowest at -(1 + W(1/e)) = -1.2785, with -W(1/e) = -0.2785"},
                  {"gated-parity",
                   "a gated layer of 8/3 the model's width has exactly the weights of a plain one of 4",
                   "Shazeer 2020, section 3"}},
       .breakages = {{"tanh-for-phi", "GELU is computed by its tanh form"},
                     {"other-slope", "the sigmoids of SiLU and of GELU's approximation trade their slopes"},
                     {"full-width", "the gated layer is four times the model's width"}}},
      declare, run);
}

}  // namespace attnlab::experiments

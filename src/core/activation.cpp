#include "core/activation.hpp"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

// 1 / (1 + exp(-x)) without overflow, and without cancellation on the left.
double logistic(double x) {
  const double decayed = std::exp(-std::abs(x));
  return (x < 0 ? decayed : 1.0) / (1.0 + decayed);
}

// x times the share of it that passes; a share of zero belongs to x far on the left, where x may be -inf.
double passed(double x, double share) { return share == 0 ? -0.0 : x * share; }

}  // namespace

double activate(Activation kind, double x) {
  switch (kind) {
    case Activation::gelu:
      return passed(x, 0.5 * std::erfc(-x / std::numbers::sqrt2));
    case Activation::gelu_tanh:
      // (1 + tanh u) / 2 is the logistic function of 2u.
      return passed(x, logistic(2 * std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return x > 0 || std::isnan(x) ? x : 0.0;
    case Activation::silu:
      return passed(x, logistic(x));
  }
  throw Error(ErrorKind::fault, "activate: unknown activation");
}

Matrix activated(Activation kind, const Matrix& x) {
  Matrix result = x;
  for (double& value : result) value = activate(kind, value);
  return result;
}

Matrix swiglu(const Matrix& gate, const Matrix& up) {
  if (gate.shape() != up.shape()) {
    throw Error(ErrorKind::data,
                fmt::format("gate {} and up {} need equal shapes", shape_text(gate), shape_text(up)));
  }
  Matrix result = gate;
  for (std::size_t i = 0; i < result.size(); ++i) {
    result.data()[i] = activate(Activation::silu, gate.data()[i]) * up.data()[i];
  }
  return result;
}

}  // namespace attnlab

#include "core/backward/adam.hpp"

#include <cmath>

#include "core/error.hpp"

namespace attnlab {

// m <- beta1 m + (1 - beta1) g          v <- beta2 v + (1 - beta2) g^2
// w <- w - learning_rate m' / (sqrt(v') + epsilon), where m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t)
// undo the pull of the zeros that m and v start from.

template <class Real>
void Adam<Real>::step(const AdamOptions& options, std::span<const Real> gradient, std::span<Real> weights) {
  if (gradient.size() != mean_.size() || weights.size() != mean_.size())
    throw Error(ErrorKind::fault, "Adam: as many gradients and weights are needed as at the start");
  beta1_power_ *= options.beta1;
  beta2_power_ *= options.beta2;
  const auto beta1 = static_cast<Real>(options.beta1);
  const auto beta2 = static_cast<Real>(options.beta2);
  const auto rate = static_cast<Real>(options.learning_rate / (1.0 - beta1_power_));
  const auto square_factor = static_cast<Real>(1.0 / (1.0 - beta2_power_));
  const auto epsilon = static_cast<Real>(options.epsilon);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Real g = gradient[i];
    mean_[i] = beta1 * mean_[i] + (1 - beta1) * g;
    mean_square_[i] = beta2 * mean_square_[i] + (1 - beta2) * g * g;
    weights[i] -= rate * mean_[i] / (std::sqrt(mean_square_[i] * square_factor) + epsilon);
  }
}

template class Adam<float>;
template class Adam<double>;

}  // namespace attnlab

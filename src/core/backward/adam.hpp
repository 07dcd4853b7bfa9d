// The optimiser that training uses.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attnlab {

/// Adam's constants; the defaults are the paper's.
struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;    ///< memory of the mean gradient
  double beta2 = 0.999;  ///< memory of the mean squared gradient
  double epsilon = 1e-8;
};

/// Adam (Kingma and Ba 2015, algorithm 1): steps of about learning_rate in every weight, whatever the size of
/// its gradient.
template <class Real>
class Adam {
 public:
  explicit Adam(std::size_t count) : mean_(count), mean_square_(count) {}

  /// One step: changes `weights` along `gradient`; both as long as the constructor's count.
  void step(const AdamOptions& options, std::span<const Real> gradient, std::span<Real> weights);

 private:
  std::vector<Real> mean_;
  std::vector<Real> mean_square_;
  double beta1_power_ = 1.0;
  double beta2_power_ = 1.0;
};

}  // namespace attnlab

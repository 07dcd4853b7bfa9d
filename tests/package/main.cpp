// Causal attention of two tokens, with the installed library.
#include <cmath>
#include <cstdio>

#include "core/attention.hpp"

int main() {
  using namespace attnlab;
  const Matrix query{{1, 0}, {0, 2}};
  const Matrix key{{1, 0}, {0, 1}};
  const Matrix value{{3, 4}, {5, 6}};
  AttentionOptions options;
  options.mask = causal_mask(2, 2);
  const Attention result = attention(query, key, value, options);
  for (std::size_t position = 0; position < 2; ++position)
    std::printf("%.6f %.6f\n", result.output(position, 0), result.output(position, 1));
  // The second token sees both, with scores 0 and 2 / sqrt(2).
  const double second_weight = 1 / (1 + std::exp(-std::sqrt(2.0)));
  const bool right = result.output(0, 0) == 3 && result.output(0, 1) == 4 &&
                     std::abs(result.output(1, 0) - (3 + 2 * second_weight)) < 1e-15 * 8 &&
                     std::abs(result.output(1, 1) - (4 + 2 * second_weight)) < 1e-15 * 8;
  return right ? 0 : 1;
}

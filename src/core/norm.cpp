#include "core/norm.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

long double mean_deviation(std::span<const double> row, long double from) {
  long double sum = 0;
  for (const double value : row) sum += value - from;
  return sum / static_cast<long double>(row.size());
}

long double mean_square(std::span<const double> row, long double from) {
  long double sum = 0;
  for (const double value : row) sum += (value - from) * (value - from);
  return sum / static_cast<long double>(row.size());
}

void require_length(const char* name, const std::optional<Vector>& vector, std::size_t width) {
  if (vector && vector->size() != width) {
    throw Error(ErrorKind::data,
                fmt::format("{}: length {} where the rows have width {}", name, vector->size(), width));
  }
}

}  // namespace

void normalize(std::span<double> row, NormKind kind, const NormOptions& options) {
  require_length("gain", options.gain, row.size());
  require_length("bias", options.bias, row.size());
  long double centre = 0;
  if (kind == NormKind::layer) {
    centre = mean_deviation(row, 0);
    // The second pass takes out the rounding of the first, so a constant row has no deviation at all.
    centre += mean_deviation(row, centre);
  }
  const long double spread = std::sqrt(mean_square(row, centre) + options.eps);
  for (std::size_t c = 0; c < row.size(); ++c) {
    const long double unit = spread == 0 ? 0 : (row[c] - centre) / spread;
    const double gain = (options.gain ? (*options.gain)(c) : 1.0) + options.gain_offset;
    row[c] = static_cast<double>(unit) * (options.gain || options.gain_offset != 0 ? gain : 1.0);
    if (options.bias) row[c] += (*options.bias)(c);
  }
}

Matrix normalized(const Matrix& x, NormKind kind, const NormOptions& options) {
  Matrix result = x;
  for (std::size_t row = 0; row < x.shape(0); ++row) normalize(row_of(result, row), kind, options);
  return result;
}

}  // namespace attnlab

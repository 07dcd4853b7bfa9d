#include "core/random/ziggurat_tables.hpp"

#include <cmath>
#include <cstddef>

namespace attnlab {
namespace {

// The area of one piece as NumPy's tables have it: 3 ulp off the true one.
constexpr double piece_area = 0.004928673233974652;

// Rounded once from extended precision, which here is the correctly rounded value: the nearest of the
// arguments below is 0.4986 ulp away from a tie.
double rounded_exp(double x) { return static_cast<double>(std::exp(static_cast<long double>(x))); }
double rounded_log(double x) { return static_cast<double>(std::log(static_cast<long double>(x))); }

ZigguratTables make_tables() {
  ZigguratTables tables{};
  std::array<double, 256> edge{};
  edge[255] = ziggurat_tail_start;
  tables.density[255] = rounded_exp(-0.5 * edge[255] * edge[255]);
  for (std::size_t i = 254; i >= 1; --i) {
    edge[i] = std::sqrt(-2.0 * rounded_log(piece_area / edge[i + 1] + tables.density[i + 1]));
    tables.density[i] = rounded_exp(-0.5 * edge[i] * edge[i]);
    // NumPy's tables were once made with an exp that was 0.5017 ulp off here, and all edges below inherit it.
    if (i == 38) tables.density[i] = std::nextafter(tables.density[i], 1.0);
  }
  tables.density[0] = 1.0;
  // Piece 0 is a rectangle and the tail together: as wide as a rectangle of the same area would be.
  edge[0] = piece_area / tables.density[255];

  for (std::size_t i = 0; i < 256; ++i) {
    // The share of the piece's width that lies below the curve whatever the height.
    double inner_share = 0.0;
    if (i == 0) inner_share = ziggurat_tail_start / edge[0];
    if (i >= 2) inner_share = edge[i - 1] / edge[i];
    tables.scale[i] = edge[i] * 0x1p-52;
    tables.accept[i] = static_cast<std::uint64_t>(std::nearbyint(inner_share * 0x1p52));
    tables.scale_f32[i] = static_cast<float>(edge[i] * 0x1p-23);
    tables.density_f32[i] = static_cast<float>(tables.density[i]);
    tables.accept_f32[i] = static_cast<std::uint32_t>(std::nearbyint(inner_share * 0x1p23));
  }
  return tables;
}

}  // namespace

const ZigguratTables& ziggurat_tables() {
  static const ZigguratTables tables = make_tables();
  return tables;
}

}  // namespace attnlab

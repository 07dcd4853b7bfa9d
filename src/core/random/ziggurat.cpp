#include "core/random/ziggurat.hpp"

namespace attnlab {
namespace {

float draw_tail_f32(bool is_negative, Pcg64& bits) {
  constexpr auto start = static_cast<float>(ziggurat_tail_start);
  constexpr auto inverse_start = static_cast<float>(1.0 / ziggurat_tail_start);
  for (;;) {
    const float beyond = -inverse_start * std::log1p(-unit_float(bits.next32()));
    const float height = -std::log1p(-unit_float(bits.next32()));
    if (height + height > beyond * beyond) return is_negative ? -(start + beyond) : start + beyond;
  }
}

bool accept_in_wedge_f32(const ZigguratTables& tables, std::size_t piece, float x, Pcg64& bits) {
  const float low = tables.density_f32[piece];
  const float height = (tables.density_f32[piece - 1] - low) * unit_float(bits.next32()) + low;
  // NumPy promotes x before it multiplies, so the right side is a double.
  return static_cast<double>(height) < std::exp(-0.5 * static_cast<double>(x) * static_cast<double>(x));
}

}  // namespace

double draw_normal(Pcg64& bits) {
  const ZigguratTables& tables = ziggurat_tables();
  for (;;) {
    const ZigguratWord start{bits.next64()};
    const std::size_t piece = start.piece();
    const double size = static_cast<double>(start.magnitude()) * tables.scale[piece];
    const double x = start.is_negative() ? -size : size;
    if (start.magnitude() < tables.accept[piece]) return x;
    if (piece == 0) return draw_tail(start.is_negative_in_tail(), [&bits] { return bits.next64(); });
    if (accept_in_wedge(tables, piece, x, bits.next64())) return x;
  }
}

float draw_normal_f32(Pcg64& bits) {
  const ZigguratTables& tables = ziggurat_tables();
  for (;;) {
    const std::uint32_t start = bits.next32();
    const std::size_t piece = start & 255;
    const std::uint32_t magnitude = start >> 9;
    const float size = static_cast<float>(magnitude) * tables.scale_f32[piece];
    const float x = (start >> 8 & 1) != 0 ? -size : size;
    if (magnitude < tables.accept_f32[piece]) return x;
    if (piece == 0) return draw_tail_f32((magnitude >> 8 & 1) != 0, bits);
    if (accept_in_wedge_f32(tables, piece, x, bits)) return x;
  }
}

}  // namespace attnlab

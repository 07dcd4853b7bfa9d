#include "render/glyphs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace attnlab {
namespace {

struct CodePoints {
  std::uint32_t first;
  std::uint32_t last;
};

// The blocks that terminals show two cells wide (Unicode Standard Annex 11, wide and fullwidth).
constexpr CodePoints wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},
                               {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                               {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                               {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

// Marks, joiners and variation selectors that take no cell of their own.
constexpr CodePoints combining[] = {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
                                    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

// Directions and line separators that would rearrange what stands around them.
constexpr CodePoints control[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}};

template <std::size_t N>
bool lies_in(std::uint32_t code_point, const CodePoints (&blocks)[N]) {
  return std::any_of(std::begin(blocks), std::end(blocks), [&](const CodePoints& block) {
    return block.first <= code_point && code_point <= block.last;
  });
}

struct Decoded {
  std::uint32_t code_point;
  std::size_t bytes;  // 0 where the text is not UTF-8
};

Decoded decode_first(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t bytes = lead < 0x80   ? 1
                            : lead < 0xC2 ? 0
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                            : lead < 0xF5 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {0, 0};
  if (bytes == 1) return {lead, 1};
  std::uint32_t code_point = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < least[bytes] || code_point > 0x10FFFF || surrogate) return {0, 0};
  return {code_point, bytes};
}

}  // namespace

std::vector<Glyph> glyphs(std::string_view text, bool unicode) {
  std::vector<Glyph> out;
  while (!text.empty()) {
    const Decoded next = decode_first(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(next.bytes, 1));
    text.remove_prefix(bytes.size());
    if (next.bytes == 0 || lies_in(next.code_point, control) || (!unicode && next.code_point > 0x7E)) {
      out.push_back({"?", 1});
    } else if (lies_in(next.code_point, combining)) {
      if (!out.empty()) out.back().text += bytes;
    } else {
      out.push_back({std::string(bytes), lies_in(next.code_point, wide) ? std::size_t{2} : std::size_t{1}});
    }
  }
  return out;
}

std::size_t display_width(std::string_view text, bool unicode) {
  std::size_t width = 0;
  for (const Glyph& glyph : glyphs(text, unicode)) width += glyph.width;
  return width;
}

std::string shortened(std::string_view text, std::size_t width, bool unicode) {
  const bool fits = display_width(text, unicode) <= width;
  const std::size_t room = fits ? width : width - std::min<std::size_t>(width, 1);
  std::string out;
  std::size_t used = 0;
  for (const Glyph& glyph : glyphs(text, unicode)) {
    if (used + glyph.width > room) break;
    out += glyph.text;
    used += glyph.width;
  }
  if (!fits && width > 0) out += unicode ? "\u2026" : "~";
  return out;
}

}  // namespace attnlab

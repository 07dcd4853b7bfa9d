// Collects the numbers of a text file: doubles, or 64-bit whole numbers where doubles would lose digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/integer.hpp"
#include "io/typed_array.hpp"

namespace attnlab {

class NumberList {
 public:
  /// Appends a decimal number (see parse_decimal); nothing is appended unless the status is good.
  DecimalStatus push(std::string_view text);
  /// Appends a value that has no digits: NaN or an infinity.
  void push_special(double value);

  std::size_t size() const { return values_.size(); }
  /// Whether a whole number has been met that a double cannot hold.
  bool has_inexact() const { return !whole_values_.empty(); }

  /// The numbers as float64; as int64 or uint64 when a whole number among them is too large to be a double
  /// exactly. Throws Error(data) beginning with `inexact_place` when that is needed but not all of them are
  /// 64-bit whole numbers.
  TypedArray finish(Shape shape, const std::string& inexact_place);

 private:
  std::vector<double> values_;
  std::vector<Int128> whole_values_;  // all of them again, once that is needed
  bool all_whole_ = true;
};

}  // namespace attnlab

#include "io/number_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace attnlab {
namespace {

/// Every whole number of up to 15 digits is a double.
constexpr std::size_t exact_digits = 15;

template <class Whole>
TypedArray to_whole(const std::vector<Int128>& values, DType dtype, Shape shape) {
  std::string bytes(values.size() * sizeof(Whole), '\0');
  char* at = bytes.data();
  for (const Int128 value : values) {
    const auto element = static_cast<Whole>(value);
    std::memcpy(at, &element, sizeof element);
    at += sizeof element;
  }
  return {dtype, std::move(shape), false, false, own_bytes(std::move(bytes))};
}

}  // namespace

DecimalStatus NumberList::push(std::string_view text) {
  double value = 0.0;
  const DecimalStatus status = parse_decimal(text, value);
  if (status != DecimalStatus::good) return status;
  // A whole number has no minus zero, so "-0" counts as a fraction.
  const bool whole = text.find_first_of(".eE") == std::string_view::npos && !(value == 0.0 && text[0] == '-');
  all_whole_ = all_whole_ && whole;
  if (whole && (text.size() > exact_digits || has_inexact())) {
    Int128 exact = 0;
    const bool fits = parse_whole(text, exact);
    const bool inexact = !fits || static_cast<Int128>(value) != exact;
    if (!fits) all_whole_ = false;
    if (inexact && whole_values_.empty()) {
      whole_values_.reserve(values_.size() + 1);
      for (const double earlier : values_)
        whole_values_.push_back(all_whole_ ? static_cast<Int128>(earlier) : 0);
    }
    if (inexact || has_inexact()) whole_values_.push_back(exact);
  }
  values_.push_back(value);
  return status;
}

void NumberList::push_special(double value) {
  all_whole_ = false;
  values_.push_back(value);
}

TypedArray NumberList::finish(Shape shape, const std::string& inexact_place) {
  if (!has_inexact()) return to_typed(Array{std::move(shape), std::move(values_)});
  if (all_whole_) {
    const auto [lowest, highest] = std::minmax_element(whole_values_.begin(), whole_values_.end());
    if (*lowest >= std::numeric_limits<std::int64_t>::min() &&
        *highest <= std::numeric_limits<std::int64_t>::max()) {
      return to_whole<std::int64_t>(whole_values_, DType::i64, std::move(shape));
    }
    if (*lowest >= 0 && *highest <= std::numeric_limits<std::uint64_t>::max()) {
      return to_whole<std::uint64_t>(whole_values_, DType::u64, std::move(shape));
    }
  }
  throw Error(
      ErrorKind::data,
      fmt::format(
          "{}: this whole number cannot be represented exactly as a double, and not all numbers here are "
          "64-bit whole numbers; write it with a decimal point to have it rounded",
          inexact_place));
}

}  // namespace attnlab

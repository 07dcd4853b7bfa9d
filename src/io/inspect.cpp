#include "io/inspect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "io/json.hpp"
#include "io/json_array.hpp"

namespace attnlab {
namespace {

/// Sums of the largest doubles, and of very many, stay in range and keep their digits in the wider type.
template <class Element>
long double wide(Element element) {
  if constexpr (std::is_integral_v<Element>) return static_cast<long double>(element);
  return static_cast<long double>(element_to_double(element));
}

template <class Element>
ArraySummary summarize_elements(const TypedArray& array) {
  ArraySummary summary;
  Element lowest{};
  Element highest{};
  std::size_t finite_count = 0;
  long double sum = 0.0L;
  for_each_element<Element>(array, [&](Element element) {
    const double value = element_to_double(element);
    if (std::isnan(value)) {
      ++summary.nan_count;
    } else if (std::isinf(value)) {
      ++summary.infinity_count;
    } else {
      // Whole numbers are compared as such: as doubles the largest would be rounded.
      const auto less = [](Element a, Element b) {
        if constexpr (std::is_integral_v<Element>) return a < b;
        return element_to_double(a) < element_to_double(b);
      };
      if (finite_count == 0 || less(element, lowest)) lowest = element;
      if (finite_count == 0 || less(highest, element)) highest = element;
      sum += wide(element);
      ++finite_count;
    }
  });
  if (finite_count > 0) {
    append_element(summary.minimum.emplace(), lowest, SpecialNumbers::plain);
    append_element(summary.maximum.emplace(), highest, SpecialNumbers::plain);
    summary.mean = static_cast<double>(sum / static_cast<long double>(finite_count));
  }
  return summary;
}

/// The members of one array's object, without its braces.
void write_members(const TypedArray& array, const ByteSink& sink) {
  const ArraySummary summary = summarize(array);
  sink(fmt::format(R"("dtype": "{}", "shape": [{}], "layout": "{}", "byte_order": "{}", "bytes": {}, )",
                   dtype_name(array.dtype), fmt::join(array.shape, ", "), layout_name(array),
                   byte_order_name(array), array.content.bytes.size()));
  sink(fmt::format(R"("min": {}, "max": {}, "mean": {}, "nan_count": {}, "infinity_count": {}, "data": )",
                   summary.minimum.value_or("null"), summary.maximum.value_or("null"),
                   summary.mean ? json_number(*summary.mean) : "null", summary.nan_count,
                   summary.infinity_count));
  write_json_array(array, sink);
}

}  // namespace

ArraySummary summarize(const TypedArray& array) {
  return with_element_type(array.dtype, [&](auto type) { return summarize_elements<decltype(type)>(array); });
}

const char* layout_name(const TypedArray& array) {
  return array.fortran_order ? "column-major" : "row-major";
}

const char* byte_order_name(const TypedArray& array) {
  if (item_size(array.dtype) == 1) return "single bytes";
  return array.big_endian ? "big endian" : "little endian";
}

void write_inspection_json(const ArrayFile& file, const ByteSink& sink) {
  sink(fmt::format(R"({{"file": {}, "format": "{}", )", json_string(file.path), format_name(file.format)));
  if (file.format != ArrayFormat::safetensors) {
    write_members(file.tensors.front().array, sink);
    return sink("}\n");
  }
  sink("\"metadata\": {");
  const char* separator = "";
  for (const auto& [key, value] : file.metadata) {
    sink(fmt::format("{}{}: {}", separator, json_string(key), json_string(value)));
    separator = ", ";
  }
  sink("}, \"values\": {");
  separator = "";
  for (const NamedTensor& tensor : file.tensors) {
    sink(fmt::format("{}{}: {{", separator, json_string(tensor.name)));
    write_members(tensor.array, sink);
    sink("}");
    separator = ", ";
  }
  sink("}}\n");
}

}  // namespace attnlab

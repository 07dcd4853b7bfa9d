// `attnlab inspect FILE`: what is in an array file.
#include "io/inspect.hpp"

#include <memory>

#include <fmt/format.h>

#include "cli/array_input.hpp"
#include "cli/command.hpp"
#include "core/error.hpp"
#include "io/json_array.hpp"
#include "io/utf8.hpp"
#include "render/numpy_text.hpp"

namespace attnlab {
namespace {

struct Options {
  ArrayInput input;
  std::string format;
  Presentation presentation;
};

/// The elements as NumPy would print them, each converted to `Printed`.
template <class Printed, class Element>
std::string printed(const TypedArray& array, const PrintOptions& options) {
  // Not a vector: that of bool has no span.
  const std::size_t count = array.size();
  const auto values = std::make_unique<Printed[]>(count);
  Printed* next = values.get();
  for_each_element<Element>(array, [&](Element element) {
    if constexpr (std::is_integral_v<Element>) {
      *next++ = static_cast<Printed>(element);  // NOLINT(bugprone-signed-char-misuse): an int8 is a number
    } else {
      *next++ = static_cast<Printed>(element_to_double(element));
    }
  });
  return numpy_text(std::span<const Printed>(values.get(), count), array.shape, options);
}

/// Unsigned numbers beyond int64 have no NumPy text here; nested lists show all their digits as well.
std::string nested_lists(const TypedArray& array) {
  std::string text;
  write_json_array(array, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string values_text(const TypedArray& array, const PrintOptions& options) {
  return with_element_type(array.dtype, [&](auto type) -> std::string {
    using Element = decltype(type);
    if constexpr (std::is_same_v<Element, bool>) {
      return printed<bool, Element>(array, options);
    } else if constexpr (std::is_same_v<Element, std::uint64_t>) {
      bool fits = true;
      for_each_element<Element>(array, [&](Element element) { fits = fits && element >> 63 == 0; });
      return fits ? printed<std::int64_t, Element>(array, options) : nested_lists(array);
    } else if constexpr (std::is_integral_v<Element>) {
      return printed<std::int64_t, Element>(array, options);
    } else if constexpr (std::is_same_v<Element, double>) {
      return printed<double, Element>(array, options);
    } else {
      return printed<float, Element>(array, options);
    }
  });
}

std::string array_text(const TypedArray& array, const PrintOptions& options) {
  const ArraySummary summary = summarize(array);
  std::string text =
      fmt::format("{} {}, {}, {}, {} bytes\n", dtype_name(array.dtype), shape_text(array.shape),
                  layout_name(array), byte_order_name(array), array.content.bytes.size());
  if (summary.mean) {
    std::string mean;
    append_decimal(mean, *summary.mean, SpecialNumbers::plain);
    text += fmt::format("min {}, max {}, mean {}", *summary.minimum, *summary.maximum, mean);
  } else {
    text += "no finite numbers";
  }
  return text + fmt::format("; {} NaN, {} infinite\n", summary.nan_count, summary.infinity_count) +
         values_text(array, options) + '\n';
}

std::string file_text(const ArrayFile& file, const PrintOptions& options) {
  std::string text = fmt::format("{}: {}\n", printable(file.path), format_name(file.format));
  for (const auto& [key, value] : file.metadata)
    text += fmt::format("{}: {}\n", excerpt(key), excerpt(value));
  for (const NamedTensor& tensor : file.tensors) {
    if (file.format == ArrayFormat::safetensors) text += fmt::format("\n{}\n", excerpt(tensor.name));
    text += array_text(tensor.array, options);
  }
  return text;
}

// Every array of the file as a picture, one below the other.
Outcome plotted(const ArrayFile& file, const Presentation& presentation, const Environment& environment) {
  Outcome outcome;
  for (const NamedTensor& tensor : file.tensors) {
    Result result;
    result.name = "inspect";
    const std::string name = tensor.name.empty() ? file.path : tensor.name;
    result.report.data(Grid{name, name, to_array(tensor.array, name)});
    const Outcome picture = present(result, presentation, environment);
    outcome.output += (outcome.output.empty() ? "" : "\n") + picture.output;
    outcome.path = picture.path;
  }
  return outcome;
}

// Told like that of a result, except that other formats are the business of `convert`.
std::string chosen_format(const Options& options) {
  if (!options.format.empty()) return options.format;
  const std::string& path = options.presentation.output;
  const Renderer* renderer = renderer_of_path(path);
  if (renderer == nullptr) return "text";
  if (renderer->name == "text" || renderer->name == "json") return renderer->name;
  throw Error(ErrorKind::usage, fmt::format("--output {}: inspect writes text and json (--format chooses); "
                                            "convert writes arrays, --plot draws them",
                                            path));
}

Outcome run(const std::string& source, const Options& options, const Environment& environment) {
  Outcome outcome;
  outcome.path = options.presentation.output;
  const std::string format = options.presentation.plot ? "text" : chosen_format(options);
  auto file = std::make_shared<const ArrayFile>(read_tensors(source, read_options(options.input)));
  if (options.presentation.plot) return plotted(*file, options.presentation, environment);
  if (format == "json") {
    outcome.produce = [file](const ByteSink& sink) { write_inspection_json(*file, sink); };
  } else {
    PrintOptions print_options;
    if (options.presentation.precision) print_options.precision = *options.presentation.precision;
    outcome.output = file_text(*file, print_options);
  }
  return outcome;
}

}  // namespace

Command inspect_command() {
  Command command;
  command.name = "inspect";
  command.section = "Your own arrays";
  command.summary = "shape, type, layout, range and values of an array file";
  command.purpose =
      "Reads .npy, .csv, .tsv, .json (nested lists) and .safetensors files. Minimum, maximum and mean are "
      "those of the "
      "finite numbers; values are shown as NumPy prints them, large arrays by their ends. JSON holds every "
      "number, and what "
      "JSON has no number for as \"NaN\", \"Infinity\" or \"-Infinity\"; the tensors of a .safetensors file "
      "are under values.";
  command.examples = {"attnlab inspect weights.npy",
                      "attnlab inspect scores.csv --csv-delimiter ';' --csv-decimal ,",
                      "attnlab inspect model.safetensors:wte --format json"};
  command.positional = array_file_argument();
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto options = std::make_shared<Options>();
    declare_array_input(invocation->options, options->input);
    invocation->options
        .choice("format", options->format, {"text", "json"},
                "what is written; told by the extension of --output, else text")
        .no_parameter();
    declare_destination(invocation->options, options->presentation);
    Invocation* const called = invocation.get();
    invocation->run = [called, options](const Environment& environment) {
      return run(called->arguments.front(), *options, environment);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab

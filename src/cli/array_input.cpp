#include "cli/array_input.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

char one_character(const std::string& text, const char* option) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() == 1) return text[0];
  throw Error(ErrorKind::usage, fmt::format("{}: '{}' is not one character", option, text));
}

}  // namespace

Positional array_file_argument() {
  return {.name = "FILE",
          .help = "what to read: FILE, FILE:NAME for a tensor, or - for standard input",
          .min = 1,
          .max = 1};
}

void declare_array_input(OptionSet& options, ArrayInput& input) {
  options
      .choice("input-format", input.format, {"npy", "csv", "tsv", "json", "safetensors"},
              "how to read the file; told by its extension or content, standard input needs it")
      .no_parameter();
  options
      .text("csv-delimiter", input.csv_delimiter, "CHAR",
            "what stands between the numbers of a csv line; tab for a tab")
      .no_parameter();
  options.text("csv-decimal", input.csv_decimal, "CHAR", "the decimal sign of csv numbers: . or ,")
      .no_parameter();
  options.flag("header", input.header, "the first line of a csv file holds names").no_parameter();
}

ReadOptions read_options(const ArrayInput& input) {
  return {.format = format_named(input.format),
          .csv = {.delimiter = one_character(input.csv_delimiter, "--csv-delimiter"),
                  .decimal = one_character(input.csv_decimal, "--csv-decimal"),
                  .header = input.header}};
}

}  // namespace attnlab

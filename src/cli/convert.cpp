// `attnlab convert FILE --output FILE`: the same numbers in another format.
#include "io/convert.hpp"

#include "cli/array_input.hpp"
#include "cli/command.hpp"
#include "core/error.hpp"

namespace attnlab {
namespace {

struct Options {
  ArrayInput input;
  std::string format;
  std::string output;
};

Outcome run(const std::string& source, const Options& options) {
  if (options.output.empty()) {
    throw Error(ErrorKind::usage,
                "convert needs --output FILE: where to write, and with its extension in which format");
  }
  const ArrayFormat format = output_format(options.output, format_named(options.format));
  Outcome outcome;
  outcome.path = options.output;
  outcome.produce = conversion(source, format, read_options(options.input));
  return outcome;
}

}  // namespace

Command convert_command() {
  Command command;
  command.name = "convert";
  command.section = "Your own arrays";
  command.summary = "an array file in another format, number for number";
  command.purpose =
      "Numbers come back bit for bit, and the element type is kept where the format has it: .npy has no "
      "bfloat16 and gets "
      "float32; csv and json hold decimal text, booleans as 0 and 1. A vector in csv is one row. In a "
      ".safetensors file an "
      "array is named after the file it comes from, and FILE:NAME reads one tensor of several. The output is "
      "written whole "
      "or not at all, and may be the input.";
  command.examples = {"attnlab convert weights.npy --output weights.csv",
                      "attnlab convert model.safetensors:wte --output wte.npy",
                      "attnlab convert - --input-format csv --output scores.json < scores.csv"};
  command.positional = array_file_argument();
  command.start = [] {
    auto invocation = std::make_unique<Invocation>();
    auto options = std::make_shared<Options>();
    declare_array_input(invocation->options, options->input);
    invocation->options
        .choice("format", options->format, {"npy", "csv", "tsv", "json", "safetensors"},
                "what is written; told by the extension of --output")
        .no_parameter();
    invocation->options
        .file("output", options->output, "write there, whole or not at all; - is standard output")
        .short_form('o')
        .no_parameter();
    Invocation* const called = invocation.get();
    invocation->run = [called, options](const Environment&) {
      return run(called->arguments.front(), *options);
    };
    return invocation;
  };
  return command;
}

}  // namespace attnlab

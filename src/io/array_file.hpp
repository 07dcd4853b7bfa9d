// Arrays in files of any known format: the one way in and the one way out.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/csv.hpp"
#include "io/safetensors.hpp"
#include "io/typed_array.hpp"
#include "io/writer.hpp"

namespace attnlab {

enum class ArrayFormat { npy, csv, tsv, json, safetensors };

/// The name of a format: "npy", "csv", "tsv", "json" or "safetensors"; and the format of a name.
const char* format_name(ArrayFormat format);
std::optional<ArrayFormat> format_named(std::string_view name);
/// All names in one string, "npy, csv, tsv, json, safetensors", for messages and help.
const std::string& format_names();
/// The format that the extension of a path tells, in any case.
std::optional<ArrayFormat> format_of_path(std::string_view path);

struct ReadOptions {
  std::optional<ArrayFormat> format;  ///< the extension, then the content tells it unless given
  CsvOptions csv;
};

/// What a file holds: several named tensors in a .safetensors file, else one without a name.
struct ArrayFile {
  std::string path;  ///< without the ":NAME" behind it
  ArrayFormat format = ArrayFormat::npy;
  std::vector<NamedTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// All arrays of a file. `source` is a path, FILE:NAME for one tensor of a .safetensors file, or "-" for
/// standard input, which needs a format. Throws Error(io) when it cannot be read, Error(usage) for standard
/// input without a format, and Error(data) for a format that is not known, a tensor that is not there, and
/// whatever the format's own reader finds.
ArrayFile read_tensors(const std::string& source, const ReadOptions& options = {});

/// The one array of a file, as read_tensors finds it; throws Error(data) when there are several.
TypedArray read_typed_array(const std::string& source, const ReadOptions& options = {});
/// The same as doubles; throws Error(data) also for whole numbers that no double holds.
Array read_array(const std::string& source, const ReadOptions& options = {});

/// Throws Error(data) unless the format can hold the tensors: all but safetensors hold one; csv and json not
/// every shape.
void check_writable(const ArrayFile& content, ArrayFormat format);

/// Writes tensors that check_writable has passed; a text ends with a line end.
void write_tensors(const ArrayFile& content, ArrayFormat format, const ByteSink& sink);

/// Writes one array to a path ("-" is standard output), in the format of its extension unless one is given.
/// In a .safetensors file its name is "data". Throws Error(usage) when neither tells the format, else as
/// check_writable and write_output.
WriteOutcome write_array(const std::string& path, const TypedArray& array,
                         std::optional<ArrayFormat> format = {});

/// The format in which a path is to be written; throws Error(usage) when neither `format` nor the extension
/// tells it.
ArrayFormat output_format(const std::string& path, std::optional<ArrayFormat> format);

}  // namespace attnlab

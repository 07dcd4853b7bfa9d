#include "io/array_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/error.hpp"
#include "io/json_array.hpp"
#include "io/npy.hpp"
#include "io/utf8.hpp"

namespace attnlab {
namespace {

namespace fs = std::filesystem;

constexpr ArrayFormat all_formats[] = {ArrayFormat::npy, ArrayFormat::csv, ArrayFormat::tsv,
                                       ArrayFormat::json, ArrayFormat::safetensors};

/// A path, and perhaps the name of one tensor in it.
struct Source {
  std::string path;
  std::optional<std::string> tensor;
};

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// Splits FILE:NAME. Both may hold colons, so the file is the shortest beginning that exists.
Source split_source(const std::string& text) {
  if (text == "-" || exists(text)) return {text, std::nullopt};
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    const std::string path = text.substr(0, colon);
    if (path == "-" || exists(path)) return {path, text.substr(colon + 1)};
  }
  return {text, std::nullopt};
}

std::optional<ArrayFormat> format_of_content(std::string_view bytes) {
  if (bytes.starts_with("\x93NUMPY")) return ArrayFormat::npy;
  // A header of less than 2^24 bytes, and its opening brace.
  if (bytes.size() > 8 && bytes[8] == '{' && bytes.substr(3, 5) == std::string_view("\0\0\0\0\0", 5)) {
    return ArrayFormat::safetensors;
  }
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  if (bytes[first] == '[') return ArrayFormat::json;
  if (std::string_view("0123456789+-.").find(bytes[first]) != std::string_view::npos) return ArrayFormat::csv;
  return std::nullopt;
}

ArrayFormat input_format(const Source& source, const FileBytes& file,
                         const std::optional<ArrayFormat>& given) {
  if (given) return *given;
  if (const auto format = format_of_path(source.path)) return *format;
  if (const auto format = format_of_content(file.bytes)) return *format;
  throw Error(ErrorKind::data,
              fmt::format("{}: neither its extension nor its content tells the format; known are {} "
                          "(--input-format chooses)",
                          source.path, format_names()));
}

/// The names of the tensors, a few of many.
std::string tensor_list(const std::vector<NamedTensor>& tensors) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, tensors.size()); ++i) names.push_back(excerpt(tensors[i].name));
  return fmt::format("{}{}", fmt::join(names, ", "), tensors.size() > most ? ", ..." : "");
}

void pick_tensor(ArrayFile& file, const std::string& name) {
  if (file.format != ArrayFormat::safetensors) {
    throw Error(ErrorKind::data,
                fmt::format("{}: it holds one array without a name; ':{}' picks a tensor of a .safetensors "
                            "file only",
                            file.path, name));
  }
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [&](const NamedTensor& tensor) { return tensor.name == name; });
  if (found == file.tensors.end()) {
    throw Error(ErrorKind::data, fmt::format("{}: there is no tensor {}; there are {}: {}", file.path,
                                             excerpt(name), file.tensors.size(), tensor_list(file.tensors)));
  }
  NamedTensor picked = std::move(*found);
  file.tensors.clear();
  file.tensors.push_back(std::move(picked));
}

void require_one(const ArrayFile& file) {
  if (file.tensors.size() == 1) return;
  if (file.tensors.empty())
    throw Error(ErrorKind::data, fmt::format("{}: there is no tensor in it", file.path));
  throw Error(ErrorKind::data, fmt::format("{}: it holds {} tensors; pick one with FILE:NAME: {}", file.path,
                                           file.tensors.size(), tensor_list(file.tensors)));
}

}  // namespace

const char* format_name(ArrayFormat format) {
  constexpr const char* names[] = {"npy", "csv", "tsv", "json", "safetensors"};
  return names[static_cast<std::size_t>(format)];
}

std::optional<ArrayFormat> format_named(std::string_view name) {
  for (const ArrayFormat format : all_formats) {
    if (name == format_name(format)) return format;
  }
  return std::nullopt;
}

const std::string& format_names() {
  static const std::string names = "npy, csv, tsv, json, safetensors";
  return names;
}

std::optional<ArrayFormat> format_of_path(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string extension(path.substr(dot + 1));
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return format_named(extension);
}

ArrayFile read_tensors(const std::string& source, const ReadOptions& options) {
  const Source where = split_source(source);
  if (where.path == "-" && !options.format) {
    throw Error(ErrorKind::usage,
                fmt::format("standard input needs --input-format; known are {}", format_names()));
  }
  const FileBytes bytes = read_bytes(where.path);
  const std::string name = input_name(where.path);
  ArrayFile file{name, input_format(where, bytes, options.format), {}, {}};
  switch (file.format) {
    case ArrayFormat::npy:
      file.tensors.push_back({"", parse_npy(bytes, name)});
      break;
    case ArrayFormat::csv:
      file.tensors.push_back({"", parse_csv(bytes.bytes, name, options.csv)});
      break;
    case ArrayFormat::tsv: {
      CsvOptions tabs = options.csv;
      tabs.delimiter = '\t';
      file.tensors.push_back({"", parse_csv(bytes.bytes, name, tabs)});
      break;
    }
    case ArrayFormat::json:
      file.tensors.push_back({"", parse_json_array(bytes.bytes, name)});
      break;
    case ArrayFormat::safetensors: {
      SafeTensors content = parse_safetensors(bytes, name);
      file.tensors = std::move(content.tensors);
      file.metadata = std::move(content.metadata);
      break;
    }
  }
  if (where.tensor) pick_tensor(file, *where.tensor);
  return file;
}

TypedArray read_typed_array(const std::string& source, const ReadOptions& options) {
  ArrayFile file = read_tensors(source, options);
  require_one(file);
  return std::move(file.tensors.front().array);
}

Array read_array(const std::string& source, const ReadOptions& options) {
  return to_array(read_typed_array(source, options), input_name(source));
}

void check_writable(const ArrayFile& content, ArrayFormat format) {
  if (format == ArrayFormat::safetensors) {
    for (const NamedTensor& tensor : content.tensors) check_tensor_name(tensor.name, content.path);
    return;
  }
  require_one(content);
  const TypedArray& array = content.tensors.front().array;
  if (format == ArrayFormat::csv || format == ArrayFormat::tsv) check_csv(array, content.path);
  if (format == ArrayFormat::json) check_json_array(array, content.path);
}

void write_tensors(const ArrayFile& content, ArrayFormat format, const ByteSink& sink) {
  switch (format) {
    case ArrayFormat::npy:
      return write_npy(content.tensors.front().array, sink);
    case ArrayFormat::csv:
      return write_csv(content.tensors.front().array, sink);
    case ArrayFormat::tsv:
      return write_csv(content.tensors.front().array, sink, '\t');
    case ArrayFormat::json:
      write_json_array(content.tensors.front().array, sink);
      return sink("\n");
    case ArrayFormat::safetensors:
      return write_safetensors({content.tensors, content.metadata}, sink);
  }
}

ArrayFormat output_format(const std::string& path, std::optional<ArrayFormat> format) {
  if (format) return *format;
  if (const auto told = format_of_path(path)) return *told;
  if (path == "-") {
    throw Error(ErrorKind::usage,
                fmt::format("standard output needs --format; known are {}", format_names()));
  }
  throw Error(ErrorKind::usage,
              fmt::format("--output {}: its extension tells no known format; known are {} (--format "
                          "chooses)",
                          path, format_names()));
}

WriteOutcome write_array(const std::string& path, const TypedArray& array,
                         std::optional<ArrayFormat> format) {
  const ArrayFormat chosen = output_format(path, format);
  const ArrayFile content{path, chosen, {{"data", array}}, {}};
  check_writable(content, chosen);
  return write_output(path, [&](const ByteSink& sink) { write_tensors(content, chosen, sink); });
}

}  // namespace attnlab

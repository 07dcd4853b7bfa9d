#include "io/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "io/utf8.hpp"

namespace attnlab {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct NamedType {
  std::string_view code;  // without the byte order
  DType dtype;
};

constexpr NamedType known_types[] = {
    {"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16}, {"i8", DType::i64},
    {"i4", DType::i32}, {"i2", DType::i16}, {"i1", DType::i8},  {"u8", DType::u64},
    {"u4", DType::u32}, {"u2", DType::u16}, {"u1", DType::u8},  {"b1", DType::boolean},
};

[[noreturn]] void fail(const std::string& name, const std::string& reason) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", name, reason));
}

/// What a type that is not supported is called.
std::string_view kind_of_type(std::string_view code) {
  if (code.starts_with("f16") || code.starts_with("f12") || code.starts_with("g"))
    return "long double numbers";
  switch (code.empty() ? '\0' : code[0]) {
    case 'O':
      return "pickled Python objects";
    case 'c':
      return "complex numbers";
    case 'S':
    case 'a':
      return "byte strings";
    case 'U':
      return "strings";
    case 'V':
      return "raw or structured records";
    case 'M':
    case 'm':
      return "dates or times";
    default:
      return "elements of an unknown type";
  }
}

/// Reads the Python dictionary of a header, of the form that NumPy writes: three keys, each once, in any
/// order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  TypedArray read() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = read_string();
      expect(':');
      read_entry(key);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (offset_ < text_.size()) malformed("text after the dictionary");
    if (!has_type_ || !has_order_ || !has_shape_)
      malformed("'descr', 'fortran_order' and 'shape' are all needed");
    return std::move(array_);
  }

 private:
  [[noreturn]] void malformed(const std::string& reason) const {
    fail(name_, fmt::format("the .npy header is not the dictionary that NumPy writes: {}", reason));
  }

  void read_entry(std::string_view key) {
    bool& seen = key == "descr" ? has_type_ : key == "fortran_order" ? has_order_ : has_shape_;
    if (key != "descr" && key != "fortran_order" && key != "shape")
      malformed(fmt::format("unknown key {}", excerpt(key)));
    if (std::exchange(seen, true)) malformed(fmt::format("duplicate key {}", excerpt(key)));
    if (key == "descr") {
      read_type();
    } else if (key == "fortran_order") {
      array_.fortran_order = read_boolean();
    } else {
      read_shape();
    }
  }

  void read_type() {
    skip_space();
    if (peek() == '[')
      fail(name_, "structured arrays (records with fields) are not supported; save each field by itself");
    const std::string_view text = read_string();
    std::string_view code = text;
    const bool has_byte_order =
        !code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos;
    if (has_byte_order) code.remove_prefix(1);
    for (const NamedType& type : known_types) {
      if (type.code != code) continue;
      array_.dtype = type.dtype;
      array_.big_endian = text[0] == '>' && item_size(type.dtype) > 1;
      return;
    }
    fail(name_,
         fmt::format(
             "it holds {} (type {}), which are not supported; save it as float64, or another type of real "
             "numbers or bool",
             kind_of_type(code), excerpt(text)));
  }

  bool read_boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(offset_).starts_with(word)) continue;
      offset_ += word.size();
      return value;
    }
    malformed("'fortran_order' must be True or False");
  }

  void read_shape() {
    expect('(');
    bool needs_comma = false;
    while (!accept(')')) {
      if (needs_comma) malformed("',' is missing in 'shape'");
      array_.shape.push_back(read_length());
      needs_comma = !accept(',');
    }
    // (3) is a number in Python, (3,) is a shape.
    if (array_.shape.size() == 1 && needs_comma) malformed("'shape' is a number, not a tuple");
  }

  std::size_t read_length() {
    skip_space();
    if (peek() == '-') malformed("a negative size in 'shape'");
    std::size_t length = 0;
    const char* const begin = text_.data() + offset_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), length);
    if (error == std::errc::result_out_of_range)
      fail(name_, "a size in 'shape' of the .npy header is too large for 64 bits");
    if (error != std::errc()) malformed("'shape' must be a tuple of whole numbers");
    offset_ += static_cast<std::size_t>(end - begin);
    if (peek() == 'L') ++offset_;  // as Python 2 wrote long integers
    return length;
  }

  std::string_view read_string() {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("a quoted string is missing");
    const std::size_t begin = ++offset_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) malformed("a string has no closing quote");
    offset_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  char peek() const { return offset_ < text_.size() ? text_[offset_] : '\0'; }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++offset_;
  }

  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++offset_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("'{}' is missing", c));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t offset_ = 0;
  TypedArray array_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

std::string_view type_code(DType dtype) {
  for (const NamedType& type : known_types) {
    if (type.dtype == dtype) return type.code;
  }
  return type_code(DType::f32);  // bfloat16
}

}  // namespace

TypedArray parse_npy(const FileBytes& file, const std::string& name) {
  const std::string_view bytes = file.bytes;
  if (bytes.empty()) fail(name, "the file is empty, not a .npy file");
  if (!bytes.starts_with(magic))
    fail(name, "not a .npy file: it does not begin with the magic bytes \\x93NUMPY");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t version = bytes.size() > magic.size() ? byte(magic.size()) : 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t header_begin = magic.size() + 2 + length_bytes;
  if (bytes.size() < header_begin) fail(name, "truncated: the file ends inside the .npy header");
  if (version < 1 || version > 3 || byte(magic.size() + 1) != 0) {
    fail(name, fmt::format("version {}.{} of .npy is unknown; 1.0, 2.0 and 3.0 are supported", version,
                           byte(magic.size() + 1)));
  }
  std::size_t header_length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    header_length = header_length << 8 | byte(magic.size() + 2 + i);
  if (header_length > bytes.size() - header_begin) {
    fail(name,
         fmt::format("truncated: the .npy header is {} bytes long by its own account, but only {} follow",
                     header_length, bytes.size() - header_begin));
  }
  TypedArray array = HeaderReader(bytes.substr(header_begin, header_length), name).read();
  const std::size_t expected = checked_byte_count(array.dtype, array.shape, name);
  const std::size_t found = bytes.size() - header_begin - header_length;
  if (found != expected) {
    fail(name, fmt::format("{}: shape {} of {} takes {} bytes, {} are there",
                           found < expected ? "truncated" : "extra bytes at the end", shape_text(array.shape),
                           dtype_name(array.dtype), expected, found));
  }
  array.content = file.part(header_begin + header_length, found);
  return array;
}

void write_npy(const TypedArray& array, const ByteSink& sink) {
  const char byte_order = item_size(array.dtype) == 1 ? '|' : '<';
  // A tuple of one needs its comma.
  const std::string shape =
      fmt::format("({}{})", fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", byte_order,
                                   type_code(array.dtype), shape);
  // The numbers begin at a multiple of 64 bytes.
  const std::size_t preamble = magic.size() + 4;
  header.append(63 - (preamble + header.size()) % 64, ' ');
  header += '\n';
  std::string begin(magic);
  begin += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  sink(begin + header);
  if (array.dtype != DType::bf16) {
    for_each_piece(array, sink);
    return;
  }
  for_each_piece(array, [&](std::string_view bytes) {
    std::string wide(bytes.size() * 2, '\0');
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
      // A bfloat16 is the upper half of its float32; NaN payloads survive.
      wide[2 * i + 2] = bytes[i];
      wide[2 * i + 3] = bytes[i + 1];
    }
    sink(wide);
  });
}

}  // namespace attnlab

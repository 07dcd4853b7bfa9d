#include "io/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/error.hpp"
#include "io/json.hpp"
#include "io/utf8.hpp"

namespace attnlab {
namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::size_t longest_header = 100'000'000;  // as in the reference implementation
constexpr std::size_t alignment = 64;  // of the data, as in .npy files: a copy between the two is fast
constexpr std::string_view metadata_key = "__metadata__";

struct NamedType {
  std::string_view name;
  DType dtype;
};

constexpr NamedType known_types[] = {
    {"F64", DType::f64},      {"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16},
    {"I64", DType::i64},      {"I32", DType::i32}, {"I16", DType::i16}, {"I8", DType::i8},
    {"U64", DType::u64},      {"U32", DType::u32}, {"U16", DType::u16}, {"U8", DType::u8},
    {"BOOL", DType::boolean},
};

/// The bytes [begin, end) of a tensor, counted from the end of the header.
struct Extent {
  std::size_t begin;
  std::size_t end;
  const std::string* tensor;
};

[[noreturn]] void fail(const std::string& name, const std::string& reason) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", name, reason));
}

/// The header text, once its length has been compared with that of the file.
std::string_view header_text(std::string_view bytes, const std::string& name) {
  if (bytes.size() < length_bytes) {
    fail(name,
         fmt::format(
             "too short for a .safetensors file: {} bytes where the length of the header alone takes {}",
             bytes.size(), length_bytes));
  }
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > longest_header) {
    fail(name, fmt::format("the header length {} is too large; at most {} bytes are allowed", length,
                           longest_header));
  }
  if (length > bytes.size() - length_bytes) {
    fail(name, fmt::format("truncated: the header length is {}, but only {} bytes follow", length,
                           bytes.size() - length_bytes));
  }
  return bytes.substr(length_bytes, length);
}

/// Reads one entry of the header.
class EntryReader {
 public:
  EntryReader(const JsonMember& member, const std::string& name)
      : entry_(member.value), name_(fmt::format("{}: tensor {}", name, excerpt(member.key))) {}

  TypedArray read(Extent& extent) const {
    if (entry_.object() == nullptr)
      fail(name_, fmt::format("{} in the header where an object was expected", entry_.kind()));
    TypedArray array;
    array.dtype = read_type();
    for (const JsonValue& length : list("shape")) array.shape.push_back(read_size(length, "shape"));
    const JsonValue::Array& offsets = list("data_offsets");
    if (offsets.size() != 2)
      fail(name_, fmt::format("data_offsets holds {} numbers instead of 2", offsets.size()));
    extent.begin = read_size(offsets[0], "data_offsets");
    extent.end = read_size(offsets[1], "data_offsets");
    if (extent.begin > extent.end) {
      fail(name_, fmt::format("data_offsets [{}, {}] end before they begin", extent.begin, extent.end));
    }
    const std::size_t expected = checked_byte_count(array.dtype, array.shape, name_);
    if (extent.end - extent.begin != expected) {
      fail(name_, fmt::format("shape {} of {} takes {} bytes, but data_offsets [{}, {}] hold {}",
                              shape_text(array.shape), dtype_name(array.dtype), expected, extent.begin,
                              extent.end, extent.end - extent.begin));
    }
    return array;
  }

 private:
  const JsonValue& member(const char* key) const {
    const JsonValue* value = entry_.find(key);
    if (value == nullptr) fail(name_, fmt::format("no {} in the header", key));
    return *value;
  }

  DType read_type() const {
    const std::string* text = member("dtype").string();
    if (text == nullptr) fail(name_, "dtype in the header is not a string");
    for (const NamedType& type : known_types) {
      if (type.name == *text) return type.dtype;
    }
    fail(name_,
         fmt::format("dtype {} is not supported; F64, F32, F16, BF16, I8 to I64, U8 to U64 and BOOL are",
                     excerpt(*text)));
  }

  const JsonValue::Array& list(const char* key) const {
    const JsonValue::Array* items = member(key).array();
    if (items == nullptr) fail(name_, fmt::format("{} in the header is not a list", key));
    return *items;
  }

  std::size_t read_size(const JsonValue& value, const char* key) const {
    const JsonNumber* number = value.number();
    Int128 size = 0;
    if (number == nullptr || !number->is_integer())
      fail(name_, fmt::format("{} holds {} where a whole number was expected", key,
                              number == nullptr ? value.kind() : excerpt(number->text)));
    if (number->text.starts_with('-'))
      fail(name_, fmt::format("{} holds the negative number {}", key, excerpt(number->text)));
    if (!to_integer(*number, size) || size > std::numeric_limits<std::int64_t>::max()) {
      fail(name_, fmt::format("{} holds {}, which is too large for 63 bits", key, excerpt(number->text)));
    }
    return static_cast<std::size_t>(size);
  }

  const JsonValue& entry_;
  std::string name_;
};

void read_metadata(const JsonValue& value, const std::string& name, SafeTensors& content) {
  const JsonValue::Object* members = value.object();
  if (members == nullptr) fail(name, "the __metadata__ of the header is not an object");
  for (const JsonMember& member : *members) {
    const std::string* text = member.value.string();
    if (text == nullptr) {
      fail(name, fmt::format("the __metadata__ of the header holds {} for {}; only strings are allowed",
                             member.value.kind(), excerpt(member.key)));
    }
    content.metadata.emplace_back(member.key, *text);
  }
}

/// Throws unless the extents lie one behind the other from 0 to the end of the data.
void check_cover(std::vector<Extent> extents, std::size_t data_size, const std::string& name) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::size_t covered = 0;
  for (const Extent& extent : extents) {
    const std::string tensor = excerpt(*extent.tensor);
    if (extent.end > data_size) {
      fail(name,
           fmt::format(
               "truncated: tensor {} has data_offsets up to {}, but only {} bytes of data follow the header",
               tensor, extent.end, data_size));
    }
    if (extent.begin < covered) {
      fail(name,
           fmt::format("tensors overlap: the data_offsets of {} begin at {}, before the end {} of another",
                       tensor, extent.begin, covered));
    }
    if (extent.begin > covered) {
      fail(name, fmt::format("a gap: no tensor covers the bytes {} to {} before the data_offsets of {}",
                             covered, extent.begin, tensor));
    }
    covered = extent.end;
  }
  if (covered < data_size) {
    fail(name, fmt::format("{} extra bytes trailing after the last tensor", data_size - covered));
  }
}

std::string_view type_name(DType dtype) {
  return std::find_if(std::begin(known_types), std::end(known_types),
                      [&](const NamedType& type) { return type.dtype == dtype; })
      ->name;
}

}  // namespace

SafeTensors parse_safetensors(const FileBytes& file, const std::string& name) {
  const std::string_view header = header_text(file.bytes, name);
  const std::string_view data = file.bytes.substr(length_bytes + header.size());
  const JsonValue document = parse_json(header, name + ": header");
  if (document.object() == nullptr) {
    fail(name, fmt::format("the header is {} where a JSON object was expected", document.kind()));
  }
  SafeTensors content;
  std::vector<Extent> extents;
  for (const JsonMember& member : *document.object()) {
    if (member.key == metadata_key) {
      read_metadata(member.value, name, content);
      continue;
    }
    Extent extent{0, 0, &member.key};
    content.tensors.push_back({member.key, EntryReader(member, name).read(extent)});
    extents.push_back(extent);
  }
  check_cover(extents, data.size(), name);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    content.tensors[i].array.content =
        file.part(length_bytes + header.size() + extents[i].begin, extents[i].end - extents[i].begin);
  }
  return content;
}

void check_tensor_name(const std::string& tensor, const std::string& name) {
  if (tensor == metadata_key)
    fail(name, fmt::format("a tensor of a .safetensors file cannot be called {}", tensor));
}

void write_safetensors(const SafeTensors& content, const ByteSink& sink) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : content.tensors) order.push_back(&tensor);
  // Behind wider elements narrower ones are aligned as well.
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return item_size(a->array.dtype) > item_size(b->array.dtype);
  });
  std::vector<std::string> entries;
  if (!content.metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : content.metadata) {
      pairs.push_back(fmt::format("{}:{}", json_string(key), json_string(value)));
    }
    entries.push_back(fmt::format("\"{}\":{{{}}}", metadata_key, fmt::join(pairs, ",")));
  }
  std::size_t offset = 0;
  for (const NamedTensor* tensor : order) {
    const std::size_t begin = offset;
    offset += tensor->array.size() * item_size(tensor->array.dtype);
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_string(tensor->name), type_name(tensor->array.dtype),
                                  fmt::join(tensor->array.shape, ","), begin, offset));
  }
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.append((alignment - (length_bytes + header.size()) % alignment) % alignment, ' ');
  std::string length(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  sink(length + header);
  for (const NamedTensor* tensor : order) for_each_piece(tensor->array, sink);
}

}  // namespace attnlab

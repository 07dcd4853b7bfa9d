#include "io/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "core/error.hpp"
#include "io/number_list.hpp"
#include "io/utf8.hpp"

namespace attnlab {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t flush_size = std::size_t{1} << 16;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

/// "nan", "inf" or "infinity" in any case, with or without sign.
std::optional<double> special_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (equal_ignoring_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (!equal_ignoring_case(text, "inf") && !equal_ignoring_case(text, "infinity")) return std::nullopt;
  return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

void check_options(const CsvOptions& options) {
  const auto refuse = [](const std::string& text) { throw Error(ErrorKind::usage, text); };
  const auto printable = [](char c) { return c == '\t' || (c >= ' ' && c < '\x7F'); };
  const bool letter_or_digit = std::isalnum(static_cast<unsigned char>(options.delimiter)) != 0;
  if (!printable(options.delimiter) || letter_or_digit ||
      std::string_view("+-.\"").find(options.delimiter) != std::string_view::npos) {
    refuse(
        fmt::format("--csv-delimiter: {} cannot stand between numbers; use for example ',' or ';' or a tab",
                    excerpt({&options.delimiter, 1})));
  }
  if (options.decimal != '.' && options.decimal != ',') {
    refuse(fmt::format("--csv-decimal: {} is not a decimal sign; use '.' or ','",
                       excerpt({&options.decimal, 1})));
  }
  if (options.decimal == options.delimiter) {
    refuse(
        "--csv-decimal: the decimal sign and the delimiter are the same; for semicolons give --csv-delimiter "
        "';'");
  }
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name, const CsvOptions& options)
      : text_(text), name_(name), options_(options) {}

  TypedArray read() {
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
      fail("the text is UTF-16; save it as UTF-8");
    }
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
    if (text_.empty()) fail("the file is empty; lines of numbers were expected");
    if (options_.header) next_line();
    std::size_t empty_line = 0;
    while (!text_.empty()) {
      const std::string_view line = next_line();
      if (is_blank(line)) {
        if (empty_line == 0 && rows_ > 0) empty_line = line_number_;
        continue;
      }
      if (empty_line != 0 && rows_ > 0)
        fail(fmt::format("line {}: an empty line between the rows", empty_line));
      read_row(line);
    }
    if (rows_ == 0) fail(options_.header ? "no data after the header line" : "no data: only empty lines");
    return numbers_.finish({rows_, columns_}, inexact_place_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(ErrorKind::data, fmt::format("{}: {}", name_, reason));
  }
  [[noreturn]] void fail_at(std::size_t column, const std::string& reason) const {
    fail(fmt::format("line {}, column {}: {}", line_number_, column, reason));
  }

  /// Takes the next line without its end: "\n", "\r\n" or "\r".
  std::string_view next_line() {
    const std::size_t end = std::min(text_.find_first_of("\r\n"), text_.size());
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + (text_.substr(end).starts_with("\r\n") ? 2 : 1), text_.size()));
    ++line_number_;
    return line;
  }

  bool is_blank(std::string_view line) const {
    return std::all_of(line.begin(), line.end(),
                       [&](char c) { return c == ' ' || (c == '\t' && options_.delimiter != '\t'); });
  }

  void read_row(std::string_view line) {
    if (options_.delimiter == ' ') line = trimmed(line);
    std::size_t column = 0;
    bool more = true;
    while (more) {
      ++column;
      more = take_field(line, column);
    }
    if (rows_ == 0) {
      columns_ = column;
      first_row_line_ = line_number_;
    } else if (column != columns_) {
      fail(fmt::format("line {}: {} fields where line {} has {}", line_number_, column, first_row_line_,
                       columns_));
    }
    ++rows_;
  }

  /// Reads the first field of the rest of a line and takes it off, with the delimiter; whether there was one.
  bool take_field(std::string_view& rest, std::size_t column) {
    const std::string_view whole = rest;
    std::size_t end = 0;
    std::string_view field;
    const std::size_t first = std::min(skip_blanks(rest, 0), rest.size());
    if (first < rest.size() && rest[first] == '"') {
      const std::size_t quote = rest.find('"', first + 1);
      if (quote == std::string_view::npos) fail_at(column, "a field without closing quote");
      field = rest.substr(first + 1, quote - first - 1);
      end = skip_blanks(rest, quote + 1);
      if (end < rest.size() && rest[end] != options_.delimiter) {
        fail_at(column, fmt::format("{} after the closing quote", excerpt(rest.substr(end))));
      }
    } else {
      end = std::min(rest.find(options_.delimiter), rest.size());
      field = rest.substr(0, end);
    }
    take_number(trimmed(field), column, whole);
    if (end == rest.size()) return false;
    rest.remove_prefix(end + 1);
    if (options_.delimiter == ' ') rest = trimmed(rest);
    return true;
  }

  std::size_t skip_blanks(std::string_view text, std::size_t from) const {
    while (from < text.size() && text[from] != options_.delimiter &&
           (text[from] == ' ' || text[from] == '\t'))
      ++from;
    return from;
  }

  void take_number(std::string_view field, std::size_t column, std::string_view rest_of_line) {
    if (field.empty()) fail_at(column, "an empty field where a number was expected");
    if (const std::optional<double> special = special_number(field)) return numbers_.push_special(*special);
    std::string_view digits = field;
    std::string with_point;
    if (options_.decimal == ',') {
      if (field.find('.') != std::string_view::npos) fail_not_a_number(field, column, rest_of_line);
      with_point = field;
      std::replace(with_point.begin(), with_point.end(), ',', '.');
      digits = with_point;
    }
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    const bool was_exact = !numbers_.has_inexact();
    switch (numbers_.push(digits)) {
      case DecimalStatus::good:
        break;
      case DecimalStatus::too_large:
        fail_at(column, fmt::format("{} is out of range: too large for a double", excerpt(field)));
      case DecimalStatus::not_decimal:
        fail_not_a_number(field, column, rest_of_line);
    }
    if (was_exact && numbers_.has_inexact()) {
      inexact_place_ = fmt::format("{}: line {}, column {}: {}", name_, line_number_, column, excerpt(field));
    }
  }

  [[noreturn]] void fail_not_a_number(std::string_view field, std::size_t column,
                                      std::string_view rest_of_line) const {
    std::string hint;
    if (options_.delimiter != ';' && rest_of_line.find(';') != std::string_view::npos) {
      hint = "; for fields between semicolons give --csv-delimiter ';', for decimal commas --csv-decimal ','";
    } else if (options_.delimiter != '\t' && rest_of_line.find('\t') != std::string_view::npos) {
      hint = "; for fields between tabs give --csv-delimiter tab";
    } else if (options_.delimiter != ' ' && field.find(' ') != std::string_view::npos) {
      hint = "; for fields between blanks, as numpy.savetxt writes them, give --csv-delimiter ' '";
    } else if (line_number_ == 1 && std::isalpha(static_cast<unsigned char>(field[0])) != 0) {
      hint = "; when the first line holds names give --header";
    }
    fail_at(column, fmt::format("{} is not a number{}", excerpt(field), hint));
  }

  std::string_view text_;  // what is still to be read
  const std::string& name_;
  CsvOptions options_;
  std::size_t line_number_ = 0;
  std::size_t first_row_line_ = 0;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  NumberList numbers_;
  std::string inexact_place_;
};

}  // namespace

TypedArray parse_csv(std::string_view text, const std::string& name, const CsvOptions& options) {
  check_options(options);
  return CsvReader(text, name, options).read();
}

void check_csv(const TypedArray& array, const std::string& name) {
  if (array.shape.size() <= 2 && array.size() > 0) return;
  throw Error(
      ErrorKind::data,
      fmt::format(
          "{}: csv holds at most two dimensions and at least one number, not the shape {}; use .npy, .json "
          "or .safetensors",
          name, shape_text(array.shape)));
}

void write_csv(const TypedArray& array, const ByteSink& sink, char delimiter) {
  const std::size_t columns = array.shape.empty() ? 1 : array.shape.back();
  std::string text;
  std::size_t column = 0;
  with_element_type(array.dtype, [&](auto type) {
    for_each_element<decltype(type)>(array, [&](auto element) {
      append_element(text, element, SpecialNumbers::plain);
      const bool last = ++column == columns;
      text += last ? '\n' : delimiter;
      if (last) column = 0;
      if (text.size() < flush_size) return;
      sink(text);
      text.clear();
    });
  });
  sink(text);
}

}  // namespace attnlab

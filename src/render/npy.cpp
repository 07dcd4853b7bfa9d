// NumPy's .npy: one array, or the numbers of one table.
#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/npy.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

// A table as [rows, columns] doubles; a column of words has no place in it.
Array numbers_of(const Table& table) {
  Array array{{table.rows.size(), table.columns.size()}, {}};
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (std::holds_alternative<std::string>(row[j])) {
        throw Error(ErrorKind::usage,
                    fmt::format("--format: npy holds numbers and column {} of {} holds words; csv would do",
                                table.columns[j].name, table.name));
      }
      array.values.push_back(number_of(row[j]));
    }
  }
  return array;
}

}  // namespace

std::string render_npy(const Result& result, const RenderOptions& options) {
  const Grid* grid = chosen_grid(result, options.table);
  const Array array = grid != nullptr ? grid->array : numbers_of(chosen_table(result, options));
  const bool whole = grid != nullptr && grid->whole_numbers;
  std::string bytes;
  const ByteSink sink = [&](std::string_view piece) { bytes += piece; };
  write_npy(whole ? to_typed(array, DType::i64, grid->name) : view_of(array), sink);
  return bytes;
}

}  // namespace attnlab

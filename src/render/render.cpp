#include "render/render.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"

namespace attnlab {
namespace {

[[noreturn]] void no_such_table(const Result& result, std::string_view name) {
  if (result.report.data_names().empty()) {
    throw Error(ErrorKind::usage, fmt::format("--table: {} has no tables", result.name));
  }
  throw Error(ErrorKind::usage,
              fmt::format("--table: {} is not one of {}", name, fmt::join(result.report.data_names(), ", ")));
}

// The name asked for, or the first there is.
std::string chosen_name(const Result& result, std::string_view name) {
  const std::vector<std::string>& names = result.report.data_names();
  if (!name.empty()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) no_such_table(result, name);
    return std::string(name);
  }
  if (names.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("--format: {} has no table to write so; text and json would do", result.name));
  }
  return names.front();
}

}  // namespace

const std::vector<Renderer>& renderers() {
  static const std::vector<Renderer> all = {
      {"text", {".txt"}, render_text},
      {"csv", {".csv"}, render_csv},
      {"tsv", {".tsv"}, render_tsv},
      {"json", {".json"}, render_json},
      {"ndjson", {".ndjson", ".jsonl"}, render_ndjson},
      {"npy", {".npy"}, render_npy},
      {"md", {".md"}, render_markdown},
      {"gnuplot", {".gp", ".gnuplot"}, render_gnuplot},
      {"vega-lite", {".vl.json"}, render_vega_lite},
      {"svg", {".svg"}, render_svg},
      {"png", {".png"}, render_png},
      {"pdf", {".pdf"}, render_pdf},
      {"html", {".html", ".htm"}, render_html},
  };
  return all;
}

const Renderer& find_renderer(std::string_view name) {
  std::vector<std::string> names;
  for (const Renderer& renderer : renderers()) {
    if (renderer.name == name) return renderer;
    names.push_back(renderer.name);
  }
  throw Error(ErrorKind::usage, fmt::format("--format: {} is not one of {}", name, fmt::join(names, ", ")));
}

const Renderer* renderer_of_path(std::string_view given) {
  std::string path(given);
  for (char& c : path) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const Renderer* found = nullptr;
  std::size_t longest = 0;  // ".vl.json" is more than ".json"
  for (const Renderer& renderer : renderers()) {
    for (const std::string& extension : renderer.extensions) {
      if (path.size() > extension.size() && path.ends_with(extension) && extension.size() > longest) {
        found = &renderer;
        longest = extension.size();
      }
    }
  }
  return found;
}

const Grid* chosen_grid(const Result& result, std::string_view name) {
  return result.report.find_grid(chosen_name(result, name));
}

Table chosen_table(const Result& result, const RenderOptions& options) {
  const std::string name = chosen_name(result, options.table);
  if (const Table* table = result.report.find_table(name)) return *table;
  const Grid& grid = *result.report.find_grid(name);
  return options.wide ? wide_form(grid) : long_form(grid);
}

}  // namespace attnlab

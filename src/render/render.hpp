// Renderers: a result in, bytes out. Adding a format is one file and one line in render.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/report.hpp"
#include "render/canvas.hpp"

namespace attnlab {

/// A report with what identifies it: which command made it, with which parameters.
struct Result {
  std::string name;                                       ///< the command: "attention"
  std::vector<std::pair<std::string, Value>> parameters;  ///< all of them, defaults too
  Report report;
  bool lesson_listing = false;  ///< plain text is the lesson's own: claims only with `explain`
  bool values_only = false;     ///< JSON is the object of the values, without what surrounds an experiment's
  // What a page tells beside the report; empty where there is nothing to tell.
  std::string section = {};  ///< of the lesson
  std::string purpose = {};  ///< a paragraph
  std::string source = {};   ///< authors, year, section
  std::string command = {};  ///< the command line that gives this result
};

/// How a result is to be shown.
struct RenderOptions {
  std::string table = {};  ///< which table, array or figure; the first when empty
  bool wide = false;       ///< a matrix as a grid in csv and tsv, not in long form
  bool plain_grid =
      false;  ///< an array as a grid without header (`op`, `convert`), not as an experiment's table
  bool explain = false;  ///< after the result, how it came about
  std::optional<int> precision =
      {};  ///< digits in text; 3 decimals for arrays, 6 significant ones for tables when absent
  TerminalStyle style = {};            ///< for pictures in the terminal
  std::string_view chart_script = {};  ///< what draws the figures of a page: the JavaScript of vega.bundle.js
};

struct Renderer {
  std::string name;                     ///< what --format takes
  std::vector<std::string> extensions;  ///< of --output that mean it, with the dot
  std::string (*render)(const Result&, const RenderOptions&);
};

/// All formats, text first.
const std::vector<Renderer>& renderers();
/// Throws Error(usage) for a format there is none of, naming those there are.
const Renderer& find_renderer(std::string_view name);
/// The format that the extension of a path means, or null.
const Renderer* renderer_of_path(std::string_view path);

/// The table that `name` picks (a grid in long or wide form), the first when empty; throws Error(usage)
/// naming those there are.
Table chosen_table(const Result& result, const RenderOptions& options);
/// The grid that `name` picks, null when it picks a table; throws Error(usage) like chosen_table.
const Grid* chosen_grid(const Result& result, std::string_view name);

std::string render_text(const Result& result, const RenderOptions& options);
std::string render_csv(const Result& result, const RenderOptions& options);
std::string render_tsv(const Result& result, const RenderOptions& options);
std::string render_json(const Result& result, const RenderOptions& options);
std::string render_ndjson(const Result& result, const RenderOptions& options);
std::string render_npy(const Result& result, const RenderOptions& options);
std::string render_markdown(const Result& result, const RenderOptions& options);
std::string render_gnuplot(const Result& result, const RenderOptions& options);
std::string render_vega_lite(const Result& result, const RenderOptions& options);
std::string render_svg(const Result& result, const RenderOptions& options);
std::string render_png(const Result& result, const RenderOptions& options);
std::string render_pdf(const Result& result, const RenderOptions& options);
/// One page of a result: see html.hpp for a page of several.
std::string render_html(const Result& result, const RenderOptions& options);
/// The figures in the terminal: --plot, which is no format of --format.
std::string render_plot(const Result& result, const RenderOptions& options);

}  // namespace attnlab

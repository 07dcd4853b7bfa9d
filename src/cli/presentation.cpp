#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "io/input.hpp"

namespace attnlab {
namespace {

const Renderer& chosen_renderer(const Presentation& presentation) {
  if (!presentation.format.empty()) return find_renderer(presentation.format);
  if (const Renderer* renderer = renderer_of_path(presentation.output)) return *renderer;
  for (const char* picture : {".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".eps"}) {
    if (presentation.output.ends_with(picture)) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: pictures are written as .svg, .png or .pdf", presentation.output));
    }
  }
  return renderers().front();
}

// Formats that hold the whole report pick nothing, but a wrong name is wrong there, too.
void refuse_unknown_table(const Report& report, const std::string& name) {
  std::vector<std::string> names = report.data_names();
  for (const Figure& figure : report.figures()) {
    if (std::find(names.begin(), names.end(), figure.name) == names.end()) names.push_back(figure.name);
  }
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  throw Error(ErrorKind::usage, fmt::format("--table: {} is not one of {}", name, fmt::join(names, ", ")));
}

// The terminal shows characters; a picture or numbers in a file are another wish.
void refuse_plot_as_format(const Presentation& presentation) {
  const Renderer& renderer = chosen_renderer(presentation);
  if (!presentation.plot || renderer.name == "text") return;
  throw Error(ErrorKind::usage,
              fmt::format("--plot: it draws in the terminal, not as {}; without it {} is written",
                          renderer.name, renderer.name));
}

}  // namespace

void declare_destination(OptionSet& options, Presentation& presentation) {
  options.file("output", presentation.output, "write there, whole or not at all; - is standard output")
      .short_form('o')
      .no_parameter();
  options.flag("plot", presentation.plot, "draw it in the terminal instead of the text").no_parameter();
  options.integer("precision", presentation.precision, 0, 17, "digits in text").no_parameter();
  options.choice("color", presentation.color, {"auto", "always", "never"}, "colour in the terminal")
      .no_parameter();
  options.flag("quiet", presentation.quiet, "nothing on standard error but errors")
      .short_form('q')
      .no_parameter();
}

void declare_presentation(OptionSet& options, Presentation& presentation) {
  std::vector<std::string> formats;
  for (const Renderer& renderer : renderers()) formats.push_back(renderer.name);
  options
      .choice("format", presentation.format, formats,
              "what is written; told by the extension of --output, else text")
      .no_parameter();
  options.text("table", presentation.table, "NAME", "which table, array or figure; the first unless given")
      .no_parameter();
  options.flag("tables", presentation.list_tables, "list what --table takes").no_parameter();
  options.flag("wide", presentation.wide, "csv and tsv of a matrix as a grid, not as row, column, value")
      .no_parameter();
  declare_destination(options, presentation);
}

TerminalStyle terminal_style(const Presentation& presentation, const Environment& environment) {
  const bool to_terminal = environment.output_is_terminal && presentation.output == "-";
  TerminalStyle style;
  style.width = environment.columns;
  style.unicode = to_terminal && environment.utf8;
  // NO_COLOR is a person's standing wish; it stands above --color.
  const bool colored = !environment.no_color &&
                       (presentation.color == "always" || (presentation.color == "auto" && to_terminal));
  if (colored)
    style.color = environment.true_color ? TerminalStyle::Color::truecolor : TerminalStyle::Color::ansi256;
  return style;
}

std::string chart_script(const Environment& environment) {
  const std::filesystem::path folder = environment.program_folder;
  for (const std::filesystem::path& path :
       {folder / "vega.bundle.js", folder / ".." / "share" / "attnlab" / "vega.bundle.js"}) {
    if (!folder.empty() && std::filesystem::exists(path)) return std::string(read_bytes(path.string()).bytes);
  }
  throw Error(
      ErrorKind::io,
      "the page's figures need vega.bundle.js, which this build lacks: install Node.js with npm, then "
      "build and install attnlab again");
}

Outcome present(const Result& result, const Presentation& presentation, const Environment& environment) {
  refuse_plot_as_format(presentation);
  Outcome outcome;
  outcome.path = presentation.output;
  if (presentation.list_tables) {
    for (const std::string& name : result.report.data_names()) outcome.output += name + '\n';
    return outcome;
  }
  refuse_unknown_table(result.report, presentation.table);
  RenderOptions options;
  options.table = presentation.table;
  options.wide = presentation.wide;
  options.plain_grid = presentation.plain_grid;
  options.explain = presentation.explain;
  options.precision = presentation.precision;
  options.style = terminal_style(presentation, environment);
  if (presentation.plot) {
    outcome.output = render_plot(result, options);
    return outcome;
  }
  const Renderer& renderer = chosen_renderer(presentation);
  std::string script;
  if (renderer.name == "html" && !result.report.figures().empty()) {
    script = chart_script(environment);
    options.chart_script = script;
  }
  outcome.output = renderer.render(result, options);
  return outcome;
}

}  // namespace attnlab

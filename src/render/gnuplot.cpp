// A gnuplot script with its data, and the pictures that gnuplot makes of it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "render/figure_data.hpp"
#include "render/gnuplot_process.hpp"
#include "render/palette.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

// In single quotes nothing is special but the quote, which is doubled.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string number(double value) { return std::isfinite(value) ? shortest(value) : "NaN"; }

std::string series_style(std::size_t index, bool theory) {
  return fmt::format("lc rgb '{}' lw 2{}", hex_color(series_color(index)), theory ? " dt 2" : "");
}

std::string scale_lines(const char* axis, const Axis& what) {
  std::string out = fmt::format("set {}label {}\n", axis, quoted(axis_title(what)));
  if (what.scale == Scale::linear) return out + fmt::format("unset logscale {}\n", axis);
  return out + fmt::format("set logscale {} {}\n", axis, what.scale == Scale::log2 ? 2 : 10);
}

std::string palette_line(bool diverging) {
  constexpr int stops = 16;
  std::string out = "set palette defined (";
  for (int i = 0; i <= stops; ++i) {
    const double t = static_cast<double>(i) / stops;
    out += fmt::format("{}{} '{}'", i > 0 ? ", " : "", i,
                       hex_color(diverging ? diverging_color(2 * t - 1) : sequential_color(t)));
  }
  return out + ")\n";
}

std::string tics(const char* axis, const std::vector<std::string>& labels) {
  if (labels.empty()) return fmt::format("set {}tics auto\n", axis);
  std::string out = fmt::format("set {}tics (", axis);
  for (std::size_t i = 0; i < labels.size(); ++i)
    out += fmt::format("{}{} {}", i > 0 ? ", " : "", quoted(labels[i]), i);
  return out + ")\n";
}

std::string line_panel(const FigureData& data, const FigurePanel& panel, const std::string& name) {
  std::string blocks;
  std::string plot;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const FigureSeries& series = panel.series[s];
    blocks += fmt::format("${}_{} << EOD\n", name, s);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      blocks += number(series.x[i]) + ' ' + number(series.y[i]);
      if (!series.error.empty()) blocks += ' ' + number(series.error[i]);
      blocks += '\n';
    }
    blocks += "EOD\n";
    const std::string separator = plot.empty() ? "plot " : ", \\\n     ";
    if (!series.error.empty()) {
      plot += fmt::format(
          "{}${}_{} using 1:($2-$3):($2+$3) with filledcurves fs transparent solid 0.2 noborder lc rgb '{}' "
          "notitle",
          separator, name, s, hex_color(series_color(s)));
      plot += fmt::format(", \\\n     ${}_{} using 1:2 with linespoints pt 7 ps 0.7 {} title {}", name, s,
                          series_style(s, series.theory), quoted(series.label));
    } else {
      plot += fmt::format("{}${}_{} using 1:2 with {} {} title {}", separator, name, s,
                          series.theory ? "lines" : "linespoints pt 7 ps 0.7", series_style(s, series.theory),
                          quoted(series.label));
    }
  }
  const bool key = panel.series.size() > 1;
  return blocks + scale_lines("x", data.figure.x_axis) + scale_lines("y", data.figure.y_axis) +
         "set xtics auto\nset ytics auto\nset autoscale\n" + (key ? "set key outside top\n" : "unset key\n") +
         plot + '\n';
}

std::string bar_panel(const FigureData& data, const FigurePanel& panel, const std::string& name) {
  const bool stacked = data.figure.kind == FigureKind::stacked_bars;
  std::string out = fmt::format("${} << EOD\n", name);
  for (std::size_t i = 0; i < panel.categories.size(); ++i) {
    std::string label = panel.categories[i];
    std::replace_if(
        label.begin(), label.end(), [](char c) { return c == '"' || c == '\n'; }, ' ');
    out += '"' + label + '"';
    for (const FigureSeries& series : panel.series) out += ' ' + number(series.y[i]);
    out += '\n';
  }
  out += "EOD\n";
  out += fmt::format(
      "set style data histograms\nset style histogram {}\nset boxwidth 0.8\nset style fill solid 0.9 "
      "noborder\n",
      stacked ? "rowstacked" : "clustered gap 1");
  out += fmt::format("set xlabel {}\n", quoted(axis_title(data.figure.x_axis))) +
         scale_lines("y", data.figure.y_axis) + "unset logscale x\nset autoscale\n";
  if (data.figure.y_axis.scale == Scale::linear) out += "set yrange [0:*]\n";
  out += "set xtics rotate by -25\nset ytics auto\n";
  out += panel.series.size() > 1 ? "set key outside top\n" : "unset key\n";
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    out += fmt::format("{}${} using {}:xtic(1) lc rgb '{}' title {}", s == 0 ? "plot " : ", \\\n     ", name,
                       s + 2, hex_color(series_color(s)), quoted(panel.series[s].label));
  }
  return out + '\n';
}

std::string heat_panel(const FigureData& data, const FigurePanel& panel, const std::string& name) {
  const Array& array = panel.grid.array;
  const std::size_t rows = array.shape[0];
  const std::size_t columns = array.shape[1];
  std::string block = fmt::format("${} << EOD\n", name);
  std::string hidden_block;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = i * columns + j;
      if (at < panel.grid.hidden.size() && panel.grid.hidden[at]) {
        hidden_block += fmt::format("{} {}\n", j, i);
      } else if (std::isfinite(array.values[at])) {
        block += fmt::format("{} {} {}\n", j, i, shortest(array.values[at]));
      }
    }
  }
  block += "EOD\n";
  const ColorScale scale = color_scale(array.values, data.figure.domain);
  const double room = scale.low == scale.high ? 0.5 : 0;  // gnuplot refuses an empty range
  std::string out = block;
  if (!hidden_block.empty()) out += fmt::format("${}_hidden << EOD\n{}EOD\n", name, hidden_block);
  out += palette_line(scale.diverging);
  out += fmt::format("set cbrange [{}:{}]\nset colorbox\n", shortest(scale.low - room),
                     shortest(scale.high + room));
  out +=
      scale_lines("x", {axis_title(data.figure.x_axis)}) + scale_lines("y", {axis_title(data.figure.y_axis)});
  out += tics("x", panel.grid.column_labels) + tics("y", panel.grid.row_labels);
  out += fmt::format("set xrange [-0.5:{}]\nset yrange [{}:-0.5]\nunset key\nset style fill solid noborder\n",
                     static_cast<double>(columns) - 0.5, static_cast<double>(rows) - 0.5);
  // Boxes rather than an image: an image needs two rows, and is smoothed by some viewers.
  out += fmt::format("plot ${} using 1:2:(0.5):(0.5):3 with boxxyerror lc palette", name);
  if (!hidden_block.empty()) {
    out += fmt::format(", \\\n     ${}_hidden using 1:2:(0.5):(0.5) with boxxyerror fs pattern 4 lc rgb '{}'",
                       name, hex_color(masked_color));
  }
  return out + '\n';
}

std::string panel_script(const FigureData& data, const FigurePanel& panel, const std::string& name) {
  switch (data.figure.kind) {
    case FigureKind::heat_map:
      return heat_panel(data, panel, name);
    case FigureKind::bars:
    case FigureKind::stacked_bars:
      return bar_panel(data, panel, name);
    case FigureKind::line:
      break;
  }
  return panel.categories.empty() ? line_panel(data, panel, name) : bar_panel(data, panel, name);
}

std::string figure_script(const FigureData& data) {
  std::string about = data.figure.title + ": " + data.figure.caption;
  std::replace(about.begin(), about.end(), '\n', ' ');
  std::string out = "# " + about + '\n';
  out +=
      "set termoption noenhanced\nset datafile missing 'NaN'\nset border 3 lw 1\nset tics nomirror\nset grid "
      "lw 0.5 lc rgb '#cccccc'\n";
  const std::size_t count = data.panels.size();
  if (count != 1) {
    const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    out += fmt::format("set multiplot layout {},{} title {}\n",
                       (count + columns - 1) / std::max<std::size_t>(columns, 1), columns,
                       quoted(data.figure.title));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& title = count == 1 ? data.figure.title : data.panels[i].title;
    out += fmt::format("set title {}\n", quoted(title)) +
           panel_script(data, data.panels[i], fmt::format("panel{}", i));
  }
  return count == 1 ? out : out + "unset multiplot\n";
}

std::string picture(const Result& result, const RenderOptions& options, const std::string& terminal) {
  const FigureData data = chosen_figures(result, options.table).front();
  return run_gnuplot(fmt::format("set terminal {}\n", terminal) + figure_script(data));
}

}  // namespace

std::string render_gnuplot(const Result& result, const RenderOptions& options) {
  return figure_script(chosen_figures(result, options.table).front());
}

// Type large enough to read from the last row of a class.
std::string render_svg(const Result& result, const RenderOptions& options) {
  return picture(result, options, "svg size 960,600 dynamic font 'sans,18' background rgb 'white'");
}

std::string render_png(const Result& result, const RenderOptions& options) {
  return picture(result, options, "pngcairo size 1280,800 font 'sans,18' background rgb 'white'");
}

std::string render_pdf(const Result& result, const RenderOptions& options) {
  return picture(result, options, "pdfcairo size 16cm,10cm font 'sans,12' background rgb 'white'");
}

}  // namespace attnlab

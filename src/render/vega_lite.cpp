// A Vega-Lite v6 specification with its data, as the lesson's page and notebooks draw it.
#include <cmath>

#include <fmt/format.h>

#include "io/json.hpp"
#include "render/figure_data.hpp"
#include "render/palette.hpp"
#include "render/render.hpp"

namespace attnlab {
namespace {

std::string number(double value) { return std::isfinite(value) ? json_number(value) : "null"; }

std::string scale_text(const Axis& axis) {
  if (axis.scale == Scale::linear) return R"({"zero": false})";
  return fmt::format(R"({{"type": "log", "base": {}}})", axis.scale == Scale::log2 ? 2 : 10);
}

std::string colors(std::size_t count) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i)
    out += (i > 0 ? ", " : "") + json_string(hex_color(series_color(i)));
  return out + "]";
}

std::string line_rows(const FigureData& data) {
  // A logarithmic axis has no place for zero, and its domain must not reach there.
  const auto ordinate = [&](double y) {
    return data.figure.y_axis.scale != Scale::linear && y <= 0 ? "null" : number(y);
  };
  std::string rows;
  for (const FigurePanel& panel : data.panels) {
    for (const FigureSeries& series : panel.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        rows += rows.empty() ? "\n    " : ",\n    ";
        const std::string x =
            panel.categories.empty() ? number(series.x[i]) : json_string(panel.categories[i]);
        rows += fmt::format(R"({{"panel": {}, "series": {}, "x": {}, "y": {}, "kind": "{}")",
                            json_string(panel.title), json_string(series.label), x, ordinate(series.y[i]),
                            series.theory ? "theory" : "measured");
        if (!series.error.empty()) {
          rows += fmt::format(R"(, "low": {}, "high": {})", ordinate(series.y[i] - series.error[i]),
                              ordinate(series.y[i] + series.error[i]));
        }
        rows += "}";
      }
    }
  }
  return rows;
}

std::string heat_rows(const FigureData& data) {
  std::string rows;
  for (const FigurePanel& panel : data.panels) {
    const std::size_t columns = panel.grid.array.shape[1];
    const auto label = [](const std::vector<std::string>& labels, std::size_t at) {
      return at < labels.size() ? json_string(fmt::format("{} {}", at, labels[at])) : fmt::format("{}", at);
    };
    for (std::size_t at = 0; at < panel.grid.array.values.size(); ++at) {
      const bool hidden = at < panel.grid.hidden.size() && panel.grid.hidden[at];
      rows += rows.empty() ? "\n    " : ",\n    ";
      rows += fmt::format(
          R"({{"panel": {}, "x": {}, "y": {}, "value": {}{}}})", json_string(panel.title),
          label(panel.grid.column_labels, at % columns), label(panel.grid.row_labels, at / columns),
          hidden ? "null" : number(panel.grid.array.values[at]), hidden ? R"(, "hidden": true)" : "");
    }
  }
  return rows;
}

bool has_bands(const FigureData& data) {
  for (const FigurePanel& panel : data.panels) {
    for (const FigureSeries& series : panel.series) {
      if (!series.error.empty()) return true;
    }
  }
  return false;
}

std::string color_encoding(const FigureData& data) {
  const std::size_t count = data.panels.empty() ? 1 : data.panels.front().series.size();
  return fmt::format(
      R"("color": {{"field": "series", "type": "nominal", "title": null, "sort": null, "scale": {{"range": {}}}{}}})",
      colors(count), count > 1 ? "" : R"(, "legend": null)");
}

// The mark and encoding of lines: a band where there are errors, theory dashed, points to hover on.
std::string line_layers(const FigureData& data) {
  const std::string x =
      fmt::format(R"("x": {{"field": "x", "type": "quantitative", "title": {}, "scale": {}}})",
                  json_string(axis_title(data.figure.x_axis)), scale_text(data.figure.x_axis));
  const std::string y =
      fmt::format(R"("type": "quantitative", "title": {}, "scale": {})",
                  json_string(axis_title(data.figure.y_axis)), scale_text(data.figure.y_axis));
  std::string layers;
  if (has_bands(data)) {
    layers += fmt::format(R"(
    {{"mark": {{"type": "area", "opacity": 0.2}}, "encoding": {{{}, "y": {{"field": "low", {}}}, "y2": {{"field": "high"}}, {}}}}},)",
                          x, y, color_encoding(data));
  }
  layers += fmt::format(R"(
    {{"params": [{{"name": "chosen", "select": {{"type": "point", "fields": ["series"]}}, "bind": "legend"}}],
     "mark": {{"type": "line", "point": {{"size": 40}}, "tooltip": true}}, "encoding": {{{}, "y": {{"field": "y", {}}}, {},
      "strokeDash": {{"field": "kind", "type": "nominal", "legend": null, "scale": {{"domain": ["measured", "theory"], "range": [[1, 0], [6, 4]]}}}},
      "opacity": {{"condition": {{"param": "chosen", "value": 1}}, "value": 0.15}}}}}})",
                        x, y, color_encoding(data));
  return "\"layer\": [" + layers + "\n  ]";
}

std::string bar_mark(const FigureData& data) {
  const bool stacked = data.figure.kind == FigureKind::stacked_bars;
  const bool logarithmic = data.figure.y_axis.scale != Scale::linear;
  const std::string scale = logarithmic ? scale_text(data.figure.y_axis) : R"({"zero": true})";
  return fmt::format(
      R"("params": [{{"name": "chosen", "select": {{"type": "point", "fields": ["series"]}}, "bind": "legend"}}],
  "mark": {{"type": "bar", "tooltip": true}},
  "encoding": {{"x": {{"field": "x", "type": "nominal", "sort": null, "title": {}, "axis": {{"labelAngle": -25}}}},
    "y": {{"field": "y", "type": "quantitative", "title": {}, "scale": {}, "stack": {}}}, {}{},
    "opacity": {{"condition": {{"param": "chosen", "value": 1}}, "value": 0.15}}}})",
      json_string(axis_title(data.figure.x_axis)), json_string(axis_title(data.figure.y_axis)), scale,
      stacked ? "\"zero\"" : "null", color_encoding(data),
      stacked ? "" : R"(, "xOffset": {"field": "series", "sort": null})");
}

std::string heat_mark(const FigureData& data) {
  std::vector<double> values;
  for (const FigurePanel& panel : data.panels) {
    values.insert(values.end(), panel.grid.array.values.begin(), panel.grid.array.values.end());
  }
  const ColorScale scale = color_scale(values, data.figure.domain);
  std::string range;
  for (int i = 0; i <= 16; ++i) {
    const double t = i / 16.0;
    range += (i > 0 ? ", " : "") +
             json_string(hex_color(scale.diverging ? diverging_color(2 * t - 1) : sequential_color(t)));
  }
  return fmt::format(
      R"("mark": {{"type": "rect", "tooltip": true, "invalid": "show"}},
  "encoding": {{"x": {{"field": "x", "type": "ordinal", "sort": null, "title": {}, "axis": {{"labelAngle": 0, "labelOverlap": true}}}},
    "y": {{"field": "y", "type": "ordinal", "sort": null, "title": {}, "axis": {{"labelOverlap": true}}}},
    "color": {{"condition": [{{"test": "datum.hidden", "value": "{}"}}, {{"test": "datum.value === null", "value": "{}"}}],
      "field": "value", "type": "quantitative", "title": null,
      "scale": {{"domain": [{}, {}], "range": [{}], "interpolate": "rgb"}}}}}})",
      json_string(axis_title(data.figure.x_axis)), json_string(axis_title(data.figure.y_axis)),
      hex_color(masked_color), hex_color(missing_color), json_number(scale.low), json_number(scale.high),
      range);
}

bool draws_bars(const FigureData& data) {
  if (data.figure.kind == FigureKind::bars || data.figure.kind == FigureKind::stacked_bars) return true;
  return !data.panels.empty() && !data.panels.front().categories.empty();
}

}  // namespace

std::string vega_lite_specification(const FigureData& data) {
  const bool heat = data.figure.kind == FigureKind::heat_map;
  const std::string mark = heat ? heat_mark(data) : draws_bars(data) ? bar_mark(data) : line_layers(data);
  std::string out = "{\n  \"$schema\": \"https://vega.github.io/schema/vega-lite/v6.json\",\n";
  out += fmt::format("  \"title\": {{\"text\": {}, \"subtitle\": {}, \"anchor\": \"start\"}},\n",
                     json_string(data.figure.title), json_string(data.figure.caption));
  out += fmt::format("  \"description\": {},\n", json_string(data.figure.title + ". " + data.figure.caption));
  out += "  \"data\": {\"values\": [" + (heat ? heat_rows(data) : line_rows(data)) + "\n  ]},\n";
  if (data.panels.size() > 1) {
    const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(data.panels.size()))));
    std::string order;  // Vega-Lite sorts panels by name unless it is told their order
    for (const FigurePanel& panel : data.panels)
      order += (order.empty() ? "" : ", ") + json_string(panel.title);
    out += fmt::format(
        "  \"facet\": {{\"field\": \"panel\", \"type\": \"nominal\", \"title\": null, \"sort\": [{}]}},\n  "
        "\"columns\": {},\n",
        order, columns);
    return out + "  \"spec\": {\"width\": 240, \"height\": 200, " + mark + "}\n}\n";
  }
  return out + "  \"width\": 560,\n  \"height\": 320,\n  " + mark + "\n}\n";
}

std::string render_vega_lite(const Result& result, const RenderOptions& options) {
  return vega_lite_specification(chosen_figures(result, options.table).front());
}

}  // namespace attnlab

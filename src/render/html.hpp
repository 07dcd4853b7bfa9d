// Results as one page that needs nothing else: style, script and numbers are inside, and nothing is fetched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/render.hpp"

namespace attnlab {

/// A page of several results under the sections they belong to, with a table of contents. Its figures are
/// drawn by `options.chart_script`, which must be given where a result has any.
std::string html_page(const std::string& title, const std::vector<Result>& results,
                      const RenderOptions& options);

/// Text with the characters escaped that mean something in HTML, inside of attributes too.
std::string html_text(std::string_view text);

}  // namespace attnlab

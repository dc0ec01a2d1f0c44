/// The files inside a page, compiled into the program. Thread-safe: constant data.
#pragma once

#include <string_view>

namespace nanobench::reports {

struct EmbeddedBytes {
  std::string_view text;
  std::string_view sha256;  ///< 64 hexadecimal digits
};

/// Vega, Vega-Lite and Vega-Embed as one script; empty in a program that was built without charts.
EmbeddedBytes vega_bundle();
/// reports/render/page/page.js and page.css
EmbeddedBytes page_script();
EmbeddedBytes page_style();

}  // namespace nanobench::reports

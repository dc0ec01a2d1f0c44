/// A document's charts as files beside it, for forms that can only link to pictures.
#pragma once

#include <filesystem>
#include <string>

#include "reports/document/document.h"

namespace nanobench::tools {

/// Writes NAME.vl.json of each chart into `folder`, which is made, and NAME.svg where Python's vl_convert is found (in
/// .deps/vl_convert of the source tree, else where Python looks); `link` is the folder as the document names it.
/// Returns why no pictures were drawn, or "". Throws Error{kIo} when a file cannot be written.
std::string write_chart_files(reports::Document& document, const std::filesystem::path& folder,
                              const std::string& link);

}  // namespace nanobench::tools

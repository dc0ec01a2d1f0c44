/// The catalogue's JSON files as compiled into the program; the source file is generated at build time
/// (tools/cmake/EmbedFiles.cmake). Thread-safe: constant data.
#pragma once

#include <span>
#include <string_view>

namespace nanobench::ablations {

struct EmbeddedFile {
  std::string_view path;  ///< relative to ablations/, e.g. "features/rotary.json"
  std::string_view text;
};

/// In order of path.
std::span<const EmbeddedFile> embedded_files();

}  // namespace nanobench::ablations

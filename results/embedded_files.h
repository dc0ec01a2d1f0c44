/// The published figures as compiled into the program; the source file is generated at build time
/// (tools/cmake/EmbedFiles.cmake). Thread-safe: constant data.
#pragma once

#include <span>
#include <string_view>

namespace nanobench::results {

struct EmbeddedFile {
  std::string_view path;  ///< relative to results/, e.g. "published/speedrun_records.json"
  std::string_view text;
};

/// In order of path.
std::span<const EmbeddedFile> embedded_files();

}  // namespace nanobench::results

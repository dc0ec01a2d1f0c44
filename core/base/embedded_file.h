/// A file compiled into the program (tools/cmake/EmbedFiles.cmake generates the source). Thread-safe: constant data.
#pragma once

#include <string_view>

namespace nanobench::core {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the folder that embeds it: "features/rotary.json" of ablations/
  std::string_view text;
};

}  // namespace nanobench::core

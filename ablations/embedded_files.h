/// The catalogue's JSON files as compiled into the program; thread-safe: constant data.
#pragma once

#include <span>

#include "core/base/embedded_file.h"

namespace nanobench::ablations {

/// In order of path, relative to ablations/.
std::span<const core::EmbeddedFile> embedded_files();

}  // namespace nanobench::ablations

/// The published figures as compiled into the program; thread-safe: constant data.
#pragma once

#include <span>

#include "core/base/embedded_file.h"

namespace nanobench::results {

/// In order of path, relative to results/.
std::span<const core::EmbeddedFile> embedded_files();

}  // namespace nanobench::results

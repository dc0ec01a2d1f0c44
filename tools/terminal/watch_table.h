/// The cells of a watched suite as lines. Pure, thread-safe. Private to tools/terminal/.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/watch/watch_state.h"
#include "tools/terminal/styled_line.h"

namespace nanobench::tools {

/// A head and a row for each cell, fitted to `width`. With fewer than all lines to fill (`height`, 0: no limit): the
/// rows around the running cell, and how many others there are.
std::vector<StyledLine> cell_lines(const std::vector<reports::WatchedCell>& cells, std::size_t width,
                                   std::size_t height, bool is_utf8);

}  // namespace nanobench::tools

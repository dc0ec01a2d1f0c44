/// A curve in one line of text. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "results/records.h"

namespace nanobench::tools {

/// Steps 0 to `last_step` over `width` columns, as far as the samples (ascending steps) go. A column's height is the
/// mean of its samples, or that of the column before where it has none; "!" stands where none is finite. Losses fall
/// steeply at first: the highest tenth of the columns counts as full, so that the rest still shows something. Blocks of
/// eight heights, or ASCII characters.
std::string sparkline(const std::vector<results::Sample>& samples, std::int64_t last_step, std::size_t width,
                      bool is_utf8);

}  // namespace nanobench::tools

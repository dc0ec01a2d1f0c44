/// A curve in one line of text. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "results/records.h"

namespace nanobench::tools {

/// Steps 0 to `last_step` over `width` columns, as far as the samples (ascending steps) reach. The height of a column
/// is the mean of its samples, or the height before it where it has none; "!" marks a column without a finite one.
/// Losses fall steeply at first, so the highest tenth of the columns counts as full. Blocks of eight heights, or ASCII.
std::string sparkline(const std::vector<results::Sample>& samples, std::int64_t last_step, std::size_t width,
                      bool is_utf8);

}  // namespace nanobench::tools

/// A quick reader for the lines that make up nearly all of a run: step events as our engines write them. Whatever it
/// does not understand at once it leaves to the general reader, which also has the error messages. Thread-safe: no
/// shared state. Private to core/protocol.
#pragma once

#include <optional>
#include <string_view>

#include "core/protocol/run_event.h"

namespace nanobench::core {

/// The event of a line that is one flat step event with each key once and nothing unknown; else nullopt. Where it
/// answers, the general reader gives the same event, bit for bit.
std::optional<StepEvent> read_step_line(std::string_view line);

}  // namespace nanobench::core

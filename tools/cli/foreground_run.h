/// One engine process in the foreground: its events go to a callback, its output to the user, Ctrl-C to the engine.
/// Owns SIGINT, SIGTERM and SIGHUP while it runs; one call at a time per process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "suites/run/outcome.h"

namespace nanobench::tools {

struct ForegroundCallbacks {
  std::function<void(const core::RunEvent&)> on_event;
  std::function<void()> on_tick;                      ///< a few times a second
  std::function<void(const std::string&)> on_output;  ///< a line that the engine printed
};

struct ForegroundResult {
  suites::RunEnd end;
  suites::Classification classification;
};

/// Ctrl-C once asks the engine to finish its step, twice kills it. Throws Error{kUnavailable} when the engine cannot be
/// started.
ForegroundResult run_in_foreground(const std::vector<std::string>& command, const core::RunSpec& spec,
                                   const ForegroundCallbacks& callbacks);

}  // namespace nanobench::tools

/// A suite on its way, at one moment. Pure.
#pragma once

#include "reports/document/document.h"
#include "reports/watch/watch_state.h"

namespace nanobench::reports {

Document watch_report(const WatchState& state);

}  // namespace nanobench::reports

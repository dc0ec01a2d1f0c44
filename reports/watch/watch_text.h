/// The wording of a watched suite, the same on a terminal and in a document. Pure, thread-safe. Texts may hold stored
/// names: escape them when printing.
#pragma once

#include <string>

#include "reports/watch/watch_state.h"

namespace nanobench::reports {

/// "leave_one_out at scale nano on synthetic, plan 7"
std::string plan_text(const WatchState& state);

/// "running: process 4242 on box, last heard 1.0 s ago"; for a stopped one, the command that continues it.
std::string runner_text(const WatchState& state);

/// "seed 2 crashed: signal 11 (and 1 more)"
std::string text_of(const WatchedEnd& end);

/// "run 7 (record12 seed 2) was disturbed, its times are doubtful: the load was 9.0"
std::string text_of(const WatchWarning& warning);

/// "17 of 42 runs"
std::string counts_text(const LineCounts& lines);
/// "14 trained, 3 reused, 1 failed, 24 to do"; zeros are left out.
std::string parts_text(const LineCounts& lines);

/// The fraction of runs that have ended, including the finished part of the current one.
double done_fraction(const WatchState& state);

/// "load 2.1 on 2 processors, 97 % busy, 0.4 % stolen, 12.1 GiB of 23.4 GiB memory free"
std::string machine_text(const WatchedMachine& machine);

}  // namespace nanobench::reports

/// What is said of a watched suite in words, the same on a terminal and in a document. Pure, thread-safe. Texts may
/// hold what is stored: print them harmlessly.
#pragma once

#include <string>

#include "reports/watch/watch_state.h"

namespace nanobench::reports {

/// "leave_one_out at scale nano on synthetic, plan 7"
std::string plan_text(const WatchState& state);

/// "running: process 4242 on box, heard of 1.0 s ago"; where it does not run, what continues it.
std::string runner_text(const WatchState& state);

/// "17 of 42 runs"
std::string counts_text(const LineCounts& lines);
/// "14 trained, 3 reused, 1 failed, 24 to do"; what there is none of is left out.
std::string parts_text(const LineCounts& lines);

/// Share of the runs that have ended, with the part of the current one that is done.
double done_fraction(const WatchState& state);

/// "load 2.1 on 2 processors, 97 % busy, 0.4 % stolen, 12.1 GiB of 23.4 GiB memory free"
std::string machine_text(const WatchedMachine& machine);

}  // namespace nanobench::reports

/// Runs that are executed together: their engines are resident at once, and one after the other takes a few steps, in
/// an order that is drawn anew for every round, but never twice in a row: each turn begins with the caches of another
/// engine. What slows the machine down for a while then slows all of them alike.
/// Turns are aligned by progress: in each round, every run goes through the same share of its schedule. Private to
/// suites/.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "suites/run/plan_runner.h"

namespace nanobench::suites {

/// A run of a plan, by its place.
struct BlockRun {
  PlanRunner* plan = nullptr;
  std::size_t index = 0;
};

/// Steps that a turn has at least, of which the first is cold: with two others it can be corrected. A turn's steps
/// share the machine's speed of that moment, so many short turns tell more than few long ones.
inline constexpr std::int64_t kMinTurnSteps = 3;
/// The noise of a turn, about 6 % on two shared cores, is then below what two processes of one program differ by.
inline constexpr std::int64_t kMaxRounds = 256;

/// Rounds of a block whose shortest run has so many steps.
std::int64_t rounds_of(std::int64_t fewest_steps);

/// The first step after turn `round` of `rounds`, from 1, in a run of `steps`. Round `rounds + 1` holds what follows
/// the last step: a validation and the end of a process would disturb the next engine's last steps.
std::int64_t turn_end(std::int64_t round, std::int64_t rounds, std::int64_t steps);

/// Executes the runs that have no answer yet. As many engines are resident as memory allows; the others follow as a
/// group of their own. Engines that take no turns run to their end where they start. Returns when all have an answer or
/// the user has interrupted. `seed` decides the order in the rounds. Throws as run_plan() does.
void run_in_turns(const std::vector<BlockRun>& runs, std::uint64_t seed, const InterruptGuard& interrupts);

}  // namespace nanobench::suites

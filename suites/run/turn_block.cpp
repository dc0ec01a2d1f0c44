#include "suites/run/turn_block.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include "core/base/random.h"
#include "core/hardware/nvml.h"
#include "core/hardware/processors.h"
#include "results/host_load.h"
#include "results/metric.h"
#include "results/provenance.h"

namespace nanobench::suites {
namespace {

/// A claimed run, from its start to its end.
struct SeatedRun {
  BlockRun run;
  std::int64_t run_id = 0;
  bool is_open = true;                  ///< its row has no end yet
  std::unique_ptr<RunSession> session;  ///< null before the start and after the end
};

/// Processors of one machine are not equally fast: its core may have other work, or other tenants. All engines of a
/// block therefore compute on the same ones. Empty: a run has threads for all.
std::vector<int> processors_of(const BlockRun& run) {
  const std::vector<core::Processor> usable = core::usable_processors();
  const int threads = run.plan->plan().threads;
  if (threads >= static_cast<int>(usable.size())) return {};
  return core::disjoint_processors(usable, 1, threads).front();
}

/// Engines that are resident together.
class TurnBlock {
 public:
  TurnBlock(std::uint64_t seed, const InterruptGuard& interrupts) : random_(seed), interrupts_(interrupts) {}

  void run(std::vector<BlockRun> waiting) {
    std::reverse(waiting.begin(), waiting.end());
    while (!waiting.empty() && interrupts_.count() == 0) {
      try {
        seat(waiting);
        take_turns();
      } catch (const std::exception& error) {
        give_up(error.what());
        throw;
      }
    }
  }

 private:
  /// Starts engines until memory or the list ends; those that take no turns run to their end.
  void seat(std::vector<BlockRun>& waiting) {
    seats_.clear();
    std::optional<std::int64_t> largest_bytes;
    while (!waiting.empty() && interrupts_.count() == 0) {
      if (!seats_.empty() && !(has_room(largest_bytes) && has_room_on_gpu(*waiting.back().plan))) return;
      const std::optional<std::int64_t> before = results::available_memory_bytes();
      const BlockRun run = waiting.back();
      waiting.pop_back();
      const std::optional<std::int64_t> run_id = run.plan->claim(run.index);
      if (!run_id) continue;
      seats_.push_back({.run = run, .run_id = *run_id, .session = nullptr});
      SeatedRun& seat = seats_.back();
      seat.session = run.plan->start(run.index, *run_id, {.takes_turns = true, .processors = processors_of(run)});
      proceed(seat);
      if (!seat.is_open) {
        seats_.pop_back();
        continue;
      }
      const std::optional<std::int64_t> after = results::available_memory_bytes();
      if (before && after) largest_bytes = std::max(largest_bytes.value_or(0), *before - *after);
    }
  }

  /// Whether another engine fits beside those that are resident, with the peaks that all are still to reach: an engine
  /// has allocated its model when it first waits, and activations and gradients follow.
  bool has_room(std::optional<std::int64_t> largest_bytes) const {
    constexpr std::int64_t kPeakOverStart = 3;
    const std::optional<std::int64_t> free = results::available_memory_bytes();
    return !free || !largest_bytes ||
           *free > kPeakOverStart * *largest_bytes * static_cast<std::int64_t>(seats_.size() + 1);
  }

  /// The same for a GPU. An engine that waits for its first turn has taken little of its memory, so what those on it
  /// may take is the largest peak of the plan's pilots and runs; where that or the free memory is unknown, one engine
  /// has the GPU.
  bool has_room_on_gpu(const PlanRunner& plan) const {
    if (!plan.plan().suite.device.is_gpu) return true;
    const std::optional<std::int64_t> peak = plan.peak_bytes();
    const std::optional<std::int64_t> free = core::free_gpu_bytes(seats_.front().session->gpu_uuid());
    return peak && free && *free > *peak * static_cast<std::int64_t>(seats_.size() + 1);
  }

  void take_turns() {
    if (seats_.empty()) return;
    last_ = nullptr;
    const std::int64_t rounds = seats_.size() == 1 ? 0 : rounds_of(fewest_steps());
    const std::string block = results::utc_now() + " " + std::to_string(seats_.front().run_id);
    for (SeatedRun& seat : seats_) seat.session->add_fact(results::kTurnBlock, block);
    for (std::int64_t round = 1; round <= rounds + 1 && interrupts_.count() == 0; ++round) {
      const std::vector<SeatedRun*> order = shuffled();
      for (std::size_t i = 0; i < order.size() && interrupts_.count() == 0; ++i) {
        SeatedRun& seat = *order[i];
        const double before = static_cast<double>(i) / static_cast<double>(order.size());
        seat.session->grant_turn(static_cast<double>(round) + before,
                                 turn_end(round, rounds, *seat.session->turn_steps()));
        last_ = &seat;
        proceed(seat);
      }
    }
    // After an interruption, each engine that waits is asked to stop.
    for (SeatedRun& seat : seats_) {
      while (seat.session) proceed(seat);
    }
  }

  void proceed(SeatedRun& seat) {
    if (!seat.session->run_until_turn()) return;
    if (seat.session->refuses_turns()) seat.run.plan->say_without_turns();
    seat.session.reset();
    seat.is_open = false;
    const results::RunRecord ended = seat.run.plan->end(seat.run.index, seat.run_id);
    seat.run.plan->add_peak(ended.result->peak_bytes);
  }

  std::int64_t fewest_steps() const {
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (const SeatedRun& seat : seats_) fewest = std::min(fewest, *seat.session->turn_steps());
    return fewest;
  }

  /// The seats whose engines are alive. None follows itself: its caches would be warm, the others' cold.
  std::vector<SeatedRun*> shuffled() {
    std::vector<SeatedRun*> order;
    for (SeatedRun& seat : seats_) {
      if (seat.session) order.push_back(&seat);
    }
    random_.shuffle_after(last_, order);
    return order;
  }

  void give_up(const char* why) noexcept {
    for (SeatedRun& seat : seats_) {
      seat.session.reset();
      if (seat.is_open) seat.run.plan->give_up(seat.run_id, why);
    }
  }

  std::vector<SeatedRun> seats_;
  SeatedRun* last_ = nullptr;  ///< the one that had the last turn
  core::SplitMix64 random_;
  const InterruptGuard& interrupts_;
};

}  // namespace

std::int64_t rounds_of(std::int64_t fewest_steps) {
  return std::clamp<std::int64_t>(fewest_steps / kMinTurnSteps, 1, kMaxRounds);
}

std::int64_t turn_end(std::int64_t round, std::int64_t rounds, std::int64_t steps) {
  return round > rounds ? steps + 1 : (steps * round + rounds - 1) / rounds;
}

void run_in_turns(const std::vector<BlockRun>& runs, std::uint64_t seed, const InterruptGuard& interrupts) {
  TurnBlock(seed, interrupts).run(runs);
}

}  // namespace nanobench::suites

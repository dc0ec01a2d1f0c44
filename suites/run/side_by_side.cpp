#include "suites/run/side_by_side.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/hardware/processors.h"
#include "results/host_load.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;

/// A set of processors or a seat, and the run that has it.
struct RunPlace {
  EnginePlace what{};
  BlockRun run{};
  std::int64_t run_id = 0;
  std::unique_ptr<RunSession> session{};  ///< null: the place is free
};

std::vector<RunPlace> places_for(int jobs, int threads) {
  check_jobs(jobs, threads);
  std::vector<RunPlace> places;
  for (std::vector<int>& processors : core::disjoint_processors(core::usable_processors(), jobs, threads))
    places.push_back({.what = {.processors = std::move(processors)}});
  NB_CHECK(places.size() == static_cast<std::size_t>(jobs), "fewer sets of processors than there are processors for");
  return places;
}

std::vector<RunPlace> places_of(const std::vector<Seat>& seats) {
  std::vector<RunPlace> places;
  for (const Seat& seat : seats) places.push_back({.what = {.processors = seat.processors, .seat = seat}});
  return places;
}

class SideBySide {
 public:
  /// `chunk`: what a seat has to itself; absent: the places are no seats.
  SideBySide(std::vector<RunPlace> places, std::optional<SeatChunk> chunk, InterruptGuard& interrupts,
             RunnerObserver& observer)
      : places_(std::move(places)), chunk_(chunk), interrupts_(interrupts), observer_(observer) {}

  void run(const std::vector<BlockRun>& runs) {
    waiting_.assign(runs.begin(), runs.end());
    for (const BlockRun& run : runs) largest_bytes_ = std::max(largest_bytes_, run.plan->peak_bytes());
    try {
      while (has_work()) {
        start_more();
        wait();
        proceed();
      }
    } catch (const std::exception& error) {
      for (RunPlace& place : places_) {
        if (std::exchange(place.session, nullptr)) place.run.plan->give_up(place.run_id, error.what());
      }
      throw;
    }
  }

 private:
  bool has_work() const { return !running().empty() || (!waiting_.empty() && interrupts_.count() == 0); }

  std::vector<RunSession*> running() const {
    std::vector<RunSession*> sessions;
    for (const RunPlace& place : places_) {
      if (place.session) sessions.push_back(place.session.get());
    }
    return sessions;
  }

  void start_more() {
    for (RunPlace& place : places_) {
      while (!place.session && interrupts_.count() == 0 && has_room()) {
        const auto next = next_for(place);
        if (next == waiting_.end()) break;
        if (!start_next(place, next)) return;
      }
    }
  }

  std::deque<BlockRun>::iterator next_for(const RunPlace& place) {
    if (chunk_ != SeatChunk::kSeed) return waiting_.begin();
    const auto number = static_cast<std::size_t>(&place - places_.data());
    return std::find_if(waiting_.begin(), waiting_.end(), [&](const BlockRun& run) {
      return seat_of_seed(run.plan->seed(run.index), places_.size()) == number;
    });
  }

  /// Takes this run; false if another runner is in its way.
  bool start_next(RunPlace& place, std::deque<BlockRun>::iterator next) {
    const BlockRun run = *next;
    const ClaimAnswer answer = run.plan->try_claim(run.index);
    if (answer.kind == ClaimAnswer::Kind::kBusy) {
      if (!std::exchange(has_said_waiting_, true)) run.plan->say_waiting(*answer.other);
      // Somebody else may take long over it: the others first.
      std::rotate(next, next + 1, waiting_.end());
      return false;
    }
    waiting_.erase(next);
    if (answer.kind == ClaimAnswer::Kind::kAnswered) return true;
    place.run = run;
    place.run_id = answer.run_id;
    try {
      place.session = run.plan->start(run.index, answer.run_id, place.what);
    } catch (const std::exception& error) {
      run.plan->give_up(answer.run_id, error.what());
      throw;
    }
    return true;
  }

  /// Those that run have not reached their peaks yet.
  bool has_room() {
    const std::size_t count = running().size();
    if (count == 0 || chunk_) return true;  // whoever names seats says that they have room
    const std::optional<std::int64_t> free = results::available_memory_bytes();
    const bool has = !free || !largest_bytes_ || *free > 2 * *largest_bytes_;
    if (!has && !std::exchange(has_said_full_, true)) {
      observer_.on_message("memory holds " + std::to_string(count) + " of " + std::to_string(places_.size()) +
                           " runs at once");
    }
    return has;
  }

  void wait() {
    const std::vector<RunSession*> sessions = running();
    if (sessions.empty()) {
      interrupts_.wait(kPollSeconds);
      observer_.on_tick();
      return;
    }
    RunSession::wait(sessions, interrupts_);
    sessions.front()->tick();
  }

  void proceed() {
    for (RunPlace& place : places_) {
      if (!place.session || !place.session->proceed()) continue;
      place.session.reset();
      const results::RunRecord record = place.run.plan->end(place.run.index, place.run_id);
      largest_bytes_ = std::max(largest_bytes_, record.result->peak_bytes);
    }
  }

  static constexpr double kPollSeconds = 0.2;

  std::vector<RunPlace> places_;
  const std::optional<SeatChunk> chunk_;
  std::deque<BlockRun> waiting_;
  std::optional<std::int64_t> largest_bytes_;  ///< peak of one run
  bool has_said_full_ = false;
  bool has_said_waiting_ = false;
  InterruptGuard& interrupts_;
  RunnerObserver& observer_;
};

}  // namespace

void run_side_by_side(const std::vector<BlockRun>& runs, int jobs, InterruptGuard& interrupts,
                      RunnerObserver& observer) {
  SideBySide(places_for(jobs, runs.front().plan->plan().threads), /*chunk=*/std::nullopt, interrupts, observer)
      .run(runs);
}

void run_on_seats(const std::vector<BlockRun>& runs, const Seats& seats, InterruptGuard& interrupts,
                  RunnerObserver& observer) {
  // Before the others: a warm-up beside a run would be timed with it.
  for (const BlockRun& run : runs) run.plan->prepare_caches(run.index, {.seat = seats.places.front()});
  SideBySide(places_of(seats.places), seats.chunk, interrupts, observer).run(runs);
}

}  // namespace nanobench::suites

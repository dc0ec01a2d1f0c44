#include "suites/bench/turns.h"

#include <algorithm>

#include "core/base/random.h"

namespace nanobench::suites {

void take_turns(const std::vector<PausedRun*>& runs, std::uint64_t seed, const std::function<bool()>& is_interrupted) {
  core::SplitMix64 random(seed);
  std::vector<PausedRun*> left = runs;
  PausedRun* last = nullptr;
  while (left.size() > 1) {
    std::vector<PausedRun*> next;
    for (PausedRun* run : left) {
      if (is_interrupted()) return;
      last = run;
      if (!run->run_turn()) next.push_back(run);
    }
    left = std::move(next);
    random.shuffle_after(last, left);
  }
  if (!left.empty() && !is_interrupted()) left.front()->run_to_end();
}

}  // namespace nanobench::suites

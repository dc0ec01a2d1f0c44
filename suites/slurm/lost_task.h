/// A task that left Slurm without a result for all of its runs: which run ended how, and what is handed over again.
/// Internal to suites. Pure.
#pragma once

#include <string>

#include "core/protocol/run_outcome.h"

namespace nanobench::suites {

/// The machinery's fault is tried so often before it counts as a run's end.
inline constexpr int kMostSubmissions = 3;

/// What is known of it.
struct LostTask {
  std::string name;              ///< "Slurm task 123_4"
  std::string state;             ///< Slurm's last word, or empty
  std::string node;              ///< or empty
  std::string last_words;        ///< of its log
  bool has_begun_any = false;    ///< some run of the task had begun
  bool has_begun_first = false;  ///< the first one without a result had
  bool was_gone_before = false;  ///< it had ended before this submitter began
  int times_submitted = 1;       ///< of the first one without a result
};

/// What becomes of its runs without a result, the first one and those after it.
struct LostEnd {
  core::RunOutcome outcome = core::RunOutcome::kCrashed;
  std::string message;             ///< one sentence
  bool is_first_stored = true;     ///< the first one gets this outcome
  bool is_first_again = false;     ///< it is handed over again, whether or not the outcome is stored
  bool are_others_stored = false;  ///< the others get the same outcome; otherwise they are handed over again
};

LostEnd end_of(const LostTask& task);

}  // namespace nanobench::suites

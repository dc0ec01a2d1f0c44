#include "core/protocol/run_outcome.h"

#include <array>
#include <utility>

namespace nanobench::core {
namespace {

constexpr std::array<std::pair<RunOutcome, std::string_view>, 7> kNames = {{{RunOutcome::kCompleted, "completed"},
                                                                            {RunOutcome::kDiverged, "diverged"},
                                                                            {RunOutcome::kTimedOut, "timed_out"},
                                                                            {RunOutcome::kCrashed, "crashed"},
                                                                            {RunOutcome::kOutOfMemory, "out_of_memory"},
                                                                            {RunOutcome::kUnsupported, "unsupported"},
                                                                            {RunOutcome::kInterrupted, "interrupted"}}};

}  // namespace

std::string to_string(RunOutcome outcome) {
  for (const auto& [value, name] : kNames) {
    if (value == outcome) return std::string(name);
  }
  return "crashed";
}

std::optional<RunOutcome> run_outcome_from(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace nanobench::core

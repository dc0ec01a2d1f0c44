/// What makes two embedded training scripts the same experiment: their Python without comments, type annotations, names
/// of runs, seeds, intervals of validations, fixed messages and layout. What was left out is kept as digests, so that a
/// reader learns what differs. Pure, thread-safe; any bytes give an answer.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace nanobench::results {

/// Parts of a script that do not change what it trains.
enum class ScriptPart {
  kComments,     ///< comments, and strings that are whole statements
  kAnnotations,  ///< of parameters, results and variables; those with "constexpr" are code, because Triton reads them
  kRunNames,     ///< strings given to run_id, logfile and the like, folders that are made, strings with a UUID
  kSeeds,        ///< numbers given to seed, manual_seed and the like
  kIntervals,    ///< numbers given to val_loss_every and save_every: when a run is looked at, not how it trains
  kMessages,     ///< strings in a print statement, except those with a brace or "val_loss"
};
inline constexpr std::size_t kScriptParts = 6;

NB_ENUM_NAMES(ScriptPart, {ScriptPart::kComments, "comments"}, {ScriptPart::kAnnotations, "annotations"},
              {ScriptPart::kRunNames, "run names"}, {ScriptPart::kSeeds, "seeds"},
              {ScriptPart::kIntervals, "intervals"}, {ScriptPart::kMessages, "messages"});

struct ScriptIdentity {
  std::string code;                             ///< digest of what remains; empty without a script
  std::array<std::string, kScriptParts> parts;  ///< digest of each part that was left out
};

/// Cost: one pass. A text above 16 MiB is no script of a speedrun; all of it counts as code.
ScriptIdentity identify_script(std::string_view python);

}  // namespace nanobench::results

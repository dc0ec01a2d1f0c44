/// The kinds of comparison that a design makes, by which reports choose how to judge.
#pragma once

#include "core/base/enum_names.h"

namespace nanobench::ablations {

enum class ContrastKind {
  kMain,         ///< of a factorial: averaged over the other factors
  kInteraction,  ///< what factors change together beyond each alone
  kSimple,       ///< one cell against another
  kNoise,        ///< a configuration against itself
};

NB_ENUM_NAMES(ContrastKind, {ContrastKind::kMain, "main"}, {ContrastKind::kInteraction, "interaction"},
              {ContrastKind::kSimple, "simple"}, {ContrastKind::kNoise, "noise"});

}  // namespace nanobench::ablations

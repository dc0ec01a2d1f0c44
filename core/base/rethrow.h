/// What a handler does first that goes on after an Error. Thread-safe: no state.
#pragma once

#include "core/base/error.h"

namespace nanobench::core {

/// Throws on the Error that is being handled when it is a bug in nanobench (kInternal), which nobody may pass over.
inline void rethrow_internal(const Error& error) {
  if (error.code() == ErrorCode::kInternal) throw;
}

}  // namespace nanobench::core

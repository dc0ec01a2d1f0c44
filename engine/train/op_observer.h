/// Watches LibTorch's calls while a profiler is installed: what no OpTimer covers gets a span of its own, and scopes
/// that declare no work get the FLOPs and bytes of the calls inside them.
#pragma once

#include "engine/ops/torch.h"

namespace nanobench::core {

/// Watches this thread for as long as it lives. Calls directly in a step or phase, and autograd's functions, become
/// spans: "add", "mul", ...; the backward functions of products are "linear". FLOPs are those of matrix and dot
/// products; bytes are those of a call's inputs and outputs, or of the calls it makes when they are more; views move
/// none.
class OpObserver {
 public:
  OpObserver();
  ~OpObserver();
  OpObserver(const OpObserver&) = delete;
  OpObserver& operator=(const OpObserver&) = delete;

 private:
  std::uint64_t handle_;
};

}  // namespace nanobench::core

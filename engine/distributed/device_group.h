/// What a GPU's communicator needs to know of the run that it serves.
#pragma once

#include <functional>

#include "engine/distributed/communicator.h"

namespace nanobench::core {

struct DeviceGroup {
  Communicator* host = nullptr;       ///< of the same processes, for tensors on the CPU
  std::function<void()> check_alive;  ///< throws PeerFailed when a process has died; any thread may call it
};

}  // namespace nanobench::core

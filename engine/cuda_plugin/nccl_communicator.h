/// The Communicator of GPUs: NCCL for tensors that lie there, the host's communicator for all others.
#pragma once

#include <memory>

#include "engine/distributed/communicator.h"

namespace nanobench::core::cuda {

/// Sums by NCCL are not taken in the order of the ranks: the same from run to run, not the same bits as on the CPU.
/// Collectives run on a stream of their own, in the order of issue; waiting for one makes the current stream wait, not
/// the host. A thread watches the other processes: when one dies the collectives under way are given up, and what waits
/// for them fails with PeerFailed. All processes call it together. Throws Error{kUnavailable}.
std::unique_ptr<Communicator> make_nccl_communicator(const DeviceGroup& group);

}  // namespace nanobench::core::cuda

/// Exchange of tensors between the processes of one run: blocking and asynchronous collectives.
///
/// Every process issues the same collectives with tensors of the same shapes in the same order. Sums are taken in rank
/// order, 0 to size - 1, regardless of arrival: results depend only on the values. Not thread-safe: one thread per
/// process issues and waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/ops/torch.h"

namespace nanobench::core {

/// The processes of a run on one host.
struct HostShare {
  int rank = 0;  ///< rank of this process among them
  int size = 1;  ///< number of them
};

/// A collective in progress. Its tensors must not be touched before wait() returns; dropping the handle does not cancel
/// it.
class Work {
 public:
  virtual ~Work() = default;
  /// Returns when this process's tensors hold the result; later calls return immediately. Throws PeerFailed when
  /// another process failed.
  virtual void wait() = 0;
};
using WorkHandle = std::shared_ptr<Work>;

/// One collective, as passed to the implementations.
struct Collective {
  enum class Kind : std::uint32_t { kBarrier, kAllReduceSum, kAllGather, kBroadcast, kReduceScatterSum };
  Kind kind = Kind::kBarrier;
  at::Tensor tensor;  ///< input and output of a sum or broadcast; input of a gather; output of a scattered sum
  /// A gather has one [size, ...] tensor, or `size` tensors of the input's shape, a scattered sum its `size` parts.
  std::vector<at::Tensor> outputs;
  int root = 0;  ///< root of a broadcast
};

/// Collectives of a process, and the bytes of its own input tensors (for a broadcast: the root's bytes; for a scattered
/// sum: all parts).
struct CollectiveCounts {
  struct Kind {
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
  };
  Kind all_reduce, all_gather, broadcast, reduce_scatter;
};

/// Milliseconds of the collectives of each kind, each from the moment this process carries it out until its tensors
/// hold the result. That includes the wait for processes that come later, and not the wait for earlier collectives.
struct CollectiveTimes {
  double all_reduce_ms = 0, all_gather_ms = 0, broadcast_ms = 0, reduce_scatter_ms = 0;
};

/// Tensors must be contiguous and on the CPU; communicators between GPUs also take tensors there. Sums take float32,
/// float64 and int64; other collectives take any dtype. Throws Error{kInternal} for other tensors.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Each process's tensor becomes the sum of all of them.
  void all_reduce_sum(const at::Tensor& tensor);
  /// Row r of `output` [size, ...] becomes the input of process r.
  void all_gather(const at::Tensor& output, const at::Tensor& input);
  /// outputs[r] becomes the input of process r; `size` tensors of the input's shape.
  void all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input);
  /// parts[r] becomes, in process r, the sum of all processes' parts[r]; what the others have there is unspecified
  /// afterwards. Parts may differ in size and be empty; all processes pass the same sizes.
  void reduce_scatter_sum(const std::vector<at::Tensor>& parts);
  /// Each process's tensor becomes that of process `root`.
  void broadcast(const at::Tensor& tensor, int root);
  /// Returns when all processes have called it.
  void barrier();

  /// Asynchronous versions; collectives run in the order in which they are issued.
  WorkHandle start_all_reduce_sum(const at::Tensor& tensor);
  WorkHandle start_all_gather(const at::Tensor& output, const at::Tensor& input);
  WorkHandle start_all_gather(const std::vector<at::Tensor>& outputs, const at::Tensor& input);
  WorkHandle start_reduce_scatter_sum(const std::vector<at::Tensor>& parts);

  /// Milliseconds that the issuing thread has spent in blocking collectives and in wait().
  virtual double waited_ms() const = 0;
  /// Times of the collectives completed so far; nullopt where they run on a GPU's stream, unseen by the host.
  virtual std::optional<CollectiveTimes> times() const { return std::nullopt; }
  /// The transport: "shared memory", "tcp", "mpi", "nccl"; for the record of the run.
  virtual std::string name() const = 0;
  /// Rank and number of processes on this process's host.
  virtual HostShare host_share() const { return {rank(), size()}; }
  /// Counts of the collectives issued so far.
  const CollectiveCounts& counts() const { return counts_; }

 protected:
  virtual void run(const Collective& collective) = 0;
  virtual WorkHandle start(const Collective& collective) = 0;
  /// Whether tensors may be on this tensor's device.
  virtual bool takes(const at::Tensor& tensor) const { return tensor.is_cpu(); }

  /// For communicators that delegate some collectives to another one.
  static void run_by(Communicator& other, const Collective& collective) { other.run(collective); }
  static WorkHandle start_by(Communicator& other, const Collective& collective) { return other.start(collective); }

 private:
  const Collective& counted(const Collective& collective);

  CollectiveCounts counts_;
};

/// The only process of a run: a sum has one term, a gather is a copy, and nothing waits.
class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  double waited_ms() const override { return 0.0; }
  std::string name() const override { return "one process"; }

 protected:
  void run(const Collective& collective) override;
  WorkHandle start(const Collective& collective) override;
};

/// Whether `value` is true in any process; all processes get the same result.
bool any_process(Communicator& communicator, bool value);

/// The sum of one number over the processes; all processes get the same result.
std::int64_t sum_over_processes(Communicator& communicator, std::int64_t value);

/// What a GPU communicator needs to know about its run.
struct DeviceGroup {
  Communicator* host = nullptr;       ///< communicator of the same processes for CPU tensors
  std::function<void()> check_alive;  ///< throws PeerFailed when a process has died; any thread may call it
};

}  // namespace nanobench::core

/// Sums the gradients of all processes for every process (DistributedConfig::gradient_sums kAllProcesses). Not
/// thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "core/config/train_config.h"
#include "engine/distributed/gradient_exchange.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// A gradient is always the sum, in rank order, of the processes' accumulated gradients: all settings except
/// gradient_sync give the same bits.
///
/// reduction kPerParameter: one collective per parameter, in order, after the backward pass (record #19). kBuckets: one
/// per bucket, after the backward pass. kOverlappedBuckets: one per bucket, started during the backward pass when the
/// bucket's last gradient is ready (up to record #18). Buckets are filled in reverse parameter order, which is roughly
/// the order in which gradients become ready.
class GradientReducer final : public GradientExchange {
 public:
  /// Covers all parameters; a bucket holds one dtype. Keeps a reference to `communicator`.
  GradientReducer(const Parameters& parameters, const DistributedConfig& config, Communicator& communicator);
  /// Removes the parameters' hooks.
  ~GradientReducer() override;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Zero gradients are views of the buckets, or undefined.
  void zero_gradients() override;

  void before_backward(SyncPoint point) override;
  /// After kMicroStep, only process 0 keeps the sum, to which the next micro-step adds.
  void after_backward(SyncPoint point) override;

  /// Elements of each bucket, without padding; for tests and messages.
  std::vector<std::int64_t> bucket_elements() const;

 private:
  struct Member {
    std::size_t parameter = 0;
    at::Tensor view;  ///< its part of the bucket, in the parameter's shape
    bool is_ready = false;
  };
  struct Bucket {
    at::Tensor flat;
    std::vector<Member> members;
    std::size_t pending = 0;
    WorkHandle work;
  };
  struct Place {
    std::size_t bucket = 0;
    std::size_t member = 0;
  };
  class ReadyHook;

  void build_buckets(std::int64_t bucket_bytes);
  void add_bucket(const std::vector<std::size_t>& parameters);
  void add_hooks();
  void on_ready(std::size_t parameter);
  void start_ready_buckets();
  void reduce_parameters();
  void reduce_buckets();
  void finish_buckets();
  void copy_in(Member& member);
  void copy_out(Bucket& bucket);

  std::vector<at::Tensor> parameters_;
  DistributedConfig config_;
  Communicator& communicator_;
  std::vector<Bucket> buckets_;
  std::vector<Place> places_;  ///< indexed by parameter
  bool is_overlapping_ = false;
  std::size_t next_bucket_ = 0;  ///< buckets start in index order, the same in all processes
};

/// Collective: compares all parameters of all processes by digest, bit for bit. Throws Error{kInternal} if they differ,
/// which no setting of a run may cause.
void check_replicas(const Parameters& parameters, Communicator& communicator);

}  // namespace nanobench::core

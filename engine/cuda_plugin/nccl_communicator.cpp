#include "engine/cuda_plugin/plugin_parts.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "engine/cuda/error.h"
#include "engine/distributed/mesh.h"

namespace nanobench::core::cuda {
namespace {

constexpr std::chrono::milliseconds kWatchInterval{200};

void check_nccl(ncclResult_t result, ncclComm_t communicator, const char* expression, const char* file, int line) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const char* last = ncclGetLastError(communicator);
  throw Error(ErrorCode::kUnavailable, std::string("NCCL: ") + ncclGetErrorString(result) +
                                           (last == nullptr || *last == '\0' ? "" : std::string(" (") + last + ")") +
                                           ", in " + expression + " at " + file + ":" + std::to_string(line));
}
#define NB_NCCL_CHECK(communicator, expression) check_nccl((expression), communicator, #expression, __FILE__, __LINE__)

ncclDataType_t type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return ncclFloat32;
    case at::kDouble: return ncclFloat64;
    case at::kLong: return ncclInt64;
    case at::kBFloat16: return ncclBfloat16;
    default: throw Error(ErrorCode::kInternal, "a collective over GPUs of an unexpected dtype");
  }
}

/// The end of a collective on the communication stream.
class EventWork final : public Work {
 public:
  explicit EventWork(cudaStream_t stream, std::function<void()> check) : check_(std::move(check)) {
    NB_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    NB_CUDA_CHECK(cudaEventRecord(event_, stream));
  }
  ~EventWork() override { NB_CUDA_CHECK_NOEXCEPT(cudaEventDestroy(event_)); }
  void wait() override {
    check_();
    NB_CUDA_CHECK(cudaStreamWaitEvent(c10::cuda::getCurrentCUDAStream(), event_, 0));
  }

 private:
  std::function<void()> check_;
  cudaEvent_t event_ = nullptr;
};

class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(const DeviceGroup& group)
      : group_(group), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true)) {
    ncclUniqueId id{};
    if (rank() == 0) NB_NCCL_CHECK(nullptr, ncclGetUniqueId(&id));
    const at::Tensor bytes = at::empty({NCCL_UNIQUE_ID_BYTES}, at::kByte);
    std::memcpy(bytes.data_ptr(), id.internal, NCCL_UNIQUE_ID_BYTES);
    group_.host->broadcast(bytes, 0);
    std::memcpy(id.internal, bytes.data_ptr(), NCCL_UNIQUE_ID_BYTES);
    NB_NCCL_CHECK(nullptr, ncclCommInitRank(&communicator_, size(), id, rank()));
    watcher_ = std::thread([this] { watch(); });
  }

  ~NcclCommunicator() override {
    is_ending_ = true;
    watcher_.join();
    const std::lock_guard lock(mutex_);
    if (communicator_ != nullptr) ncclCommDestroy(communicator_);
  }

  int rank() const override { return group_.host->rank(); }
  int size() const override { return group_.host->size(); }
  HostShare host_share() const override { return group_.host->host_share(); }
  std::string name() const override { return "nccl"; }
  double waited_ms() const override { return group_.host->waited_ms(); }

 protected:
  bool takes(const at::Tensor& tensor) const override { return tensor.is_cuda() || tensor.is_cpu(); }

  void run(const Collective& collective) override {
    if (!is_on_gpu(collective)) {
      run_by(*group_.host, collective);
      return;
    }
    start(collective)->wait();
  }

  WorkHandle start(const Collective& collective) override {
    if (!is_on_gpu(collective)) return start_by(*group_.host, collective);
    check();
    wait_for_current_stream();
    enqueue(collective);
    keep_memory(collective);
    return std::make_shared<EventWork>(stream_.stream(), [this] { check(); });
  }

 private:
  static bool is_on_gpu(const Collective& collective) {
    return collective.tensor.defined() && collective.tensor.is_cuda();
  }

  /// The collective waits for all work enqueued so far.
  void wait_for_current_stream() const {
    cudaEvent_t event = nullptr;
    NB_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    NB_CUDA_CHECK(cudaEventRecord(event, c10::cuda::getCurrentCUDAStream()));
    NB_CUDA_CHECK(cudaStreamWaitEvent(stream_.stream(), event, 0));
    NB_CUDA_CHECK(cudaEventDestroy(event));  // freed once it has been passed
  }

  void enqueue(const Collective& collective) {
    const std::lock_guard lock(mutex_);
    if (communicator_ == nullptr) return;  // given up: wait() says why
    const at::Tensor& tensor = collective.tensor;
    const auto count = static_cast<std::size_t>(tensor.numel());
    void* const data = tensor.data_ptr();
    const cudaStream_t stream = stream_.stream();
    switch (collective.kind) {
      case Collective::Kind::kBarrier: break;
      case Collective::Kind::kAllReduceSum:
        NB_NCCL_CHECK(communicator_, ncclAllReduce(data, data, count, type_of(tensor), ncclSum, communicator_, stream));
        break;
      case Collective::Kind::kBroadcast:
        NB_NCCL_CHECK(communicator_,
                      ncclBroadcast(data, data, tensor.nbytes(), ncclUint8, collective.root, communicator_, stream));
        break;
      case Collective::Kind::kAllGather: enqueue_gather(collective, stream); break;
      case Collective::Kind::kReduceScatterSum: enqueue_scattered_sum(collective, stream); break;
    }
  }

  /// Parts may differ in size, which ncclReduceScatter does not take.
  void enqueue_scattered_sum(const Collective& collective, cudaStream_t stream) const {
    NB_NCCL_CHECK(communicator_, ncclGroupStart());
    for (std::size_t p = 0; p < collective.outputs.size(); ++p) {
      const at::Tensor& part = collective.outputs[p];
      if (part.numel() == 0) continue;
      NB_NCCL_CHECK(communicator_, ncclReduce(part.data_ptr(), part.data_ptr(), static_cast<std::size_t>(part.numel()),
                                              type_of(part), ncclSum, static_cast<int>(p), communicator_, stream));
    }
    NB_NCCL_CHECK(communicator_, ncclGroupEnd());
  }

  void enqueue_gather(const Collective& collective, cudaStream_t stream) const {
    const at::Tensor& input = collective.tensor;
    if (collective.outputs.size() == 1) {
      NB_NCCL_CHECK(communicator_, ncclAllGather(input.data_ptr(), collective.outputs.front().data_ptr(),
                                                 input.nbytes(), ncclUint8, communicator_, stream));
      return;
    }
    NB_NCCL_CHECK(communicator_, ncclGroupStart());
    for (std::size_t p = 0; p < collective.outputs.size(); ++p) {
      NB_NCCL_CHECK(communicator_, ncclBroadcast(input.data_ptr(), collective.outputs[p].data_ptr(), input.nbytes(),
                                                 ncclUint8, static_cast<int>(p), communicator_, stream));
    }
    NB_NCCL_CHECK(communicator_, ncclGroupEnd());
  }

  /// The allocator must not reuse the memory before the communication stream is done with it.
  void keep_memory(const Collective& collective) const {
    const auto keep = [&](const at::Tensor& t) {
      c10::cuda::CUDACachingAllocator::recordStream(t.storage().data_ptr(), stream_);
    };
    keep(collective.tensor);
    for (const at::Tensor& output : collective.outputs) keep(output);
  }

  void check() const {
    const std::lock_guard lock(mutex_);
    if (failure_) throw PeerFailed(*failure_);
  }

  /// Runs in a thread: a dead process, or NCCL's report of one, ends the collectives in progress.
  void watch() {
    while (!is_ending_) {
      std::this_thread::sleep_for(kWatchInterval);
      std::optional<ProcessFailure> found;
      try {
        if (group_.check_alive) group_.check_alive();
      } catch (const PeerFailed& failure) {
        found = ProcessFailure{failure.outcome(), failure.what()};
      }
      const std::lock_guard lock(mutex_);
      ncclResult_t state = ncclSuccess;
      if (!found && communicator_ != nullptr && ncclCommGetAsyncError(communicator_, &state) == ncclSuccess &&
          state != ncclSuccess && state != ncclInProgress)
        found = ProcessFailure{RunOutcome::kCrashed, std::string("NCCL: ") + ncclGetErrorString(state)};
      if (!found) continue;
      failure_ = found;
      ncclCommAbort(communicator_);  // its kernels end, and the host no longer waits for them
      communicator_ = nullptr;
      return;
    }
  }

  DeviceGroup group_;
  c10::cuda::CUDAStream stream_;
  mutable std::mutex mutex_;
  ncclComm_t communicator_ = nullptr;
  std::optional<ProcessFailure> failure_;
  std::atomic<bool> is_ending_{false};
  std::thread watcher_;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(const DeviceGroup& group) {
  return std::make_unique<NcclCommunicator>(group);
}

}  // namespace nanobench::core::cuda

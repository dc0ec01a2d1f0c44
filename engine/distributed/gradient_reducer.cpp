#include "engine/distributed/gradient_reducer.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/digest.h"
#include "core/base/error.h"

namespace nanobench::core {

namespace {

constexpr std::int64_t kAlignmentBytes = 64;  // as LibTorch's own tensors: kernels may take another path otherwise

std::int64_t padded(std::int64_t elements, std::int64_t element_bytes) {
  const std::int64_t multiple = kAlignmentBytes / element_bytes;
  return (elements + multiple - 1) / multiple * multiple;
}

}  // namespace

class GradientReducer::ReadyHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  ReadyHook(GradientReducer& reducer, std::size_t parameter) : reducer_(reducer), parameter_(parameter) {}
  void operator()(const at::Tensor&) override { reducer_.on_ready(parameter_); }

 private:
  GradientReducer& reducer_;
  std::size_t parameter_;
};

GradientReducer::GradientReducer(const Parameters& parameters, const DistributedConfig& config,
                                 Communicator& communicator)
    : config_(config), communicator_(communicator), places_(parameters.all().size()) {
  for (const Parameter& parameter : parameters.all()) parameters_.push_back(parameter.tensor);
  if (config_.reduction == ReductionSchedule::kPerParameter) return;
  build_buckets(config_.bucket_bytes);
  if (config_.reduction == ReductionSchedule::kOverlappedBuckets) add_hooks();
}

GradientReducer::~GradientReducer() {
  if (config_.reduction != ReductionSchedule::kOverlappedBuckets) return;
  for (const at::Tensor& parameter : parameters_) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientReducer::build_buckets(std::int64_t bucket_bytes) {
  std::vector<std::size_t> filling;
  std::int64_t bytes = 0;
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const at::Tensor& parameter = parameters_[i];
    const auto size = static_cast<std::int64_t>(parameter.nbytes());
    const bool fits = filling.empty() || (bytes + size <= bucket_bytes &&
                                          parameters_[filling.front()].scalar_type() == parameter.scalar_type());
    if (!fits) {
      add_bucket(filling);
      filling.clear();
      bytes = 0;
    }
    filling.push_back(i);
    bytes += size;
  }
  if (!filling.empty()) add_bucket(filling);
}

void GradientReducer::add_bucket(const std::vector<std::size_t>& parameters) {
  Bucket bucket;
  std::int64_t total = 0;
  for (const std::size_t i : parameters) total += padded(parameters_[i].numel(), parameters_[i].element_size());
  bucket.flat = at::zeros({total}, parameters_[parameters.front()].options().requires_grad(false));
  std::int64_t begin = 0;
  for (const std::size_t i : parameters) {
    const at::Tensor& parameter = parameters_[i];
    places_[i] = {.bucket = buckets_.size(), .member = bucket.members.size()};
    bucket.members.push_back(
        {.parameter = i, .view = bucket.flat.narrow(0, begin, parameter.numel()).view(parameter.sizes())});
    begin += padded(parameter.numel(), parameter.element_size());
  }
  buckets_.push_back(std::move(bucket));
}

void GradientReducer::add_hooks() {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::make_unique<ReadyHook>(*this, i));
}

void GradientReducer::zero_gradients() {
  const bool has_views =
      config_.reduction != ReductionSchedule::kPerParameter && config_.buckets == BucketStorage::kViews;
  if (!has_views) {
    for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    return;
  }
  for (Bucket& bucket : buckets_) {
    bucket.flat.zero_();
    // Set each time: an optimiser may have replaced the tensor.
    for (const Member& member : bucket.members) parameters_[member.parameter].mutable_grad() = member.view;
  }
}

void GradientReducer::before_backward(SyncPoint point) {
  if (point == SyncPoint::kNone || config_.reduction != ReductionSchedule::kOverlappedBuckets) return;
  for (Bucket& bucket : buckets_) {
    bucket.pending = bucket.members.size();
    for (Member& member : bucket.members) member.is_ready = false;
  }
  next_bucket_ = 0;
  is_overlapping_ = true;
}

void GradientReducer::on_ready(std::size_t parameter) {
  if (!is_overlapping_) return;
  const Place place = places_[parameter];
  Bucket& bucket = buckets_[place.bucket];
  Member& member = bucket.members[place.member];
  if (member.is_ready) return;
  copy_in(member);
  member.is_ready = true;
  --bucket.pending;
  start_ready_buckets();
}

void GradientReducer::start_ready_buckets() {
  for (; next_bucket_ < buckets_.size() && buckets_[next_bucket_].pending == 0; ++next_bucket_)
    buckets_[next_bucket_].work = communicator_.start_all_reduce_sum(buckets_[next_bucket_].flat);
}

void GradientReducer::after_backward(SyncPoint point) {
  if (point == SyncPoint::kNone) return;
  switch (config_.reduction) {
    case ReductionSchedule::kPerParameter: reduce_parameters(); break;
    case ReductionSchedule::kBuckets: reduce_buckets(); break;
    case ReductionSchedule::kOverlappedBuckets: finish_buckets(); break;
  }
  if (point == SyncPoint::kMicroStep && communicator_.rank() != 0) zero_gradients();
}

void GradientReducer::reduce_parameters() {
  for (at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter).detach();
    communicator_.all_reduce_sum(parameter.grad());
  }
}

void GradientReducer::reduce_buckets() {
  for (Bucket& bucket : buckets_) {
    for (Member& member : bucket.members) copy_in(member);
    communicator_.all_reduce_sum(bucket.flat);
    copy_out(bucket);
  }
}

void GradientReducer::finish_buckets() {
  is_overlapping_ = false;
  for (std::size_t i = next_bucket_; i < buckets_.size(); ++i) {  // those with a parameter that nothing read
    for (Member& member : buckets_[i].members) {
      if (!member.is_ready) copy_in(member);
    }
    buckets_[i].work = communicator_.start_all_reduce_sum(buckets_[i].flat);
  }
  for (Bucket& bucket : buckets_) {
    bucket.work->wait();
    bucket.work.reset();
    copy_out(bucket);
  }
}

void GradientReducer::copy_in(Member& member) {
  const at::Tensor& gradient = parameters_[member.parameter].grad();
  if (config_.buckets == BucketStorage::kViews) {
    TORCH_CHECK(gradient.is_same(member.view), "the gradient of parameter ", member.parameter, " has left its bucket");
    return;
  }
  const at::NoGradGuard no_grad;
  if (gradient.defined()) {
    member.view.copy_(gradient);
  } else {
    member.view.zero_();
  }
}

void GradientReducer::copy_out(Bucket& bucket) {
  if (config_.buckets == BucketStorage::kViews) return;
  const at::NoGradGuard no_grad;
  for (const Member& member : bucket.members) {
    at::Tensor& parameter = parameters_[member.parameter];
    if (!parameter.grad().defined()) parameter.mutable_grad() = at::empty_like(parameter).detach();
    parameter.mutable_grad().copy_(member.view);
  }
}

std::vector<std::int64_t> GradientReducer::bucket_elements() const {
  std::vector<std::int64_t> elements;
  for (const Bucket& bucket : buckets_) {
    std::int64_t count = 0;
    for (const Member& member : bucket.members) count += parameters_[member.parameter].numel();
    elements.push_back(count);
  }
  return elements;
}

namespace {

std::string digest_of(const Parameters& parameters) {
  Digest digest;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor values = parameter.tensor.detach().to(at::kCPU).contiguous();
    digest.update(values.data_ptr(), values.nbytes());
  }
  return digest.hex();
}

}  // namespace

void check_replicas(const Parameters& parameters, Communicator& communicator) {
  if (communicator.size() == 1) return;
  const std::string own = digest_of(parameters);
  const at::Tensor input = at::empty({static_cast<std::int64_t>(own.size())}, at::kByte);
  std::memcpy(input.data_ptr(), own.data(), own.size());
  const at::Tensor all = at::empty({communicator.size(), input.size(0)}, at::kByte);
  communicator.all_gather(all, input);
  for (int process = 1; process < communicator.size(); ++process) {
    if (at::equal(all[process], all[0])) continue;
    throw Error(ErrorCode::kInternal, "the parameters of process " + std::to_string(process) +
                                          " are no longer those of process 0; please report this as an error");
  }
}

}  // namespace nanobench::core

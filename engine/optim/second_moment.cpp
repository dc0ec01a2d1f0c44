#include "engine/optim/second_moment.h"

#include <algorithm>

#include "core/base/op_timer.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/second_moment.h"
#include "engine/kernels/thread_pool.h"
#include "engine/ops/bfloat16.h"
#include "engine/ops/kernels.h"
#include "engine/optim/optimizer.h"

namespace nanobench::core {
namespace {

constexpr double kTiny = 1e-10;

bool is_by_rows(const at::Tensor& parameter) {
  return parameter.size(-2) >= parameter.size(-1);
}

bool fits_device(const std::vector<at::Tensor>& tensors) {
  return cuda_kernels() != nullptr && EngineContext::current().uses_kernels() &&
         are_plain_floats(tensors, cuda_kernels()->device);
}

}  // namespace

SecondMoment::SecondMoment(const std::vector<MuonParameter>& parameters, double beta2, bool rounds_to_bfloat16)
    : beta2_(beta2), rounds_(rounds_to_bfloat16) {
  for (const MuonParameter& parameter : parameters) {
    parameters_.push_back(parameter.tensor);
    std::vector<std::int64_t> sizes = parameter.tensor.sizes().vec();
    sizes.erase(is_by_rows(parameter.tensor) ? sizes.end() - 1 : sizes.end() - 2);
    moments_.push_back(at::zeros(sizes, parameter.tensor.options().requires_grad(false)));
  }
}

bool SecondMoment::normalize_(std::vector<at::Tensor>& updates, const std::vector<double>& rates) {
  const OpTimer timer("second_moment");
  const at::NoGradGuard no_grad;
  if (fits_device(parameters_) && fits_device(updates)) return normalize_on_device(updates, rates);
  if (!rounds_ && EngineContext::current().uses_kernels() && are_plain_floats(parameters_, at::kCPU) &&
      are_plain_floats(updates, at::kCPU))
    return normalize_by_kernel(updates, rates);
  for (std::size_t i = 0; i < updates.size(); ++i) normalize_by_operations(i, updates[i]);
  return false;
}

bool SecondMoment::normalize_by_kernel(std::vector<at::Tensor>& updates, const std::vector<double>& rates) {
  std::vector<NormalizedUpdate> matrices;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const std::int64_t rows = parameters_[i].size(-2), columns = parameters_[i].size(-1);
    const std::int64_t numbers = rows * columns, count = parameters_[i].numel() / numbers;
    for (std::int64_t m = 0; m < count; ++m) {
      matrices.push_back({.rows = rows,
                          .columns = columns,
                          .update = updates[i].data_ptr<float>() + m * numbers,
                          .moments = moments_[i].data_ptr<float>() + m * std::max(rows, columns),
                          .parameter = rates.empty() ? nullptr : parameters_[i].data_ptr<float>() + m * numbers,
                          .rate = rates.empty() ? 0.0f : static_cast<float>(rates[i])});
    }
  }
  normalize_updates(matrices, beta2_, kernel_threads());
  return !rates.empty();
}

/// All matrices of one shape together, as many as a call takes.
bool SecondMoment::normalize_on_device(std::vector<at::Tensor>& updates, const std::vector<double>& rates) {
  const CudaKernels& kernels = *cuda_kernels();
  std::vector<cuda::DeviceSecondMoment> calls;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const std::int64_t rows = parameters_[i].size(-2), columns = parameters_[i].size(-1), numbers = rows * columns;
    const float rate = rates.empty() ? 0.0f : static_cast<float>(rates[i]);
    for (std::int64_t m = 0; m < parameters_[i].numel() / numbers; ++m) {
      auto call = std::find_if(calls.begin(), calls.end(), [&](const cuda::DeviceSecondMoment& one) {
        return one.rows == rows && one.columns == columns && one.rate == rate &&
               one.matrices < cuda::kSecondMomentMatrices;
      });
      if (call == calls.end()) {
        call = calls.insert(calls.end(), cuda::DeviceSecondMoment{.rows = rows, .columns = columns});
        call->rate = rate;
        call->rest = static_cast<float>(1.0 - beta2_);
        call->rounds = rounds_;
      }
      const auto place = static_cast<std::size_t>(call->matrices++);
      call->updates[place] = updates[i].data_ptr<float>() + m * numbers;
      call->moments[place] = moments_[i].data_ptr<float>() + m * std::max(rows, columns);
      if (!rates.empty()) call->parameters[place] = parameters_[i].data_ptr<float>() + m * numbers;
    }
  }
  for (const cuda::DeviceSecondMoment& call : calls) {
    const at::Tensor workspace =
        at::empty({kernels.second_moment_workspace(call.rows, call.columns, call.matrices)}, updates.front().options());
    kernels.second_moment_normalize(call, float_data(workspace), kernels.stream());
  }
  return !rates.empty();
}

void SecondMoment::normalize_by_operations(std::size_t parameter, at::Tensor& update) {
  const std::int64_t averaged = is_by_rows(parameters_[parameter]) ? -1 : -2;
  const auto norm = [](const at::Tensor& x) {
    return at::linalg_vector_norm(x, 2, at::IntArrayRef{-2, -1}, /*keepdim=*/true);
  };
  const auto round = [&](at::Tensor& x) {
    if (rounds_) round_to_bfloat16_(x);
  };
  at::Tensor v = update.view(parameters_[parameter].sizes());
  const at::Tensor before = norm(v);
  moments_[parameter].lerp_(v.square().mean(averaged), 1.0 - beta2_);
  v.div_(moments_[parameter].sqrt().clamp_min(kTiny).unsqueeze(averaged));
  round(v);
  v.mul_(before / norm(v).clamp_min(kTiny));
  round(v);
}

}  // namespace nanobench::core

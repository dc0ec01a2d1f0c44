#include "engine/optim/blockwise_moment.h"

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {
namespace {

constexpr double kTinyMoment = 1e-10;

bool is_by_rows(const MuonParameter& parameter, const OptimizerGroupConfig& config) {
  if (config.mean_axis == MeanAxis::kRow) return true;
  const auto [rows, columns] = shape_for(config, parameter);
  return rows >= columns;
}

}  // namespace

BlockwiseMoment::BlockwiseMoment(const std::vector<MuonParameter>& parameters, const OptimizerGroupConfig& config)
    : parameters_(parameters),
      beta2_(config.second_moment_beta2.value()),
      rounds_(config.ns_dtype == NewtonSchulzDtype::kBfloat16) {
  for (const MuonParameter& one : parameters_) {
    const std::vector<std::int64_t> sizes = is_by_rows(one, config)
                                                ? std::vector<std::int64_t>{one.matrices, one.rows(), 1}
                                                : std::vector<std::int64_t>{one.matrices, 1, one.columns()};
    moments_.push_back(at::zeros(sizes, one.tensor.options().requires_grad(false)));
  }
}

void BlockwiseMoment::normalize_(std::size_t parameter, at::Tensor& update) {
  const OpTimer timer("second_moment");
  const MuonParameter& one = parameters_[parameter];
  at::Tensor& moments = moments_[parameter];
  const auto norm = [](const at::Tensor& x) {
    return at::linalg_vector_norm(x, 2, at::IntArrayRef{-2, -1}, /*keepdim=*/true);
  };
  at::Tensor x = update.view({one.matrices, one.rows(), one.columns()});
  const at::Tensor before = norm(x);
  moments.lerp_(x.square().mean(moments.size(1) == x.size(1) && moments.size(2) == 1 ? -1 : -2, /*keepdim=*/true),
                1.0 - beta2_);
  x.div_(moments.clamp_min(kTinyMoment).sqrt());
  x.mul_(before / norm(x).clamp_min(kTinyMoment));
  if (rounds_) round_to_bfloat16_(x);
}

}  // namespace nanobench::core

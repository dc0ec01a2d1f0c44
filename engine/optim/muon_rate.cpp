#include "engine/optim/muon_rate.h"

#include <algorithm>
#include <cmath>

#include "core/base/op_timer.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {

double muon_update_scale(UpdateScale scale, std::int64_t rows, std::int64_t columns) {
  const auto r = static_cast<double>(rows);
  const auto c = static_cast<double>(columns);
  switch (scale) {
    case UpdateScale::kNone: return 1.0;
    case UpdateScale::kSqrtRowsOverColumns: return std::sqrt(std::max(1.0, r / c));
    case UpdateScale::kSqrtLargestSide: return std::sqrt(std::max(r, c));
  }
  return 1.0;
}

MuonRate muon_rate(const OptimizerGroupConfig& config, std::int64_t rows, std::int64_t columns) {
  const double scale = muon_update_scale(config.update_scale, rows, columns), multiplier = config.rate_multiplier;
  const bool is_in_rate = config.scale_application == ScaleApplication::kRate;
  return {.lr = config.lr,
          .rate_scale = is_in_rate ? multiplier * scale : multiplier,
          .update_scale = is_in_rate ? 1.0 : scale};
}

MuonRate muon_rate(const OptimizerGroupConfig& config, const MuonParameter& parameter) {
  const auto [rows, columns] = shape_for(config, parameter);
  return muon_rate(config, rows, columns);
}

at::Tensor MuonParameter::gradient() const {
  if (!whole.defined()) return tensor.grad();
  const at::Tensor& all = whole.grad();
  return all.defined() ? all.narrow(0, first_row, tensor.size(0)) : all;
}

std::pair<std::int64_t, std::int64_t> shape_for(const OptimizerGroupConfig& config, const MuonParameter& parameter) {
  const at::Tensor& stored = parameter.whole.defined() ? parameter.whole : parameter.tensor;
  if (config.shape_of == ShapeSource::kStored) return {stored.size(-2), stored.size(-1)};
  return {parameter.rows(), parameter.columns()};
}

void apply_muon_update(const MuonParameter& parameter, const at::Tensor& update, const OptimizerGroupConfig& config,
                       double lr_factor) {
  const OpTimer timer("muon");
  const at::NoGradGuard no_grad;
  const MuonRate rate = muon_rate(config, parameter);
  at::Tensor tensor = parameter.tensor;
  const at::Tensor shaped = update.reshape(tensor.sizes());
  if (config.cautious_decay != 0.0) {
    const at::Tensor is_decayed = (shaped * tensor).ge_(0.0);
    const double share = config.cautious_decay * rate.lr * lr_factor * rate.at(lr_factor);
    tensor.mul_(is_decayed.mul_(-share).add_(1.0));
  }
  tensor.add_(shaped, -rate.at(lr_factor));
  if (parameter.storage == StoredPrecision::kBfloat16) round_to_bfloat16_(tensor);
}

}  // namespace nanobench::core

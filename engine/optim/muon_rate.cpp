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
  const double scale = muon_update_scale(config.update_scale, rows, columns);
  const bool is_in_rate = config.scale_application == ScaleApplication::kRate;
  return {.lr = config.lr, .rate_scale = is_in_rate ? scale : 1.0, .update_scale = is_in_rate ? 1.0 : scale};
}

void apply_muon_update(const MuonParameter& parameter, const at::Tensor& update, const OptimizerGroupConfig& config,
                       double lr_factor) {
  const OpTimer timer("muon");
  const at::NoGradGuard no_grad;
  const double rate = muon_rate(config, parameter.rows(), parameter.columns()).at(lr_factor);
  at::Tensor tensor = parameter.tensor;
  tensor.add_(update.reshape(tensor.sizes()), -rate);
  if (parameter.storage == StoredPrecision::kBfloat16) round_to_bfloat16_(tensor);
}

}  // namespace nanobench::core

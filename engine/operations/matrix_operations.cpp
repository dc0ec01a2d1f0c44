// What is done to one matrix: a product, the orthogonalisation of an update, a step of Muon.
#include <memory>

#include "engine/operations/measured_operation.h"
#include "engine/ops/orthogonalize.h"
#include "engine/optim/muon.h"

namespace nanobench::core {
namespace {

constexpr double kNoMomentum = 0.0;
constexpr int kErrorSteps = 20;  // updates after which two precisions are compared

std::vector<std::int64_t> shape_of(const OperationArm& arm) {
  return {arm.size("rows"), arm.size("columns")};
}

/// Muon on one matrix whose gradient stays.
struct OneMatrix {
  at::Tensor parameter;
  Muon muon;

  OneMatrix(at::Tensor weights, const at::Tensor& gradient, const OptimizerGroupConfig& config)
      : parameter(with_gradient(std::move(weights), gradient)), muon({{.tensor = parameter}}, config) {}

  static at::Tensor with_gradient(at::Tensor weights, const at::Tensor& gradient) {
    weights.requires_grad_(true);
    weights.mutable_grad() = gradient;
    return weights;
  }
};

/// What Muon applies to the matrix after some steps with a new gradient each and a momentum that warms up.
at::Tensor late_update(const OperationArm& arm, std::uint64_t seed, at::ScalarType dtype) {
  Normal normal(seed);
  const MomentumConfig& schedule = arm.config.schedule.muon_momentum;
  OneMatrix matrix(at::zeros(shape_of(arm), dtype), normal(shape_of(arm), dtype), arm.config.optimizer.hidden_matrices);
  at::Tensor update;
  for (int step = 0; step < kErrorSteps; ++step) {
    const double warmed = static_cast<double>(step) / kErrorSteps;
    matrix.parameter.mutable_grad() = normal(shape_of(arm), dtype);
    update = matrix.muon.single_update(schedule.start + (schedule.end - schedule.start) * warmed);
  }
  return update;
}

}  // namespace

MeasuredOperation matrix_product_operation(const OperationArm& arm, std::uint64_t seed) {
  Normal normal(seed);
  const std::int64_t rows = arm.size("rows"), columns = arm.size("columns"), inner = arm.size_or("inner", columns);
  const at::Tensor a = normal({rows, inner}), b = normal({inner, columns});
  return {.call = [=] { return std::vector<at::Tensor>{at::mm(a, b)}; },
          .flops = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner),
          .error = [=] { return relative_distance(at::mm(a, b), at::mm(a.to(at::kDouble), b.to(at::kDouble))); },
          .distance_to_polar = {}};
}

MeasuredOperation orthogonalize_operation(const OperationArm& arm, std::uint64_t seed) {
  Normal normal(seed);
  const at::Tensor gradient = normal(shape_of(arm));
  const OptimizerGroupConfig& config = arm.config.optimizer.hidden_matrices;
  const auto matrix = std::make_shared<OneMatrix>(at::zeros(shape_of(arm)), gradient, config);
  const auto update = [matrix] { return matrix->muon.single_update(kNoMomentum).reshape_as(matrix->parameter); };
  return {
      .call = [update] { return std::vector<at::Tensor>{update()}; },
      .flops = 0,
      .error =
          [=] {
            OneMatrix exact(at::zeros(shape_of(arm), at::kDouble), gradient.to(at::kDouble), config);
            return relative_distance(update(), exact.muon.single_update(kNoMomentum).reshape_as(gradient));
          },
      .distance_to_polar = [=] { return relative_distance(update(), svd_orthogonalize(gradient.to(at::kDouble))); }};
}

MeasuredOperation muon_step_operation(const OperationArm& arm, std::uint64_t seed) {
  Normal normal(seed);
  const at::Tensor weights = normal(shape_of(arm));
  const auto matrix = std::make_shared<OneMatrix>(weights, normal(shape_of(arm)), arm.config.optimizer.hidden_matrices);
  const double momentum = arm.config.schedule.muon_momentum.end;
  return {
      .call = [matrix, momentum]() -> std::vector<at::Tensor> {
        matrix->muon.step(1.0, momentum);
        return {};
      },
      .flops = 0,
      .error =
          [=] { return relative_distance(late_update(arm, seed, at::kFloat), late_update(arm, seed, at::kDouble)); },
      .distance_to_polar = {}};
}

}  // namespace nanobench::core

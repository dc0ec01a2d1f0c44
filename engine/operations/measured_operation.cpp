#include "engine/operations/measured_operation.h"

#include <ATen/CPUGeneratorImpl.h>

#include <map>

#include "core/base/error.h"

namespace nanobench::core {

MeasuredOperation make_operation(const std::string& op, const OperationArm& arm, std::uint64_t seed) {
  using Make = MeasuredOperation (*)(const OperationArm&, std::uint64_t);
  static const std::map<std::string, Make> makers = {{"attention", attention_operation},
                                                     {"matrix_product", matrix_product_operation},
                                                     {"muon_step", muon_step_operation},
                                                     {"orthogonalize", orthogonalize_operation},
                                                     {"softcapped_cross_entropy", head_operation}};
  const auto found = makers.find(op);
  if (found == makers.end()) throw Error(ErrorCode::kUnavailable, "this engine has no operation " + op);
  return found->second(arm, seed);
}

Normal::Normal(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)) {}

at::Tensor Normal::operator()(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::randn(shape, generator_, at::kDouble).to(dtype);
}

at::Tensor Normal::leaf(at::IntArrayRef shape, at::ScalarType dtype) {
  return (*this)(shape, dtype).requires_grad_(true);
}

double relative_distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor exact = b.to(at::kDouble);
  return ((a.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

}  // namespace nanobench::core

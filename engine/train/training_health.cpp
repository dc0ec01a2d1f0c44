#include "engine/train/training_health.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanobench::core {
namespace {

constexpr const char* kGradientNorm = "health/gradient_norm";
constexpr const char* kUpdateRatio = "health/update_ratio";
constexpr const char* kGradientFlow = "health/gradient_flow";
constexpr const char* kShared = "shared";

double square_of(const at::Tensor& tensor) {
  const double norm =
      at::linalg_vector_norm(tensor, 2, at::OptionalIntArrayRef(), /*keepdim=*/false, at::kDouble).item<double>();
  return norm * norm;
}

/// "/hidden_matrices", "/hidden_matrices/3": the end of a metric's name. Without a layer: the whole group.
std::string name_end(ParameterGroup group, const std::string& layer = "") {
  std::string end = "/";
  end += health_group(group);
  if (!layer.empty()) end.append("/").append(layer);
  return end;
}

/// Sums of squares of all parameters, of each group, and of each group in each layer, by the end of a metric's name.
class ParameterSquares {
 public:
  void add(const Parameter& parameter, double square) {
    squares_[""] += square;
    squares_[name_end(parameter.group)] += square;
    squares_[name_end(parameter.group, health_layer(parameter.name))] += square;
  }
  double norm(const std::string& name) const { return std::sqrt(squares_.at(name)); }
  const std::map<std::string, double>& all() const { return squares_; }

 private:
  std::map<std::string, double> squares_;
};

/// Smallest over largest gradient per weight of the layers' hidden matrices; NaN without any.
double flow_of(const Parameters& parameters, const ParameterSquares& gradients) {
  std::map<std::string, std::int64_t> numbers;
  for (const Parameter& parameter : parameters.all()) {
    const std::string layer = health_layer(parameter.name);
    if (parameter.group == ParameterGroup::kHiddenMatrices && layer != kShared)
      numbers[layer] += parameter.tensor.numel();
  }
  double smallest = std::numeric_limits<double>::infinity(), largest = 0.0;
  for (const auto& [layer, count] : numbers) {
    const double per_weight =
        gradients.norm(name_end(ParameterGroup::kHiddenMatrices, layer)) / std::sqrt(static_cast<double>(count));
    smallest = std::min(smallest, per_weight);
    largest = std::max(largest, per_weight);
  }
  return largest > 0.0 ? smallest / largest : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

const char* health_group(ParameterGroup group) {
  switch (group) {
    case ParameterGroup::kEmbeddings: return "embeddings";
    case ParameterGroup::kLmHead: return "lm_head";
    case ParameterGroup::kHiddenMatrices: return "hidden_matrices";
    case ParameterGroup::kScalars: break;
  }
  return "scalars";
}

std::string health_layer(const std::string& name) {
  constexpr std::string_view kBlocks = "blocks.";
  if (!name.starts_with(kBlocks)) return kShared;
  return name.substr(kBlocks.size(), name.find('.', kBlocks.size()) - kBlocks.size());
}

TrainingHealth::TrainingHealth(std::int64_t every, std::int64_t steps, const Parameters& parameters,
                               const OptimizerSet& optimizers)
    : every_(every), last_(steps - 1), parameters_(parameters), optimizers_(optimizers) {}

bool TrainingHealth::is_due(std::int64_t step) const {
  return step % every_ == 0 || step == last_;
}

void TrainingHealth::before_update() {
  const at::NoGradGuard no_grad;
  values_.clear();
  ParameterSquares gradients;
  for (const Parameter& parameter : parameters_.all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    gradients.add(parameter, gradient.defined() ? square_of(gradient) : 0.0);
  }
  for (const auto& [name, square] : gradients.all()) values_[kGradientNorm + name] = std::sqrt(square);
  const double flow = flow_of(parameters_, gradients);
  if (!std::isnan(flow)) values_[kGradientFlow] = flow;
  weights_ = optimizers_.weights();
  for (at::Tensor& weight : weights_) weight = weight.clone();
}

std::map<std::string, double> TrainingHealth::after_update() {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> updated = optimizers_.weights();
  ParameterSquares before, change;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Parameter& parameter = parameters_.all()[i];
    before.add(parameter, square_of(weights_[i]));
    change.add(parameter, square_of(updated[i] - weights_[i]));
  }
  for (const auto& [name, square] : before.all()) {
    if (square > 0.0) values_[kUpdateRatio + name] = change.norm(name) / before.norm(name);
  }
  weights_.clear();
  return std::move(values_);
}

}  // namespace nanobench::core

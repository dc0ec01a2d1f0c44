#include "engine/nn/generated_gates.h"

namespace nanobench::core {
namespace {

constexpr double kScale = 0.1;  // of the records at first

/// First values of what a set makes, times the scale: gates 0.25, weights of pairs 0.05, skip 0.5, mixture 1; else 0.
std::vector<double> first_values(const GateSetConfig& set, std::int64_t num_heads) {
  std::vector<double> values;
  const auto add = [&](std::size_t layers, std::initializer_list<double> each) {
    for (std::size_t i = 0; i < layers; ++i) values.insert(values.end(), each);
  };
  const auto heads = static_cast<std::size_t>(num_heads);
  add(set.xsa_layers.size() * heads, {0.0});
  add(set.attention_gate_layers.size() * heads, {0.25});
  add(set.inject_layers.size(), {0.0, 0.05});
  add(set.has_skip ? 1 : 0, {0.5});
  for (std::size_t i = 0; i < set.dc_layers.size(); ++i) {
    add(heads, {1.0});
    add(heads, {0.0});
  }
  return values;
}

}  // namespace

GeneratedGates::GeneratedGates(Parameters& parameters, const TrainConfig& config)
    : sets_(config.model.generated_gates.sets), num_heads_(config.model.num_heads) {
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    coefficients_.emplace_back(parameters, "gates." + std::to_string(set) + ".", first_values(sets_[set], num_heads_),
                               kScale);
  }
  scale_ = parameters.add({.name = "gates.scale", .values = {kScale}});
}

void GeneratedGates::make(std::optional<std::int64_t> at, const at::Tensor& x, GeneratedNumbers& numbers) const {
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    if (sets_[set].at != at) continue;
    const at::Tensor all = coefficients_[set](x, scale_);
    std::int64_t begin = 0;
    const auto next = [&](std::int64_t count) {
      begin += count;
      return all.narrow(1, begin - count, count);
    };
    for (const std::int64_t layer : sets_[set].xsa_layers) numbers.own_values[layer] = next(num_heads_);
    for (const std::int64_t layer : sets_[set].attention_gate_layers) numbers.attention_gate[layer] = next(num_heads_);
    for (const std::int64_t layer : sets_[set].inject_layers) {
      numbers.x0_weight[layer] = next(1);
      numbers.pair_weight[layer] = next(1);
    }
    if (sets_[set].has_skip) numbers.skip = next(1);
    for (const std::int64_t layer : sets_[set].dc_layers) {
      numbers.dc_mixture[layer] = next(num_heads_);
      numbers.dc_share[layer] = next(num_heads_);
    }
  }
}

}  // namespace nanobench::core

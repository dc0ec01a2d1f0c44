#include "engine/nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "core/base/error.h"
#include "core/base/random.h"
#include "engine/kernels/thread_pool.h"
#include "engine/ops/bfloat16.h"

namespace nanobench::core {
namespace {

/// SplitMix64 over a counter: element i of a stream does not depend on other draws.
class ElementRandom {
 public:
  ElementRandom(std::uint64_t seed, const std::string& name, at::IntArrayRef shape)
      : key_(splitmix64(seed ^ 0x6e616e6f62656e63ULL)) {
    for (const char c : name) key_ = splitmix64(key_ ^ static_cast<unsigned char>(c));
    for (const std::int64_t size : shape) key_ = splitmix64(key_ ^ static_cast<std::uint64_t>(size));
  }
  /// Uniform in (0, 1).
  double uniform(std::uint64_t index) const {
    return (static_cast<double>(splitmix64(key_ + index) >> 11) + 0.5) * 0x1.0p-53;
  }
  /// Standard normal (Box-Muller on two uniforms of the element's own).
  double normal(std::uint64_t index) const {
    return std::sqrt(-2.0 * std::log(uniform(2 * index))) * std::cos(2.0 * std::numbers::pi * uniform(2 * index + 1));
  }

 private:
  std::uint64_t key_;
};

constexpr double kGpt2Std = 0.02;

/// Inputs of the linear layer.
std::int64_t fan_in_of(const Parameter& parameter) {
  if (parameter.tensor.dim() == 0) return 1;
  return parameter.matrix_columns.value_or(parameter.tensor.size(parameter.is_transposed ? 0 : -1));
}

double initial_value(const Parameter& parameter, InitRule rule, const TrainConfig& config, const ElementRandom& random,
                     std::uint64_t index) {
  const auto fan_in = static_cast<double>(fan_in_of(parameter));
  switch (rule) {
    case InitRule::kNormal: return parameter.std.value_or(1.0) * random.normal(index);
    case InitRule::kLinear: {
      const std::optional<double> std = parameter.std ? parameter.std : config.model.linear_init_std;
      const double bound = std ? std::numbers::sqrt3 * *std : 1.0;
      return (2.0 * random.uniform(index) - 1.0) * bound / std::sqrt(fan_in);
    }
    case InitRule::kUniform: return (2.0 * random.uniform(index) - 1.0) / std::sqrt(fan_in);
    case InitRule::kZero:
      return config.init.zero_init_std == 0.0 ? 0.0
                                              : config.init.zero_init_std / std::sqrt(fan_in) * random.normal(index);
    case InitRule::kScalar: {
      const double noise = config.init.scalar_std == 0.0 ? 0.0 : config.init.scalar_std * random.normal(index);
      return parameter.values[parameter.values.size() == 1 ? 0 : static_cast<std::size_t>(index)] + noise;
    }
    case InitRule::kGpt2: return kGpt2Std * random.normal(index);
    case InitRule::kGpt2Residual:
      return kGpt2Std / std::sqrt(2.0 * static_cast<double>(config.model.num_layers)) * random.normal(index);
  }
  return 0.0;
}

constexpr std::int64_t kDrawnAtOnce = 1 << 14;  // numbers that a thread takes

/// Writes values of a block of `rows` x `columns` elements of a matrix that is `stride` wide. Uses all threads:
/// otherwise a GPU would wait seconds for the tables of the official model.
void fill_block(double* out, std::int64_t rows, std::int64_t columns, std::int64_t stride, const Parameter& parameter,
                InitRule rule, const TrainConfig& config, const ElementRandom& random) {
  const std::int64_t count = rows * columns;
  kernel_threads().parallel_for((count + kDrawnAtOnce - 1) / kDrawnAtOnce, [&](std::int64_t part) {
    const std::int64_t end = std::min((part + 1) * kDrawnAtOnce, count);
    for (std::int64_t i = part * kDrawnAtOnce; i < end; ++i)
      out[i / columns * stride + i % columns] =
          initial_value(parameter, rule, config, random, static_cast<std::uint64_t>(i));
  });
}

/// The whole parameter as one matrix, piece by piece.
at::Tensor initial_values(const Parameter& parameter, const TrainConfig& config, std::uint64_t seed) {
  at::Tensor values = at::empty({parameter.tensor.numel()}, at::kDouble);
  double* out = values.data_ptr<double>();
  if (parameter.pieces.empty()) {
    std::vector<std::int64_t> sizes = parameter.tensor.sizes().vec();
    if (parameter.is_transposed) std::reverse(sizes.begin(), sizes.end());
    fill_block(out, 1, values.numel(), values.numel(), parameter, parameter.rule, config,
               ElementRandom(seed, parameter.name, sizes));
    return parameter.is_transposed ? values.view(sizes).t().reshape({-1}) : values;
  }
  const auto count = static_cast<std::int64_t>(parameter.pieces.size());
  const std::int64_t width = parameter.matrix_columns.value_or(parameter.tensor.size(-1));
  const std::int64_t height = values.numel() / width;
  const std::int64_t rows = parameter.pieces_are_columns ? height : height / count;
  const std::int64_t columns = parameter.pieces_are_columns ? width / count : width;
  for (std::int64_t piece = 0; piece < count; ++piece) {
    const ElementRandom random(seed, parameter.pieces[static_cast<std::size_t>(piece)], {rows, columns});
    double* begin = out + piece * (parameter.pieces_are_columns ? columns : rows * width);
    const InitRule rule =
        parameter.piece_rules.empty() ? parameter.rule : parameter.piece_rules[static_cast<std::size_t>(piece)];
    fill_block(begin, rows, columns, width, parameter, rule, config, random);
  }
  return values;
}

std::string shape_text(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

}  // namespace

at::Tensor Parameters::add(Parameter parameter) {
  const auto listed = std::find_if(list_.begin(), list_.end(),
                                   [&](const ParameterShape& shape) { return shape.name == parameter.name; });
  if (listed == list_.end()) return at::Tensor();
  parameter.group = listed->group;
  parameter.role = listed->role;
  parameter.matrices = listed->matrices;
  parameter.matrix_columns = listed->matrix_columns;
  return add(std::move(parameter), listed->sizes, dtype_);
}

void Parameters::check_complete() const {
  for (const ParameterShape& shape : list_) {
    const bool is_added = std::any_of(parameters_.begin(), parameters_.end(),
                                      [&](const Parameter& parameter) { return parameter.name == shape.name; });
    if (!is_added) throw Error(ErrorCode::kInternal, "the model has no parameter " + shape.name + " of its list");
  }
}

at::Tensor Parameters::add(Parameter parameter, at::IntArrayRef shape, at::ScalarType dtype) {
  parameter.tensor = at::zeros(shape, at::TensorOptions().dtype(dtype).device(device_));
  parameter.tensor.requires_grad_(true);
  parameters_.push_back(std::move(parameter));
  return parameters_.back().tensor;
}

std::int64_t Parameters::count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters_) count += parameter.tensor.numel();
  return count;
}

void Parameters::zero_gradients() {
  for (Parameter& parameter : parameters_) parameter.tensor.mutable_grad().reset();
}

std::vector<at::Tensor> Parameters::values() const {
  std::vector<at::Tensor> copies;
  for (const Parameter& parameter : parameters_) copies.push_back(parameter.tensor.detach().clone());
  return copies;
}

void Parameters::assign_values(const std::vector<at::Tensor>& values) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.copy_(values[i]);
}

at::Tensor Parameters::add_signs(const std::string& name, at::IntArrayRef shape) {
  const at::Tensor signs = at::ones(shape, at::TensorOptions().dtype(dtype_).device(device_));
  return buffers_.emplace("buffers." + name, Buffer{.values = signs, .is_drawn = true}).first->second.values;
}

at::Tensor Parameters::add_token_table(const std::string& name, std::int64_t rows) {
  const at::Tensor table = at::full({rows}, -1, at::TensorOptions().dtype(at::kLong).device(device_));
  return buffers_.emplace("buffers." + name, Buffer{.values = table}).first->second.values;
}

void Parameters::initialize(const TrainConfig& config, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (auto& [name, buffer] : buffers_) {
    if (!buffer.is_drawn) continue;
    const ElementRandom random(seed, name, buffer.values.sizes());
    at::Tensor values = at::empty(buffer.values.sizes(), at::kFloat);
    for (std::int64_t i = 0; i < values.numel(); ++i)
      values.data_ptr<float>()[i] = random.uniform(static_cast<std::uint64_t>(i)) < 0.5 ? -1.0f : 1.0f;
    buffer.values.copy_(values);
  }
  for (Parameter& parameter : parameters_) {
    const at::Tensor values = initial_values(parameter, config, seed);
    parameter.tensor.copy_(
        values.to(at::kFloat).view(parameter.tensor.sizes()));  // through float32: both dtypes start alike
    if (parameter.zero_rows_from) parameter.tensor.slice(0, *parameter.zero_rows_from).zero_();
    const bool is_linear =
        parameter.group == ParameterGroup::kHiddenMatrices || parameter.group == ParameterGroup::kLmHead;
    if (is_linear && config.precision.linear_init == StoredPrecision::kBfloat16) round_to_bfloat16_(parameter.tensor);
  }
}

std::map<std::string, at::Tensor> Parameters::named() const {
  std::map<std::string, at::Tensor> tensors;
  for (const Parameter& parameter : parameters_) tensors.emplace(parameter.name, parameter.tensor.detach());
  for (const auto& [name, buffer] : buffers_) tensors.emplace(name, buffer.values);
  return tensors;
}

void Parameters::assign(const std::map<std::string, at::Tensor>& tensors, const std::string& source) {
  const at::NoGradGuard no_grad;
  std::vector<std::string> known;
  for (Parameter& parameter : parameters_) {
    known.push_back(parameter.name);
    const auto found = tensors.find(parameter.name);
    if (found == tensors.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  source + ": has no tensor \"" + parameter.name +
                      "\", which this configuration needs; check that both belong together");
    }
    if (found->second.sizes() != parameter.tensor.sizes()) {
      throw Error(ErrorCode::kInvalidArgument, source + ": tensor \"" + parameter.name + "\" is " +
                                                   shape_text(found->second.sizes()) + ", this configuration needs " +
                                                   shape_text(parameter.tensor.sizes()));
    }
    if (!found->second.is_floating_point()) {
      throw Error(ErrorCode::kInvalidArgument,
                  source + ": tensor \"" + parameter.name + "\" holds whole numbers, parameters need F64, F32 or BF16");
    }
    parameter.tensor.copy_(found->second);
  }
  for (auto& [name, buffer] : buffers_) {
    known.push_back(name);
    const auto found = tensors.find(name);
    if (found == tensors.end() && !buffer.is_drawn) continue;
    if (found == tensors.end() || found->second.sizes() != buffer.values.sizes() ||
        found->second.is_floating_point() != buffer.values.is_floating_point())
      throw Error(ErrorCode::kInvalidArgument,
                  source + ": has no tensor \"" + name + "\" of " + (buffer.is_drawn ? "numbers" : "tokens") +
                      " and shape " + shape_text(buffer.values.sizes()) + ", which this configuration needs");
    buffer.values.copy_(found->second);
  }
  for (const auto& [name, unused] : tensors) {
    bool is_known = false;
    for (const std::string& candidate : known) is_known = is_known || candidate == name;
    if (!is_known)
      throw Error(ErrorCode::kInvalidArgument,
                  source + ": this configuration has no parameter \"" + name + "\"" + suggestion(name, known));
  }
}

}  // namespace nanobench::core

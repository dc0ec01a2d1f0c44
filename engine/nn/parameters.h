/// The trained tensors of a model, by their records' names, and their initial values. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/config/parameter_list.h"
#include "core/config/train_config.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// How a parameter begins when no file gives it.
enum class InitRule {
  kNormal,        ///< N(0, 1): embedding and value tables
  kLinear,        ///< U(-1, 1) fan_in^-0.5, or as model.linear_init_std says
  kZero,          ///< zero (init.zero_init_std moves it): output projections and the head
  kScalar,        ///< `values`, or all one value when there is one (init.scalar_std moves them)
  kGpt2,          ///< N(0, 0.02^2)
  kGpt2Residual,  ///< N(0, 0.02^2 / (2 L))
};

struct Parameter {
  std::string name;
  at::Tensor tensor;  ///< a leaf that requires a gradient
  ParameterGroup group = ParameterGroup::kScalars;
  InitRule rule = InitRule::kScalar;
  std::vector<double> values;  ///< initial values of kScalar, one per element or one for all
  std::int64_t matrices = 1;   ///< matrices that the optimiser takes it apart into, along the rows (MuonParameter)
  /// Names of the parameters that this one joins, along the rows or the columns: it begins with their values, so that
  /// joined and separate parameters train from the same numbers. Empty: its own name.
  std::vector<std::string> pieces;
  bool pieces_are_columns = false;
  std::optional<std::int64_t> zero_rows_from;  ///< rows from this one on begin at zero
};

/// An ordered set of parameters.
class Parameters {
 public:
  Parameters() = default;
  /// Those of a model: `list` gives the shape, group and number of matrices of each. `device`: where they live.
  Parameters(std::vector<ParameterShape> list, at::ScalarType dtype, at::Device device = at::kCPU)
      : list_(std::move(list)), dtype_(dtype), device_(device) {}
  at::Device device() const { return device_; }
  at::ScalarType dtype() const { return dtype_; }

  /// Adds a parameter of the list, by its name; undefined where the list has none of that name.
  at::Tensor add(Parameter parameter);
  /// Throws Error{kInternal} that names a parameter of the list which was not added.
  void check_complete() const;
  /// Adds a parameter that is on no list.
  at::Tensor add(Parameter parameter, at::IntArrayRef shape, at::ScalarType dtype);

  std::vector<Parameter>& all() { return parameters_; }
  const std::vector<Parameter>& all() const { return parameters_; }
  std::int64_t count() const;  ///< of numbers
  void zero_gradients();
  std::vector<at::Tensor> values() const;                     ///< copies, in order
  void assign_values(const std::vector<at::Tensor>& values);  ///< what values() gave

  /// Common random numbers: what a parameter gets depends only on (seed, its name, its shape).
  void initialize(const TrainConfig& config, std::uint64_t seed);

  /// Copies values from `tensors`; names and shapes must match exactly. Throws Error{kInvalidArgument} naming `source`
  /// and the tensor.
  void assign(const std::map<std::string, at::Tensor>& tensors, const std::string& source);

 private:
  std::vector<ParameterShape> list_;
  at::ScalarType dtype_ = at::kFloat;
  at::Device device_ = at::kCPU;
  std::vector<Parameter> parameters_;
};

}  // namespace nanobench::core

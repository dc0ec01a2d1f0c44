/// The trained tensors of a model, named as in the records, and their initial values. Not thread-safe.
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

/// Initialisation of a parameter that no file provides.
enum class InitRule {
  kNormal,        ///< N(0, 1): embedding and value tables
  kLinear,        ///< U(-1, 1) fan_in^-0.5, or as set by model.linear_init_std
  kUniform,       ///< U(-1, 1) fan_in^-0.5, whatever model.linear_init_std
  kZero,          ///< zero (plus noise from init.zero_init_std): output projections and the head
  kScalar,        ///< `values`, or a single value for all (plus noise from init.scalar_std)
  kGpt2,          ///< N(0, 0.02^2)
  kGpt2Residual,  ///< N(0, 0.02^2 / (2 L))
};

struct Parameter {
  std::string name;
  at::Tensor tensor;  ///< a leaf that requires a gradient
  ParameterGroup group = ParameterGroup::kScalars;
  ParameterRole role = ParameterRole::kOther;
  InitRule rule = InitRule::kScalar;
  std::vector<double> values;  ///< initial values of kScalar, one per element or one for all
  std::optional<double> std;   ///< in place of the 1 of kNormal, or of model.linear_init_std in kLinear
  std::int64_t matrices = 1;   ///< matrices that the optimiser splits it into (MuonParameter)
  /// Columns of one of `matrices`, if they are pieces of its memory instead of its rows.
  std::optional<std::int64_t> matrix_columns;
  /// Names of the parameters that this one joins, along the rows or the columns. It starts with their values, so that
  /// joined and separate parameters train from the same numbers. Empty: its own name.
  std::vector<std::string> pieces;
  bool pieces_are_columns = false;
  std::vector<InitRule> piece_rules;  ///< by piece, if they differ from `rule`
  bool is_transposed = false;  ///< stored with its inputs as rows; it starts as the transpose of what it replaces
  std::optional<std::int64_t> zero_rows_from;  ///< rows from this index on start at zero
};

/// An ordered set of parameters.
class Parameters {
 public:
  Parameters() = default;
  /// The parameters of a model: `list` gives the shape, group, role and number of matrices of each. `device`: their
  /// device.
  Parameters(std::vector<ParameterShape> list, at::ScalarType dtype, at::Device device = at::kCPU)
      : list_(std::move(list)), dtype_(dtype), device_(device) {}
  at::Device device() const { return device_; }
  at::ScalarType dtype() const { return dtype_; }

  /// Adds a parameter of the list, by name. Returns an undefined tensor if the list lacks that name.
  at::Tensor add(Parameter parameter);
  /// Throws Error{kInternal} naming a parameter of the list that was not added.
  void check_complete() const;
  /// Adds a table of numbers +1 and -1 that is not trained: not in all(). Its name in files is "buffers." + `name`.
  at::Tensor add_signs(const std::string& name, at::IntArrayRef shape);
  /// Adds a table of tokens that is not trained either, int64, -1 at first. It keeps its values unless a file has it.
  at::Tensor add_token_table(const std::string& name, std::int64_t rows);
  /// Adds a parameter that is not on the list.
  at::Tensor add(Parameter parameter, at::IntArrayRef shape, at::ScalarType dtype);

  std::vector<Parameter>& all() { return parameters_; }
  const std::vector<Parameter>& all() const { return parameters_; }
  std::int64_t count() const;  ///< total number of elements
  void zero_gradients();
  std::vector<at::Tensor> values() const;                     ///< copies, in order
  void assign_values(const std::vector<at::Tensor>& values);  ///< a result of values()

  /// Uses common random numbers: a parameter's values depend only on (seed, name, shape).
  void initialize(const TrainConfig& config, std::uint64_t seed);

  /// Copies values from `tensors`; names and shapes must match exactly. Throws Error{kInvalidArgument} naming `source`
  /// and the tensor.
  void assign(const std::map<std::string, at::Tensor>& tensors, const std::string& source);
  /// What assign() takes, without copying: all parameters, and the tables that are not trained.
  std::map<std::string, at::Tensor> named() const;

 private:
  std::vector<ParameterShape> list_;
  at::ScalarType dtype_ = at::kFloat;
  at::Device device_ = at::kCPU;
  std::vector<Parameter> parameters_;
  /// A table that is not trained.
  struct Buffer {
    at::Tensor values;
    bool is_drawn = false;  ///< signs, from the seed
  };

  std::map<std::string, Buffer> buffers_;  ///< by name in files
};

}  // namespace nanobench::core

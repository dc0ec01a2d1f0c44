/// What a run has besides its parameters, as named tensors of a checkpoint, and back. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/data/data_loader.h"
#include "engine/distributed/communicator.h"
#include "engine/optim/optimizer_set.h"
#include "engine/train/safetensors.h"

namespace nanobench::core {

/// State that was read from a checkpoint, taken out piece by piece. Throws Error{kInvalidArgument} naming file and
/// tensor for what is missing, does not fit, or is left at the end.
class StateReader {
 public:
  StateReader(NamedTensors state, std::string source) : left_(std::move(state)), source_(std::move(source)) {}

  bool has(const std::string& name) const { return left_.contains(name); }
  /// The tensor, which must have this type and shape.
  at::Tensor take(const std::string& name, at::ScalarType type, at::IntArrayRef shape);
  /// A vector of this type, as long as the file has it.
  at::Tensor take_vector(const std::string& name, at::ScalarType type);
  /// All whose names begin so, without that beginning.
  NamedTensors take_all(const std::string& prefix);
  void finish() const;

 private:
  at::Tensor take(const std::string& name);

  NamedTensors left_;
  std::string source_;
};

/// "optimizer/...": everything but the parameters. The tensors are those of `state`.
NamedTensors to_tensors(const OptimizerSet::State& state);
/// The state for optimizers.restore(), with the current parameters.
OptimizerSet::State read_optimizers(StateReader& reader, const OptimizerSet& optimizers);

/// "loader/...".
NamedTensors to_tensors(const LoaderState& position, std::int64_t total_tokens);
/// Throws Error{kInvalidArgument} for data of another size.
LoaderState read_loader(StateReader& reader, std::int64_t total_tokens, const std::string& source);

/// A text as a vector of bytes, and back.
at::Tensor bytes_of(std::string_view text);
std::string text_of(const at::Tensor& bytes);

/// In process 0 the states of all processes: its own under their names, and those of process p under "process_p/". In
/// the others nothing. All processes call it.
NamedTensors gather_states(const NamedTensors& own, Communicator& communicator);
/// What process `rank` has of those, under the names it gave.
NamedTensors state_of_process(const NamedTensors& all, int rank);

}  // namespace nanobench::core

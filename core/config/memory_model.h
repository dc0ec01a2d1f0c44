/// Counts what a training run keeps in memory, from its configuration alone: parameters, gradients, the optimisers'
/// state, and the activations between the forward and the backward pass of one sequence. Plain C++, pure functions.
///
/// A number has a type: one that the configuration stores in bfloat16 takes two bytes, any other four, or eight in a
/// float64 run. An engine that emulates bfloat16 on a processor keeps such numbers in full, so both sizes can be asked
/// for. Buffers of communication, workspaces of kernels and the program itself are not counted.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/enum_names.h"
#include "core/config/train_config.h"

namespace nanobench::core {

enum class MemoryPart {
  kParameters,   ///< all trained numbers
  kGradients,    ///< one for each, and those that groups hold back for a later update
  kOptimizer,    ///< momenta, moments, and float32 masters of bfloat16 parameters
  kActivations,  ///< kept for the backward pass of one sequence
};
inline constexpr std::array kMemoryParts = {MemoryPart::kParameters, MemoryPart::kGradients, MemoryPart::kOptimizer,
                                            MemoryPart::kActivations};

/// Stable, in the names of counters ("memory/parameter_bytes").
NB_ENUM_NAMES(MemoryPart, {MemoryPart::kParameters, "parameter"}, {MemoryPart::kGradients, "gradient"},
              {MemoryPart::kOptimizer, "optimizer"}, {MemoryPart::kActivations, "activation"});

/// How many numbers of each type.
struct TypedNumbers {
  std::int64_t full = 0;         ///< float32, or float64 in a float64 run
  std::int64_t bfloat16 = 0;     ///< stored in bfloat16, as configured
  std::int64_t bytes_alone = 0;  ///< of integers and other data whose size no choice changes

  TypedNumbers& operator+=(const TypedNumbers& other) {
    full += other.full;
    bfloat16 += other.bfloat16;
    bytes_alone += other.bytes_alone;
    return *this;
  }
  /// The bytes as configured. `number_bytes`: of a full number.
  std::int64_t bytes(std::int64_t number_bytes = 4) const;
  /// Where bfloat16 is emulated: every number is a full one.
  std::int64_t emulated_bytes(std::int64_t number_bytes = 4) const;
};

struct MemoryCounts {
  TypedNumbers parameters;
  TypedNumbers gradients;
  TypedNumbers optimizer;
  TypedNumbers activations;

  const TypedNumbers& of(MemoryPart part) const;
  TypedNumbers total() const;
};

/// What the first process of a run keeps. Parameters, gradients and optimiser state are exact. Activations are what the
/// fused kernels keep of the longest sequence; single operations keep more, since each keeps its own inputs.
MemoryCounts memory_counts(const TrainConfig& config);

}  // namespace nanobench::core

/// What the engine states about itself when a run begins: library, processor path, build, and the code that the parts
/// of a step run through. Thread-safe.
#pragma once

#include <map>
#include <string>

#include "core/protocol/run_spec.h"
#include "engine/nn/gpt.h"
#include "engine/optim/optimizer_set.h"

namespace nanobench::core {

/// "libtorch", "device", "cpu_capability", "dtype", "vector_path", "bfloat16", "compiler", "build_type".
std::map<std::string, std::string> engine_facts(const RunSpec& spec);

/// Facts of hello.environment:
///   blocks         "fused" or "op by op"
///   attention      "kernel", "tiled" or "dense"
///   adam, muon     OptimizerSet::paths()
///   no_kernel_for  the parts that the configuration would have a kernel compute and none does, so that LibTorch's
///                  operations do: "none", or some of "blocks", "attention", "adam", "muon". What is op by op because
///                  the configuration says so (dense attention, Adam that is not fused, a singular value decomposition)
///                  is not among them. "all" where the spec asks for "reference" kernels.
/// Times of runs that differ in `no_kernel_for` compare implementations as well as what they were to compare.
std::map<std::string, std::string> code_paths(const RunSpec& spec, const GPT& model, const OptimizerSet& optimizers);

}  // namespace nanobench::core

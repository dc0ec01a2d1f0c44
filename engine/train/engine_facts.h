/// Facts that the engine reports at the start of a run: library, processor path, build, and the code that each part of
/// a step uses. Thread-safe.
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
///   no_kernel_for  the parts for which the configuration asks for a kernel but none exists, so that LibTorch's
///                  operations run: "none", or some of "blocks", "attention", "adam", "muon". Parts that the
///                  configuration itself runs op by op (dense attention, unfused Adam, a singular value decomposition)
///                  are not included. "all" if the spec asks for "reference" kernels.
/// Times of runs with different `no_kernel_for` compare implementations as well as the intended difference.
std::map<std::string, std::string> code_paths(const RunSpec& spec, const GPT& model, const OptimizerSet& optimizers);

}  // namespace nanobench::core

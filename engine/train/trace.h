/// The results of one run, in enough detail to compare engines: losses, and summaries of activations, gradients,
/// parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/nn/parameters.h"
#include "engine/ops/torch.h"

namespace nanobench::core {

/// Summary of a tensor's elements x_i in row-major order, accumulated in double:
/// l2 = sqrt(sum x_i^2), sum = sum x_i, probe = sum x_i (frac(i * 0.6180339887498949) - 0.5), which detects permuted
/// elements.
struct TensorSummary {
  double l2 = 0.0;
  double sum = 0.0;
  double probe = 0.0;
};

TensorSummary summarize(const at::Tensor& tensor);

/// Keys of the JSON file are the member names; keys of `gradients` and `val_losses` are steps.
struct Trace {
  std::vector<double> train_losses;                  ///< per step, mean over its sequences
  std::vector<std::vector<double>> sequence_losses;  ///< ordered by micro-batch, then rank
  std::map<std::int64_t, double> val_losses;
  std::map<std::string, TensorSummary> activations_step_0_sequence_0;
  std::map<std::int64_t, std::map<std::string, TensorSummary>> gradients;  ///< averaged, before the optimiser
  std::map<std::string, TensorSummary> final_parameters;

  /// Atomic. Numbers read back to the same double. Throws Error{kIo}.
  void write(const std::filesystem::path& file) const;
};

/// Summary of every parameter or, with `gradients`, of every gradient (zero if undefined).
std::map<std::string, TensorSummary> summarize(const Parameters& parameters, bool gradients);

}  // namespace nanobench::core

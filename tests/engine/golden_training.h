// The golden training cases: as runs, and how far a run is from them, by the measures of their README.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "core/protocol/run_spec.h"
#include "tests/engine/golden_support.h"

namespace nanobench::core::testing {

/// A golden case as a run with one thread.
inline RunSpec golden_spec(const std::filesystem::path& folder, const std::string& dtype) {
  RunSpec spec{.run_id = folder.filename().string(),
               .config = read_train_config_file((folder / "config.json").string())};
  spec.dtype = enum_value<Dtype>(dtype).value();
  spec.threads = 1;
  spec.train_shards = {(folder / "train.bin").string()};
  spec.val_shards = {(folder / "val.bin").string()};
  spec.init_file = (folder / "init.safetensors").string();
  return spec;
}

inline double loss_error(const Json& got, const Json& expected) {
  return std::abs(got.get<double>() - expected.get<double>()) / std::abs(expected.get<double>());
}

inline double summary_error(const Json& got, const Json& expected, double count) {
  const double l2 = expected.at("l2").get<double>();
  if (l2 == 0.0) return std::abs(got.at("l2").get<double>());
  const auto difference = [&](const char* key) {
    return std::abs(got.at(key).get<double>() - expected.at(key).get<double>());
  };
  return std::max({difference("l2") / l2, difference("sum") / (std::sqrt(count) * l2),
                   difference("probe") / (std::sqrt(count) * l2)});
}

/// Largest error by kind, as the golden README defines the kinds.
class GoldenErrors {
 public:
  /// `matrix_endings`: of the names of parameters that count as matrices.
  GoldenErrors(const Json& trace, const Json& expected, std::vector<std::string> matrix_endings = {".weight"})
      : matrix_endings_(std::move(matrix_endings)) {
    const Json& truth = expected.at("float64");
    compare_losses(trace, truth);
    const Json& counts = expected.at("element_counts");
    compare_summaries(trace.at("activations_step_0_sequence_0"), truth.at("activations_step_0_sequence_0"),
                      counts.at("activations"), {}, "activations", false);
    const auto ignored = expected.at("ignored_parameters").get<std::vector<std::string>>();
    for (const auto& [step, gradients] : truth.at("gradients").items()) {
      compare_summaries(trace.at("gradients").at(step), gradients, counts.at("parameters"), ignored,
                        "gradients_step_" + step, true);
    }
    compare_summaries(trace.at("final_parameters"), truth.at("final_parameters"), counts.at("parameters"), ignored,
                      "final_parameters", true);
  }
  std::map<std::string, double> by_kind;

 private:
  bool is_matrix(const std::string& name) const {
    return std::any_of(matrix_endings_.begin(), matrix_endings_.end(),
                       [&](const std::string& ending) { return name.ends_with(ending); });
  }

  void add(const std::string& kind, double error) {
    by_kind[kind] = std::isfinite(error) ? std::max(by_kind[kind], error) : INFINITY;
  }

  void compare_losses(const Json& trace, const Json& truth) {
    ASSERT_EQ(trace.at("train_losses").size(), truth.at("train_losses").size());
    for (std::size_t step = 0; step < truth.at("train_losses").size(); ++step) {
      add("train_losses", loss_error(trace["train_losses"][step], truth["train_losses"][step]));
      ASSERT_EQ(trace["sequence_losses"][step].size(), truth["sequence_losses"][step].size());
      for (std::size_t i = 0; i < truth["sequence_losses"][step].size(); ++i) {
        add("train_losses", loss_error(trace["sequence_losses"][step][i], truth["sequence_losses"][step][i]));
      }
    }
    ASSERT_EQ(trace.at("val_losses").size(), truth.at("val_losses").size());
    for (const auto& [step, loss] : truth.at("val_losses").items())
      add("val_losses", loss_error(trace.at("val_losses").at(step), loss));
  }

  void compare_summaries(const Json& got, const Json& expected, const Json& counts,
                         const std::vector<std::string>& ignored, const std::string& kind, bool has_groups) {
    ASSERT_EQ(got.size(), expected.size());
    for (const auto& [name, summary] : expected.items()) {
      if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) continue;
      const std::string suffix = !has_groups ? "" : is_matrix(name) ? "_matrices" : "_scalars";
      add(kind + suffix, summary_error(got.at(name), summary, counts.at(name).get<double>()));
    }
  }

  std::vector<std::string> matrix_endings_;
};

inline std::vector<std::string> golden_cases() {
  std::vector<std::string> cases;
  for (const std::filesystem::path& folder : golden_folders()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (std::filesystem::exists(entry.path() / "expected.json")) cases.push_back(entry.path().filename().string());
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

}  // namespace nanobench::core::testing

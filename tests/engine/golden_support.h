// Reading the golden cases and measuring errors as their README defines them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "core/base/json.h"
#include "engine/ops/torch.h"
#include "engine/train/safetensors.h"
#include "tests/golden/golden_data.h"

namespace nanobench::core::testing {

inline std::filesystem::path golden_folder() {
  return golden_data("golden");
}

/// The folders of training cases, by the records that they are about.
inline std::vector<std::filesystem::path> golden_folders() {
  return {golden_folder(), golden_data("golden_22_41")};
}

/// The folder of a training case, whichever records it is about.
inline std::filesystem::path golden_case(const std::string& name) {
  for (const std::filesystem::path& folder : golden_folders()) {
    if (std::filesystem::exists(folder / name / "expected.json")) return folder / name;
  }
  return golden_folder() / name;
}

/// |got - expected|_F / |expected|_F, or the absolute norm when expected is zero. Infinite when anything is not finite.
inline double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor a = got.detach().to(at::kDouble).reshape({-1});
  const at::Tensor b = expected.detach().to(at::kDouble).reshape({-1});
  if (a.numel() != b.numel() || !at::isfinite(a).all().item<bool>()) return INFINITY;
  const double norm = b.norm().item<double>();
  const double error = (a - b).norm().item<double>();
  return norm > 0.0 ? error / norm : error;
}

/// One case of ops/manifest.json with its tensors.
struct OpCase {
  std::string op, name;
  Json attributes, tolerance;
  std::map<std::string, at::Tensor> tensors;

  at::Tensor input(const std::string& key, at::ScalarType dtype) const { return tensors.at(key).to(dtype).clone(); }
  const at::Tensor& operator[](const std::string& key) const { return tensors.at(key); }
  double tolerance_of(at::ScalarType dtype) const {
    return tolerance.at(dtype == at::kDouble ? "float64" : "float32").get<double>();
  }
};

/// The folder of the manifest that lists an operation.
inline std::filesystem::path ops_folder(const std::string& op) {
  const std::filesystem::path later = golden_data("golden_22_41") / "ops_22_41";
  const Json entries = read_json_file(later / "manifest.json");
  const bool is_later =
      std::any_of(entries.begin(), entries.end(), [&](const Json& entry) { return entry.at("op") == op; });
  return is_later ? later : golden_folder() / "ops";
}

inline std::vector<OpCase> op_cases(const std::string& op) {
  std::vector<OpCase> cases;
  std::map<std::string, std::map<std::string, at::Tensor>> files;
  const std::filesystem::path folder = ops_folder(op);
  for (const Json& entry : read_json_file(folder / "manifest.json")) {
    if (entry.at("op") != op) continue;
    const std::string file = entry.at("file").get<std::string>();
    if (!files.contains(file)) files[file] = read_safetensors(folder / file);
    OpCase one{
        op, entry.at("case").get<std::string>(), entry.at("attributes"), entry.value("tolerance", Json::object()), {}};
    const std::string prefix = one.name + "/";
    for (const auto& [name, tensor] : files[file]) {
      if (name.starts_with(prefix)) one.tensors[name.substr(prefix.size())] = tensor;
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

inline constexpr at::ScalarType kBothDtypes[] = {at::kDouble, at::kFloat};

}  // namespace nanobench::core::testing

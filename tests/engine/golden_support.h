// Reading the golden cases and measuring errors as their README defines them.
#pragma once

#include <gtest/gtest.h>

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

inline std::vector<OpCase> op_cases(const std::string& op) {
  std::vector<OpCase> cases;
  std::map<std::string, std::map<std::string, at::Tensor>> files;
  for (const Json& entry : read_json_file(golden_folder() / "ops" / "manifest.json")) {
    if (entry.at("op") != op) continue;
    const std::string file = entry.at("file").get<std::string>();
    if (!files.contains(file)) files[file] = read_safetensors(golden_folder() / "ops" / file);
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

/// Helpers for tests over the catalogue: the embedded catalogue, every (feature, value) pair, and errors as text.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::ablations {

inline const Catalogue& embedded_catalogue() {
  static const Catalogue catalogue = Catalogue::embedded();
  return catalogue;
}

/// One value of one feature, from the record that the feature names as its base.
struct FeaturePoint {
  const Feature* feature;
  std::string value;

  /// With the ranks, processes and device that the feature needs to act.
  ResolveRequest request(const std::string& scale) const {
    ResolveRequest made{.record = feature->base, .settings = {{feature->id, value}}, .scale = scale};
    if (feature->needs.ranks > 1) made.ranks = feature->needs.ranks;
    if (feature->needs.processes > 1) made.processes = feature->needs.processes;
    made.device = core::DeviceChoice{.is_gpu = feature->needs.gpu};
    return made;
  }
  std::string name() const { return feature->id + "=" + value; }
};

inline std::vector<FeaturePoint> all_feature_points(const Catalogue& catalogue) {
  std::vector<FeaturePoint> points;
  for (const Feature* feature : catalogue.features()) {
    for (const std::string& value : feature->value_names()) points.push_back({feature, value});
  }
  return points;
}

using core::Reason;
using core::Refused;

/// The Error that `action` throws; fails the test when it throws none or one of another code.
inline Refused error_of(core::ErrorCode code, const std::function<void()>& action) {
  const Refused refused = core::refusal_of(action);
  EXPECT_TRUE(refused.is_refused) << "expected an error";
  EXPECT_EQ(core::to_string(refused.code), std::string(core::to_string(code))) << refused.message;
  return refused;
}

/// Does `text` contain every one of `parts`? They are data: names, numbers, places.
inline void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

/// The same of a message; and its reason.
inline void expect_parts(const Refused& refused, Reason reason, const std::vector<std::string>& parts) {
  EXPECT_EQ(static_cast<int>(refused.reason), static_cast<int>(reason)) << refused.message;
  expect_parts(refused.message, parts);
}

}  // namespace nanobench::ablations

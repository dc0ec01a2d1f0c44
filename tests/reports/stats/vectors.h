// The reference values of vectors.json (written by make_vectors.py), and how they are compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/stats/estimate.h"

namespace nanobench::reports {

/// One section of vectors.json.
inline const nlohmann::json& vectors(const std::string& section) {
  static const nlohmann::json all = [] {
    std::ifstream file(NANOBENCH_SOURCE_DIR "/tests/reports/stats/vectors.json");
    return nlohmann::json::parse(file);
  }();
  return all.at(section);
}

inline std::vector<double> list_of(const nlohmann::json& object, const char* key) {
  return object.at(key).get<std::vector<double>>();
}

/// 1e-9 relative: reference values have 15 digits, and what is left is for sums in another order.
inline void expect_close(double value, double expected, const std::string& what, double tolerance = 1e-9) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected)) << what;
}

/// An interval's ends: 1e-9 of its width, and what doubles of their size can tell.
inline void expect_interval(const ConfidenceInterval& interval, double low, double high, const std::string& what) {
  const double tolerance = 1e-9 * (high - low) + 1e-15 * std::max(std::abs(low), std::abs(high));
  EXPECT_NEAR(interval.low, low, tolerance) << what;
  EXPECT_NEAR(interval.high, high, tolerance) << what;
}

}  // namespace nanobench::reports

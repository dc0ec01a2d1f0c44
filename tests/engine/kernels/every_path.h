/// Tests that run on every vector path of this processor.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "core/hardware/cpu_path.h"

namespace nanobench::core::testing {

class EveryPath : public ::testing::TestWithParam<CpuPath> {
 protected:
  EveryPath() { set_cpu_path(GetParam()); }
  ~EveryPath() override { set_cpu_path(std::nullopt); }
};

inline auto name_of_path() {
  return [](const ::testing::TestParamInfo<CpuPath>& test) { return std::string(to_string(test.param)); };
}

}  // namespace nanobench::core::testing

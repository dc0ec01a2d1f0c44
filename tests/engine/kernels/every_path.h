/// Tests that run on every vector path of this processor.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "engine/kernels/engine_context.h"

namespace nanobench::core::testing {

class EveryPath : public ::testing::TestWithParam<CpuPath> {
 protected:
  EveryPath() { context_.set_cpu_path(GetParam()); }
  EngineContext context_;
};

inline auto name_of_path() {
  return [](const ::testing::TestParamInfo<CpuPath>& test) { return enum_name(test.param); };
}

}  // namespace nanobench::core::testing

#include "engine/kernels/engine_context.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/base/error.h"
#include "engine/kernels/adam.h"

namespace nanobench::core {
namespace {

TEST(EngineContext, BeginsAsTheCurrentOneAndGivesWayToIt) {
  EngineContext outer;
  outer.set_uses_kernels(false);
  outer.set_cpu_path(CpuPath::kGeneric);
  {
    EngineContext inner;
    EXPECT_EQ(&EngineContext::current(), &inner);
    EXPECT_FALSE(inner.uses_kernels());
    EXPECT_EQ(inner.cpu_path(), CpuPath::kGeneric);
    EXPECT_EQ(inner.bfloat16_path(), Bfloat16Path::kEmulated);
    inner.set_uses_kernels(true);
    inner.set_cpu_path(std::nullopt);
    EXPECT_EQ(inner.cpu_path(), available_cpu_paths().back());
  }
  EXPECT_EQ(&EngineContext::current(), &outer);
  EXPECT_FALSE(outer.uses_kernels());
  EXPECT_EQ(outer.cpu_path(), CpuPath::kGeneric);
}

TEST(EngineContext, SharesThreadsUntilItHasItsOwn) {
  EngineContext outer;
  outer.set_threads(2);
  const ThreadPool* const two = &kernel_threads();
  {
    EngineContext inner;
    EXPECT_EQ(&kernel_threads(), two);
    inner.set_threads(3);
    EXPECT_EQ(kernel_threads().size(), 3);
  }
  EXPECT_EQ(&kernel_threads(), two);
}

TEST(EngineContext, ThreadsAreReplacedOnlyByOthers) {
  EngineContext context;
  context.set_threads(2);
  const ThreadPool* const two = &kernel_threads();
  context.set_threads(2);
  EXPECT_EQ(&kernel_threads(), two);
  context.set_threads(3);
  EXPECT_EQ(kernel_threads().size(), 3);
  context.set_threads(0);
  EXPECT_EQ(kernel_threads().size(), 1);
}

TEST(EngineContext, RefusesAPathThatTheProcessorLacks) {
  EngineContext context;
  if (available_bfloat16_paths().size() == 1) {
    EXPECT_THROW(context.set_bfloat16_path(Bfloat16Path::kAvx512Bf16), Error);
  }
  if (available_cpu_paths().size() < 3) {
    EXPECT_THROW(context.set_cpu_path(CpuPath::kAvx512), Error);
  }
}

}  // namespace
}  // namespace nanobench::core

#include "core/process/resource_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <exception>

#include "core/base/error.h"
#include "tests/core/process/sanitizer.h"

namespace nanobench::core {
namespace {

/// Does what the C++ library does when it has no memory for an exception.
[[noreturn]] void terminate_without_memory() {
  end_plainly_without_memory();
  const auto bytes = static_cast<rlim_t>(resident_memory_bytes());
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};  // below what is mapped already: nothing more is given
  setrlimit(RLIMIT_AS, &limit);
  while (std::malloc(std::size_t{1} << 16) != nullptr) {
  }
  std::terminate();
}

TEST(ResourceLimitsDeathTest, WithoutMemoryForAnExceptionAProcessStillEndsPlainly) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "the sanitizer's own allocator ends a process without memory";
  EXPECT_EXIT(terminate_without_memory(), testing::ExitedWithCode(kExitUsage), "^nanobench: out of memory\n$");
}

TEST(ResourceLimitsDeathTest, OtherTerminationsAreAborted) {
  EXPECT_EXIT(
      {
        end_plainly_without_memory();
        std::terminate();
      },
      testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace nanobench::core

// An engine's version names everything that computes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/base/atomic_write.h"
#include "core/base/shared_library.h"
#include "suites/design/plan.h"
#include "tests/core/hardware/fake_driver.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

/// A copy of the fake engine with its LibTorch and plugins of a few bytes.
class EngineIdentity : public testing::Test {
 protected:
  EngineIdentity() {
    fs::copy(fs::path(NANOBENCH_BIN_DIR) / "fake_engine", engine_folder());
    write("libnanobench_mpi.so", "mpi");
  }

  fs::path engine_folder() const { return folder_.path() / "engine"; }
  fs::path program() const { return engine_folder() / "fake_engine"; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(engine_folder() / name, std::ios::app) << text;
  }
  std::string version(const EngineUse& use = {}) const { return native_engine(program(), use).version; }

  core::TemporaryFolder folder_{"engine-identity"};
};

TEST_F(EngineIdentity, IsThatOfTheFilesWhereverTheyLie) {
  const std::string before = version();
  EXPECT_EQ(before.size(), 16U + 1U + 8U) << before;
  fs::rename(engine_folder(), folder_.path() / "elsewhere");
  fs::copy(folder_.path() / "elsewhere", engine_folder());
  EXPECT_EQ(version(), before);
}

TEST_F(EngineIdentity, CoversProgramAndLibTorch) {
  const std::string before = version();
  write("libtorch_cpu.so", "another build");
  const std::string other_torch = version();
  EXPECT_NE(other_torch, before);
  EXPECT_EQ(other_torch.substr(0, 16), before.substr(0, 16)) << "the program is the same";
  write("fake_engine", "another build");
  EXPECT_NE(version().substr(0, 16), before.substr(0, 16));
}

TEST_F(EngineIdentity, CoversThePluginsThatItsRunsLoad) {
  const EngineUse on_gpu = {.device = core::kGpuDevice}, launched = {.has_launcher = true};
  const std::string cpu = version(), gpu = version(on_gpu), by_mpi = version(launched);
  EXPECT_NE(gpu, cpu);
  EXPECT_NE(by_mpi, cpu);
  write("libnanobench_cuda.so", "another build");
  EXPECT_NE(version(on_gpu), gpu);
  write("libnanobench_mpi.so", "another build");
  EXPECT_NE(version(launched), by_mpi);
  EXPECT_EQ(version(), cpu);
}

TEST_F(EngineIdentity, CoversTheLibrariesAndTheDriverOfTheGpu) {
  const EngineUse on_gpu = {.device = core::kGpuDevice};
  core::FakeDriver driver;
  std::string before = version(on_gpu);
  const std::string cpu = version();
  for (const char* library : {"libtorch_cuda.so", "libcublas_fake.so", "libnccl_fake.so"}) {
    write(library, "another build");
    EXPECT_NE(version(on_gpu), before) << library;
    before = version(on_gpu);
  }
  driver.set("driver", "580.1");
  EXPECT_NE(version(on_gpu), before);
  EXPECT_EQ(version(), cpu);
}

TEST_F(EngineIdentity, CoversTheInstructions) {
  const std::string best = version(), generic = version({.vector_path = core::CpuPath::kGeneric});
  EXPECT_EQ(generic != best, core::best_cpu_path() != core::CpuPath::kGeneric);
  EXPECT_NE(generic, version({.vector_path = core::CpuPath::kAvx2}));
  EXPECT_NE(generic, version({.vector_path = std::nullopt})) << "of a cluster's nodes";
  setenv("ATEN_CPU_CAPABILITY", "default", 1);
  EXPECT_NE(version(), best);
  unsetenv("ATEN_CPU_CAPABILITY");
  EXPECT_EQ(version(), best);
}

TEST_F(EngineIdentity, OfAProgramWithoutLibTorchIsItsDigest) {
  std::ofstream(program(), std::ios::trunc) << "#!/bin/sh\n";
  EXPECT_EQ(version().size(), 16U);
  EXPECT_FALSE(core::needed_library(program(), "libtorch_cpu.so"));
}

TEST_F(EngineIdentity, SampledDigestsTellLongFilesApart) {
  const fs::path one = folder_.path() / "one", two = folder_.path() / "two";
  std::ofstream(one) << std::string(8'000'000, 'a');
  std::ofstream(two) << std::string(7'999'999, 'a') << 'b';
  EXPECT_NE(core::sampled_digest(one), core::sampled_digest(two)) << "the last byte is in the last piece";
  std::ofstream(two, std::ios::trunc) << std::string(8'000'001, 'a');
  EXPECT_NE(core::sampled_digest(one), core::sampled_digest(two)) << "the size counts";
}

}  // namespace
}  // namespace nanobench::suites

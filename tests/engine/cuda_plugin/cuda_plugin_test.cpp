// nanobench-train asked for a GPU where there is none, or no plugin, or another one: one sentence, and `unsupported`.
#include <gtest/gtest.h>

#include "tests/engine/distributed/engine_process.h"
#include "tests/engine/distributed/tiny_run.h"

namespace nanobench::core::testing {
namespace {

struct End {
  int exit_code;
  FailedEvent failure;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

End end_of(const RunSpec& spec, const Variables& variables) {
  EngineProcess engine(spec, {.prefix = {}, .variables = variables});
  End end{.exit_code = engine.wait(), .failure = {RunOutcome::kCompleted, "did not fail"}};
  const std::vector<RunEvent> events = engine.events();
  if (!events.empty() && std::holds_alternative<FailedEvent>(events.back()))
    end.failure = std::get<FailedEvent>(events.back());
  return end;
}

End end_of(const std::string& device, const Variables& variables) {
  const TinyRun run;
  RunSpec spec = run.spec(1);
  spec.device = device_choice(device).value();
  return end_of(spec, variables);
}

bool is_one_sentence(const std::string& text) {
  return !text.empty() && text.find('\n') == std::string::npos && text.size() < 600;
}

TEST(CudaPlugin, AbsentSaysWhereItWasLookedForAndWhatToDo) {
  const End end = end_of("cuda", {{"NANOBENCH_PLUGINS", "/nowhere/plugins"}});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_EQ(end.failure.outcome, RunOutcome::kUnsupported);
  EXPECT_NE(end.failure.message.find("/nowhere/plugins/libnanobench_cuda.so"), std::string::npos);
  EXPECT_NE(end.failure.message.find("./nanobench setup"), std::string::npos) << end.failure.message;
  EXPECT_TRUE(is_one_sentence(end.failure.message)) << end.failure.message;
}

TEST(CudaPlugin, AnotherVersionIsRefused) {
  for (const auto& [folder, word] : {std::pair("interface", "interface"), std::pair("libtorch", "LibTorch 0.0.1")}) {
    const End end = end_of("cuda", {{"NANOBENCH_PLUGINS", std::string(NANOBENCH_FAKE_PLUGINS) + "/" + folder}});
    EXPECT_EQ(end.exit_code, 2);
    EXPECT_EQ(end.failure.outcome, RunOutcome::kUnsupported);
    EXPECT_NE(end.failure.message.find(word), std::string::npos) << end.failure.message;
    EXPECT_TRUE(is_one_sentence(end.failure.message)) << end.failure.message;
  }
}

TEST(CudaPlugin, AFileThatIsNoPluginGivesTheLoadersReason) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "nanobench_broken_plugin";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libnanobench_cuda.so") << "not a library";
  const End end = end_of("cuda", {{"NANOBENCH_PLUGINS", folder.string()}});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(end.failure.outcome, RunOutcome::kUnsupported);
  EXPECT_NE(end.failure.message.find((folder / "libnanobench_cuda.so").string()), std::string::npos)
      << end.failure.message;
  EXPECT_TRUE(is_one_sentence(end.failure.message)) << end.failure.message;
}

/// Every value of the features that act when the GPU is opened, as a whole run asks for it.
TEST(CudaPlugin, IsOpenedWithWhatTheConfigurationSays) {
  const auto told = [](bool expandable_segments, bool initial_backward) {
    const TinyRun run;
    RunSpec spec = run.spec(1);
    spec.device = kGpuDevice;
    spec.config.gpu.expandable_segments = expandable_segments;
    spec.config.gpu.initial_backward = initial_backward;
    return end_of(spec, {{"NANOBENCH_PLUGINS", std::string(NANOBENCH_FAKE_PLUGINS) + "/telling"}}).failure.message;
  };
  EXPECT_EQ(told(true, false), "cannot use a GPU: opened with index 0, expandable_segments on, initial_backward off");
  EXPECT_EQ(told(false, true), "cannot use a GPU: opened with index 0, expandable_segments off, initial_backward on");
}

TEST(CudaPlugin, AGpuWithoutMemoryEndsTheRunAsOutOfMemory) {
  const End end = end_of("cuda", {{"NANOBENCH_PLUGINS", std::string(NANOBENCH_FAKE_PLUGINS) + "/full"}});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.failure.outcome, RunOutcome::kOutOfMemory) << end.failure.message;
  EXPECT_NE(end.failure.message.find("Tried to allocate 20.00 GiB"), std::string::npos) << end.failure.message;
}

/// The plugin as it is built, where it is: without a driver, or without a library that LibTorch's part for CUDA wants.
TEST(CudaPlugin, WithoutADriverTheRunIsUnsupported) {
  if (!std::filesystem::exists(std::string(NANOBENCH_BIN_DIR) + "/libnanobench_cuda.so"))
    GTEST_SKIP() << "built without the plugin";
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "this machine has a GPU";
  const std::string stubs = NANOBENCH_STUB_LIBRARIES;
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  const End end = end_of("cuda", {{"LD_LIBRARY_PATH", stubs + (path == nullptr ? "" : ":" + std::string(path))}});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_EQ(end.failure.outcome, RunOutcome::kUnsupported);
  EXPECT_TRUE(is_one_sentence(end.failure.message)) << end.failure.message;
}

}  // namespace
}  // namespace nanobench::core::testing

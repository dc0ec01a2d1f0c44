#include <unistd.h>

#include <cstdlib>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/shared_library.h"
#include "core/hardware/nvml.h"
#include "results/records.h"
#include "suites/design/plan.h"

namespace nanobench::suites {
namespace {

constexpr std::size_t kProgramDigits = 16;
constexpr std::size_t kPartDigits = 8;
constexpr const char* kGpuPlugin = "libnanobench_cuda.so";
constexpr const char* kTorchOfGpu = "libtorch_cuda.so";

/// Digests of the libraries that compute on a GPU (LibTorch's CUDA part, NVIDIA's libraries), and the driver's version.
core::Json gpu_parts_of(const std::filesystem::path& plugin, const EngineUse& use) {
  core::Json parts = core::Json::object();
  const auto add = [&](const std::string& name, const std::optional<std::filesystem::path>& file) {
    if (file) parts[name] = core::sampled_digest(*file);
  };
  const auto torch = core::needed_library(plugin, kTorchOfGpu);
  add(kTorchOfGpu, torch);
  const auto add_computing = [&](const std::filesystem::path& library, const std::filesystem::path& loader) {
    for (const std::string& name : core::needed_names(library)) {
      const bool computes = name.starts_with("libcu") || name.starts_with("libnccl");
      if (computes && !parts.contains(name)) add(name, core::needed_library(library, name, loader));
    }
  };
  add_computing(plugin, {});
  if (torch) add_computing(*torch, plugin);
  if (!use.vector_path) return parts;  // of another machine
  const core::GpuList gpus = core::list_gpus();
  if (!gpus.devices.empty()) parts["driver"] = gpus.devices.front().facts().driver;
  return parts;
}

/// Digests of what the program loads for such runs, and the instructions it uses; empty for a program without them.
core::Json parts_of(const std::filesystem::path& program, const EngineUse& use) {
  core::Json parts = core::Json::object();
  const auto add_plugin = [&](const char* name) {
    const std::filesystem::path file = core::plugin_file(std::filesystem::absolute(program), name);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) parts[name] = core::digest_of_file(file);
  };
  if (use.device.is_gpu) {
    add_plugin(kGpuPlugin);
    parts.update(gpu_parts_of(core::plugin_file(std::filesystem::absolute(program), kGpuPlugin), use));
  }
  if (use.has_launcher) add_plugin("libnanobench_mpi.so");
  const auto torch = core::needed_library(program, "libtorch_cpu.so");
  if (!torch) return parts;
  parts["libtorch"] = core::sampled_digest(*torch);
  if (!use.vector_path) return parts;
  parts["vector_path"] = enum_name(*use.vector_path);
  parts["bfloat16"] = enum_name(core::best_bfloat16_path(*use.vector_path));
  if (const char* asked = std::getenv("ATEN_CPU_CAPABILITY")) parts["libtorch_path"] = asked;
  return parts;
}

bool is_script(const std::filesystem::path& program) {
  return core::read_beginning(program, 2) == "#!";
}

/// `bytes`: the file with the program's bytes, which may have lost its name since it was started.
std::string version_of(const std::filesystem::path& bytes, const std::filesystem::path& program, const EngineUse& use) {
  std::string version = core::digest_of_file(bytes).substr(0, kProgramDigits);
  if (const core::Json parts = parts_of(program, use); !parts.empty())
    version += "-" + core::digest_of(parts.dump()).substr(0, kPartDigits);
  return version;
}

}  // namespace

Engine native_engine(const std::filesystem::path& program, const EngineUse& use) {
  if (access(program.c_str(), X_OK) != 0) {
    throw core::Refusal(core::ErrorCode::kNotFound, core::Reason::kMissingFile,
                        "the engine " + program.string() +
                            " is missing or cannot be executed; build it (`./nanobench doctor` says what that needs)",
                        program.string());
  }
  const auto version_of_run = [program, use](const std::string& executed) {
    const bool is_readable = access(executed.c_str(), R_OK) == 0;  // not if it has ended already
    if (!is_readable || is_script(program)) return version_of(program, program, use);
    try {
      return version_of(executed, program, use);
    } catch (const core::Error& error) {
      if (error.code() != core::ErrorCode::kNotFound) throw;
      return version_of(program, program, use);  // it has ended meanwhile
    }
  };
  return {{program.string()}, results::kNativeEngine, version_of(program, program, use), version_of_run};
}

Engine mock_engine(std::vector<std::string> command) {
  return {std::move(command), "mock", "1"};
}

}  // namespace nanobench::suites

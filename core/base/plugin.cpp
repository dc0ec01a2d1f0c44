#include "core/base/plugin.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

std::string loader_reason() {
  const char* reason = dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

std::filesystem::path plugin_file(const std::filesystem::path& program, const std::string& file_name) {
  const char* const folder = std::getenv("NANOBENCH_PLUGINS");
  return (folder != nullptr ? std::filesystem::path(folder) : program.parent_path()) / file_name;
}

const void* load_plugin(const std::string& file_name, const std::string& symbol, const std::string& remedy) {
  const std::filesystem::path file = plugin_file(std::filesystem::read_symlink("/proc/self/exe"), file_name);
  if (!std::filesystem::exists(file))
    throw Error(ErrorCode::kUnavailable, "there is no " + file.string() + "; " + remedy);
  // Global: what the library brings along (an MPI, LibTorch's part for GPUs) looks for its own parts by name.
  void* library = dlopen(file.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(ErrorCode::kUnavailable, "cannot load " + file.string() + ": " + loader_reason() + "; " + remedy);
  using Entry = const void* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, symbol.c_str()));
  if (entry == nullptr)
    throw Error(ErrorCode::kUnavailable,
                file.string() + " is not what it should be: " + loader_reason() + "; " + remedy);
  return entry();
}

}  // namespace nanobench::core

#include "engine/distributed/mpi_plugin.h"

#include "core/base/error.h"
#include "core/base/shared_library.h"

namespace nanobench::core {

std::unique_ptr<MpiWorld> start_mpi() {
  const std::string remedy = "build with MPI (Debian: libopenmpi-dev), or set MASTER_ADDR and MASTER_PORT to go by TCP";
  const auto* plugin = static_cast<const MpiPlugin*>(load_plugin("libnanobench_mpi.so", kMpiPluginSymbol, remedy));
  if (plugin->version != kMpiPluginVersion) {
    throw Error(ErrorCode::kUnavailable, "libnanobench_mpi.so is of another build (interface " +
                                             std::to_string(plugin->version) + ", expected " +
                                             std::to_string(kMpiPluginVersion) + "); build both again");
  }
  return plugin->start();
}

}  // namespace nanobench::core

/// The engine's interface to MPI, in a separate library: the engine needs no MPI to build or to start. Plain C++.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/distributed/mesh.h"

namespace nanobench::core {

/// All processes started by one mpirun. At most one per process lifetime: MPI cannot be initialised twice.
class MpiWorld {
 public:
  virtual ~MpiWorld() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Name and version of the MPI library.
  virtual std::string library() const = 0;

  /// Returns each process's text, by rank. All processes call it together.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;

  /// `check_alive` is called repeatedly while waiting for a message, and throws when waiting is pointless: MPI itself
  /// does not report that a process has died. The world must outlive the mesh.
  virtual std::unique_ptr<Mesh> mesh(FirstFailure first_failure, std::function<void()> check_alive) = 0;

  /// Finalises MPI; all processes call it last.
  virtual void finalize() = 0;
};

/// The interface that libnanobench_mpi.so provides at `nanobench_mpi_plugin`.
struct MpiPlugin {
  int version = 0;
  /// Initialises MPI. Throws Error{kUnavailable}.
  std::unique_ptr<MpiWorld> (*start)() = nullptr;
};

/// Increases with every change to the interface above.
inline constexpr int kMpiPluginVersion = 2;
inline constexpr const char* kMpiPluginSymbol = "nanobench_mpi_plugin";

/// Loads libnanobench_mpi.so, which is beside the program, and initialises MPI. Throws Error{kUnavailable} with the
/// loader's own reason if it is missing or has a different version.
std::unique_ptr<MpiWorld> start_mpi();

}  // namespace nanobench::core

/// MPI as the engine uses it, in a library of its own: the engine needs no MPI to be built or to start. Plain C++.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/distributed/mesh.h"

namespace nanobench::core {

/// All processes that one mpirun started. One in a process, ever: MPI cannot be begun twice.
class MpiWorld {
 public:
  virtual ~MpiWorld() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Name and version of the MPI library.
  virtual std::string library() const = 0;

  /// Each process's text, by rank. All call it together.
  virtual std::vector<std::string> exchange(const std::string& text) = 0;

  /// `check_alive` is called again and again while a message is waited for, and throws when waiting is no use: MPI
  /// itself does not tell that a process has died. The world must outlive the mesh.
  virtual std::unique_ptr<Mesh> mesh(FirstFailure first_failure, std::function<void()> check_alive) = 0;

  /// Ends MPI; all processes call it, as the last thing.
  virtual void finalize() = 0;
};

/// What libnanobench_mpi.so gives at `nanobench_mpi_plugin`.
struct MpiPlugin {
  int version = 0;
  /// Begins MPI. Throws Error{kUnavailable}.
  std::unique_ptr<MpiWorld> (*start)() = nullptr;
};

/// Goes up with every change of the interface above.
inline constexpr int kMpiPluginVersion = 2;
inline constexpr const char* kMpiPluginSymbol = "nanobench_mpi_plugin";

/// Loads libnanobench_mpi.so, which lies beside the program, and begins MPI. Throws Error{kUnavailable} with the
/// loader's own reason when there is none, or one of another version.
std::unique_ptr<MpiWorld> start_mpi();

}  // namespace nanobench::core

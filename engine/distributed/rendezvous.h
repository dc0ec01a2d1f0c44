/// Where the processes of one launch meet before they are connected: a text store in one of them, reached over TCP.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/distributed/mesh.h"

namespace nanobench::core {

struct RendezvousPlace {
  std::string address;
  int port = 0;            ///< 0 in rank 0: any free port
  bool is_hosted = false;  ///< the store runs elsewhere; else rank 0 runs it
  std::string prefix;      ///< prefix of all keys: distinguishes this start from others at one store
  std::chrono::seconds patience{60};
};

/// One per process. Not thread-safe. Uses LibTorch's TCPStore.
class Rendezvous {
 public:
  /// Rank 0 opens the store (or all connect to the hosted one). Throws Error{kUnavailable} if nobody answers at the
  /// place within its patience, or if the port is taken.
  Rendezvous(const RendezvousPlace& place, int rank, int size);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int port() const;

  /// Returns each process's text, by rank; the same in all processes. Throws Error{kUnavailable} naming a process that
  /// has not arrived. `what`: a key unique to this exchange.
  std::vector<std::string> exchange(const std::string& what, const std::string& text);

  /// Records why the run fails, unless a failure is already recorded, and returns the first one. Returns `failure`
  /// unchanged if the store is unreachable.
  ProcessFailure first_failure(const ProcessFailure& failure);

 private:
  struct Store;

  int rank_;
  int size_;
  std::string prefix_;
  std::unique_ptr<Store> store_;
};

}  // namespace nanobench::core

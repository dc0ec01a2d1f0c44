/// Where the processes of one launch meet before they are connected: a store of texts at one of them, over TCP.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/distributed/process_failure.h"

namespace nanobench::core {

struct RendezvousPlace {
  std::string address;
  int port = 0;            ///< 0 in rank 0: any free one
  bool is_hosted = false;  ///< the store runs elsewhere; else rank 0 runs it
  std::string prefix;      ///< of all keys: what tells this start from others at one store
  std::chrono::seconds patience{60};
};

/// One for each process. Not thread-safe. Over LibTorch's TCPStore.
class Rendezvous {
 public:
  /// Rank 0 opens the store (or all connect to the hosted one). Throws Error{kUnavailable} when nobody answers at the
  /// place within its patience, or the port is taken.
  Rendezvous(const RendezvousPlace& place, int rank, int size);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int port() const;

  /// Each process's text, by rank; the same in all of them. Throws Error{kUnavailable} that names a process that has
  /// not come. `what`: a key that every exchange has of its own.
  std::vector<std::string> exchange(const std::string& what, const std::string& text);

  /// Notes why the run fails, if nobody has before, and returns what counts: the first. Where the store itself is gone,
  /// `failure` as it is.
  ProcessFailure first_failure(const ProcessFailure& failure);

 private:
  struct Store;

  int rank_;
  int size_;
  std::string prefix_;
  std::unique_ptr<Store> store_;
};

}  // namespace nanobench::core

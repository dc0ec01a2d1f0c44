/// Where the processes of one launch meet before they are connected: process 0 keeps the texts that they leave for each
/// other.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/distributed/authenticated_connection.h"
#include "engine/distributed/mesh.h"
#include "engine/distributed/rendezvous_server.h"

namespace nanobench::core {

struct RendezvousPlace {
  std::string address;     ///< of process 0, which listens at this interface only
  int port = 0;            ///< 0 in process 0: any free port
  bool is_hosted = false;  ///< torchrun's agent listens there: process 0 tells its own port through the agent's store
  std::string job;         ///< distinguishes this start from others at one place
  std::string secret;      ///< the same in all processes; never sent
  std::chrono::seconds patience{60};
};

/// One per process. Every connection is authenticated by the place's secret. first_failure() may be called by any
/// thread at any time, everything else by one.
class Rendezvous {
 public:
  /// Throws Error{kUnavailable} if process 0 is not found at the place within its patience, or if the port is taken.
  Rendezvous(const RendezvousPlace& place, int rank, int size);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// The port of process 0.
  int port() const { return port_; }
  /// The address where process 0 was found; in process 0, the address that it was given.
  const std::string& first_address() const { return first_address_; }
  /// The address of this process on the way to process 0; in process 0, the address that it was given.
  const std::string& own_address() const { return own_address_; }

  /// Returns each process's text, by rank; the same in all processes. Throws Error{kUnavailable} naming a process that
  /// has not arrived. `what`: a key unique to this exchange.
  std::vector<std::string> exchange(const std::string& what, const std::string& text);

  /// Records why the run fails, unless a failure is already recorded, and returns the first one. Returns `failure`
  /// unchanged if process 0 is unreachable.
  ProcessFailure first_failure(const ProcessFailure& failure);

  /// Connections of strangers that process 0 has dropped here; 0 in other processes.
  std::int64_t dropped() const { return server_ ? server_->dropped() : 0; }

 private:
  void listen(const RendezvousPlace& place, const Membership& membership);
  void find_first(const RendezvousPlace& place, const Membership& membership);
  std::string ask(const RendezvousRequest& request, Deadline end);
  std::string post(const std::string& key, const std::string& text, Deadline end);
  std::string read(const std::string& key, Deadline end);
  std::string strangers_text() const;

  int rank_;
  int size_;
  std::chrono::seconds patience_;
  std::string first_address_;
  std::string own_address_;
  int port_ = 0;
  std::unique_ptr<RendezvousServer> server_;  ///< in process 0
  std::mutex mutex_;
  Socket connection_;  ///< to process 0, in the others; guarded by mutex_; closed for good when a reply is missing
};

}  // namespace nanobench::core

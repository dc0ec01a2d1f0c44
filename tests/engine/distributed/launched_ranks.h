/// The processes of a run as a launcher starts them, on this host.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <numeric>

#include "tests/engine/distributed/engine_process.h"

namespace nanobench::core::testing {

inline int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  bind(fd, reinterpret_cast<sockaddr*>(&place), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&place), &size);
  close(fd);
  return ntohs(place.sin_port);
}

inline std::vector<double> launched_run_losses_of(const EngineProcess& engine) {
  std::vector<double> losses;
  for (const RunEvent& event : engine.events()) {
    if (const auto* step = std::get_if<StepEvent>(&event)) losses.push_back(step->loss);
  }
  return losses;
}

inline FailedEvent failure_of(const EngineProcess& engine) {
  const std::vector<RunEvent> events = engine.events();
  if (events.empty() || !std::holds_alternative<FailedEvent>(events.back()))
    return {RunOutcome::kCompleted, "did not fail"};
  return std::get<FailedEvent>(events.back());
}

/// The processes of a run, each told its rank as torchrun tells it.
class Ranks {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// Starts those of `started`, all if it is empty; `variables` override the launcher's.
  Ranks(const RunSpec& spec, int size, std::vector<int> started = {}, const Variables& variables = {})
      : spec_(spec), size_(size), port_(free_port()) {
    if (started.empty()) {
      started.resize(static_cast<std::size_t>(size));
      std::iota(started.begin(), started.end(), 0);
    }
    for (const int rank : started) start(rank, variables);
  }

  /// Starts one more; `variables` override the launcher's.
  EngineProcess& start(int rank, const Variables& variables = {}) {
    EngineStart start{.prefix = {},
                      .variables = {{"RANK", std::to_string(rank)},
                                    {"WORLD_SIZE", std::to_string(size_)},
                                    {"LOCAL_RANK", std::to_string(rank)},
                                    {"MASTER_ADDR", "127.0.0.1"},
                                    {"MASTER_PORT", std::to_string(port_)},
                                    {"NANOBENCH_RENDEZVOUS_SECONDS", "10"}},
                      .keeps_errors = true};
    start.variables.insert(start.variables.begin(), variables.begin(), variables.end());
    return *engines_.emplace_back(std::make_unique<EngineProcess>(spec_, start));
  }

  EngineProcess& operator[](std::size_t i) { return *engines_[i]; }
  int port() const { return port_; }

 private:
  RunSpec spec_;
  int size_;
  int port_;
  std::vector<std::unique_ptr<EngineProcess>> engines_;
};

}  // namespace nanobench::core::testing

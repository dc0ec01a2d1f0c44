/// The key-value store of torchrun's agent: process 0 tells the others through it where it listens. The store needs no
/// secret; whoever is found by it has to prove that it knows the run's.
#pragma once

#include <optional>
#include <string>

namespace nanobench::core {

struct RendezvousPlace;

/// Where process 0 listens.
struct MeetingPoint {
  std::string address;  ///< numeric
  int port = 0;
};

std::string to_text(const MeetingPoint& point);
/// nullopt for anything but a numeric address and a port.
std::optional<MeetingPoint> meeting_point_from(const std::string& text);

/// What is said of a store that holds something else in the place of the first process's address.
inline constexpr const char* kNoFirstAddress = "the store of torchrun's agent holds no address of the first process";

/// Both throw Error{kUnavailable} if no agent answers at the place within its patience; ask_agent also if process 0
/// does not come, or if the store holds something else.
void tell_agent(const RendezvousPlace& place, const MeetingPoint& point);
MeetingPoint ask_agent(const RendezvousPlace& place);

}  // namespace nanobench::core

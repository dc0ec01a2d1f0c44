/// The processes of a run that are on one host.
#pragma once

namespace nanobench::core {

struct HostShare {
  int rank = 0;  ///< of this process among them
  int size = 1;  ///< how many they are
};

}  // namespace nanobench::core

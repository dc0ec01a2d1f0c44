#include "core/train/process_settings.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

namespace nanobench::core {

// OpenMP threads that wait by spinning take the cores from the ones they wait for as soon as anything else runs;
// threads that sleep at once wake late. Measured on two cores, D = 64, T = 1024, ms a step for the default 300,000
// spins / 10,000 / none: idle machine 119 / 138 / 367, busy machine 1,086 to 2,709 / 1,000 to 1,373 / 491 to 756 (D =
// 128). libgomp reads the count when it is loaded, before main, so the program starts itself once more.
void limit_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "10000", 1);
  execv("/proc/self/exe", argv);  // comes back only when it fails: then slower on a busy machine, not wrong
}

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace nanobench::core

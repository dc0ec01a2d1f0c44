#include "engine/train/process_settings.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

namespace nanobench::core {

namespace {

/// Sets a variable if it is unset; returns whether it did.
bool set_if_free(const char* name, const char* value) {
  if (std::getenv(name) != nullptr) return false;
  setenv(name, value, 1);
  return true;
}

// Spinning OpenMP threads take cores from the threads they wait for as soon as anything else runs; threads that sleep
// at once wake late. Measured on two cores, D = 64, T = 1024, ms per step for the default 300,000 spins / 10,000 /
// none: idle machine 119 / 138 / 367, busy machine 1,086 to 2,709 / 1,000 to 1,373 / 491 to 756 (D = 128). Only code
// without a kernel of our own runs under OpenMP. libgomp reads the count when it is loaded.
bool limit_spinning() {
  return std::getenv("OMP_WAIT_POLICY") == nullptr && set_if_free("GOMP_SPINCOUNT", "10000");
}

// Activations in pages of 2 MiB instead of 4 KiB cause fewer TLB misses. Measured on two cores, D = 128, ms per step
// without / with: T = 1024 249 / 231 and 234 / 220, T = 8192 1,543 / 1,348 and 1,485 / 1,484. The C library (2.35 or
// later) reads this before main.
bool use_large_pages() {
  return set_if_free("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
}

}  // namespace

void restart_with_settings(char** argv) {
  const bool limits = limit_spinning(), enlarges = use_large_pages();
  if (limits || enlarges) execv("/proc/self/exe", argv);  // comes back only when it fails: then slower, not wrong
}

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace nanobench::core

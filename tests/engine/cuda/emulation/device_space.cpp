#include "device_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <new>

namespace nanobench::emulation {
namespace {

struct Space {
  std::map<void*, std::size_t> allocations;  ///< address to bytes, whole pages
  int accesses = 0;
};

Space& space() {
  static Space all;
  return all;
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void protect_all(int protection) {
  for (const auto& [address, bytes] : space().allocations) mprotect(address, bytes, protection);
}

}  // namespace

void* allocate_device_memory(std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t whole = (bytes + page - 1) / page * page + (bytes == 0 ? page : 0);
  // A page that nobody may touch on either side.
  void* const mapped = mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  void* const address = static_cast<unsigned char*>(mapped) + page;
  space().allocations[address] = whole;
  if (space().accesses > 0) mprotect(address, whole, PROT_READ | PROT_WRITE);
  return address;
}

void free_device_memory(void* address) noexcept {
  const auto found = space().allocations.find(address);
  if (found == space().allocations.end()) return;
  munmap(static_cast<unsigned char*>(address) - page_bytes(), found->second + 2 * page_bytes());
  space().allocations.erase(found);
}

DeviceAccess::DeviceAccess() {
  if (space().accesses++ == 0) protect_all(PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  if (--space().accesses == 0) protect_all(PROT_NONE);
}

}  // namespace nanobench::emulation

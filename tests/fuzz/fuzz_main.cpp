// The entry of libFuzzer. NANOBENCH_FUZZ_TARGET names the target; `list` prints the names of all.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

const nanobench::fuzz::FuzzTarget* chosen = nullptr;

}  // namespace

/// The address sanitizer asks for the signal stack each time that an exception is thrown, as most cases do: a third of
/// the time of a case, as a system call. What was set is remembered instead. (Whether the stack is in use, which the
/// kernel would say too, the sanitizer does not ask.)
extern "C" int sigaltstack(const stack_t* next, stack_t* old) noexcept {
  static thread_local std::optional<stack_t> known;
  if (next == nullptr && old != nullptr && known) {
    *old = *known;
    return 0;
  }
  const long result = syscall(SYS_sigaltstack, next, old);
  if (result == 0 && next != nullptr) known = *next;
  if (result == 0 && next == nullptr && old != nullptr) known = *old;
  return static_cast<int>(result);
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const name = std::getenv("NANOBENCH_FUZZ_TARGET");
  if (name == nullptr || std::string_view(name) == "list") {
    for (const nanobench::fuzz::FuzzTarget& target : nanobench::fuzz::fuzz_targets()) std::puts(target.name);
    std::exit(0);
  }
  chosen = &nanobench::fuzz::fuzz_target(name);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}

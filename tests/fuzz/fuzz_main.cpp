// The entry of libFuzzer. NANOBENCH_FUZZ_TARGET names the target; `list` prints the names of all.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

const nanobench::fuzz::FuzzTarget* chosen = nullptr;

}  // namespace

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

#include "core/base/valgrind.h"

namespace nanobench::core {

std::vector<std::string> valgrind_command(const std::vector<std::string>& options,
                                          const std::vector<std::string>& program) {
  std::vector<std::string> command = {"env", "GOMP_SPINCOUNT=10000", "GLIBC_TUNABLES=glibc.malloc.hugetlb=0",
                                      "valgrind"};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace nanobench::core

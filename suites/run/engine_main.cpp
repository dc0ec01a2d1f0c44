#include "suites/run/engine_main.h"

#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/json.h"

namespace nanobench::suites {

int engine_main(const std::string& name, const std::vector<std::string>& arguments,
                int (*run)(const core::RunSpec& spec, int events_fd)) {
  std::string spec_file;
  int events_fd = -1;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--spec") spec_file = arguments[i + 1];
    if (arguments[i] == "--events-fd") events_fd = std::atoi(arguments[i + 1].c_str());
  }
  try {
    if (spec_file.empty() || events_fd < 0)
      throw core::Error(core::ErrorCode::kInvalidArgument, "expected --spec FILE --events-fd N");
    return run(core::read_run_spec(core::read_json_file(spec_file), spec_file), events_fd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return core::exit_code_of(error);
  }
}

}  // namespace nanobench::suites

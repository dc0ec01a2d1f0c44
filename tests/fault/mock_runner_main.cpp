// A runner as a process of its own, for tests that interrupt or kill it:
//   nanobench_mock_runner DATABASE ENGINE SUITE_EXTRA_JSON MOCK_JSON
// Prints one line a message and a run; exit codes as DESIGN section 10. $NANOBENCH_TEST_SHARED_MACHINE: beside others.
#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"
#include "mock_plan.h"
#include "suites/run/runner.h"

namespace {

using namespace nanobench;

class Printer : public suites::RunnerObserver {
 public:
  void on_run_started(const suites::Plan& plan, const suites::PlannedRun& run, std::int64_t id) override {
    std::printf("started %s seed %llu run %lld\n", plan.cell_of(run).label.c_str(),
                static_cast<unsigned long long>(run.seed), static_cast<long long>(id));
    std::fflush(stdout);
  }
  void on_message(const std::string& text) override { std::fprintf(stderr, "%s\n", text.c_str()); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    const suites::Plan plan = suites::mock_plan(argv[2], core::Json::parse(argv[4]), core::Json::parse(argv[3]));
    results::Store store(argv[1]);
    Printer printer;
    suites::RunnerOptions options;
    options.wait_poll_seconds = 0.02;
    options.grace_seconds = 0.5;
    options.is_machine_shared = std::getenv("NANOBENCH_TEST_SHARED_MACHINE") != nullptr;
    const suites::SuiteRunResult result = suites::run_plan(plan, store, options, printer);
    std::printf("completed %d reused %d failed %d\n", result.completed, result.reused, result.failed);
    return result.is_interrupted ? 130 : result.failed > 0 ? 4 : 0;
  } catch (const core::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.code() == core::ErrorCode::kInternal ? 70 : 2;
  }
}

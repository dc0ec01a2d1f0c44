#include "tools/cli/instructions.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/process/command.h"
#include "suites/run/engine_process.h"

namespace nanobench::tools {
namespace {

constexpr double kVersionSeconds = 20.0;
constexpr std::int64_t kSteps = 2;

core::ProcessExit wait_for(suites::EngineProcess& engine, core::TextTail& output) {
  std::optional<core::ProcessExit> exit;
  while (!exit) {
    engine.wait();
    exit = engine.poll_exit();  // before reading: everything that it wrote is then in the pipes
    while (!core::read_available(engine.events()).empty()) {
    }
    for (core::Fd* stream : {&engine.output(), &engine.errors()}) {
      for (std::string_view bytes; !(bytes = core::read_available(*stream)).empty();) output.add(bytes);
    }
  }
  return *exit;
}

}  // namespace

bool has_valgrind() {
  return core::run_command({"valgrind", "--version"}, {.seconds = kVersionSeconds}).is_success();
}

std::vector<std::string> counting_command(const std::vector<std::string>& engine) {
  return core::valgrind_command({"--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"}, engine);
}

core::RunSpec counting_spec(const suites::Plan& plan) {
  const suites::PlannedRun* first = nullptr;
  for (const suites::PlannedRun& run : plan.runs) {
    if (run.cell == 0 && (first == nullptr || run.seed < first->seed)) first = &run;
  }
  if (first == nullptr) throw core::Error(core::ErrorCode::kInvalidArgument, "the suite has no runs");
  core::RunSpec spec = first->spec;
  if (spec.config.distributed.processes > 1) {
    throw core::Error(core::ErrorCode::kInvalidArgument,
                      "--instructions counts one process, but the suite's first cell trains in " +
                          std::to_string(spec.config.distributed.processes) + "; leave --instructions out");
  }
  spec.run_id = "instructions";
  spec.threads = 1;
  spec.config.run.stop_after = std::min(spec.config.run.stop_after, kSteps);
  return spec;
}

std::optional<double> instructions_in(const std::string& output) {
  std::istringstream in(output);
  std::optional<double> found;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string process, letter, name, number;
    words >> process >> letter >> name >> number;
    if (process.rfind("==", 0) != 0 || letter != "I" || name != "refs:") continue;
    number.erase(std::remove(number.begin(), number.end(), ','), number.end());
    const bool is_number =
        !number.empty() && std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); });
    if (is_number && number.size() < 19) found = static_cast<double>(std::stoll(number));
  }
  return found;
}

InstructionCount count_instructions(const suites::Plan& plan, const std::string& side) {
  const core::RunSpec spec = counting_spec(plan);
  suites::EngineProcess engine(counting_command(plan.engine.command), core::to_json(spec).dump());
  core::TextTail output;  // the total is at the end
  const core::ProcessExit exit = wait_for(engine, output);
  if (exit.is_success()) {
    if (const std::optional<double> count = instructions_in(output.text())) return {.count = count, .problem = ""};
    return {.count = std::nullopt, .problem = side + ": valgrind printed no count of instructions"};
  }
  return {.count = std::nullopt,
          .problem = side + ": the run under valgrind ended with " + exit.text() + ": " + last_line(output.text())};
}

}  // namespace nanobench::tools

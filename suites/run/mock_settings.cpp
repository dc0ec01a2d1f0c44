#include "suites/run/mock_settings.h"

#include <array>
#include <utility>
#include <vector>

namespace nanobench::suites {
namespace {

using core::Json;
using core::JsonObject;

constexpr std::array<std::pair<MockFault, const char*>, 21> kFaults = {{
    {MockFault::kNone, "none"},
    {MockFault::kSignal, "signal"},
    {MockFault::kNoise, "noise"},
    {MockFault::kExit, "exit"},
    {MockFault::kHang, "hang"},
    {MockFault::kGarbage, "garbage"},
    {MockFault::kCutLine, "cut_line"},
    {MockFault::kFlood, "flood"},
    {MockFault::kNan, "nan"},
    {MockFault::kSlow, "slow"},
    {MockFault::kIgnoreSignals, "ignore_signals"},
    {MockFault::kOutOfMemory, "out_of_memory"},
    {MockFault::kBadAlloc, "bad_alloc"},
    {MockFault::kUnsupported, "unsupported"},
    {MockFault::kNoHello, "no_hello"},
    {MockFault::kWrongProtocol, "wrong_protocol"},
    {MockFault::kRepeatedStep, "repeated_step"},
    {MockFault::kLongLine, "long_line"},
    {MockFault::kCloseEvents, "close_events"},
    {MockFault::kExitAfterFinish, "exit_after_finish"},
    {MockFault::kGrandchild, "grandchild"},
}};

void read_number(JsonObject& object, const char* key, double& member, double low, double high) {
  if (object.find(key) != nullptr) member = object.number(key, low, high);
}

void read_integer(JsonObject& object, const char* key, std::int64_t& member, std::int64_t low) {
  member = object.integer_or(key, member, low, 1'000'000'000'000);
}

void read_fault(JsonObject& object, MockSettings& settings) {
  if (object.find("fault") == nullptr) return;
  JsonObject fault = object.object("fault");
  const std::string kind = fault.string("kind");
  std::vector<std::string> known;
  bool is_known = false;
  for (const auto& [value, name] : kFaults) {
    known.emplace_back(name);
    if (kind != name) continue;
    settings.fault = value;
    is_known = true;
  }
  if (!is_known) fault.fail("kind", "unknown fault \"" + kind + "\"" + core::suggestion(kind, known));
  read_integer(fault, "step", settings.fault_step, 0);
  if (fault.find("value") != nullptr) settings.fault_value = fault.integer("value", 0, 1'000'000'000);
  fault.finish();
}

void read_phases(JsonObject& object, const std::string& source, MockSettings& settings) {
  if (object.find("phases") == nullptr) return;
  const Json& phases = object.at("phases");
  if (!phases.is_array()) object.fail("phases", "expected a list of phases");
  for (std::size_t i = 0; i < phases.size(); ++i) {
    JsonObject phase(phases[i], source, "/mock/phases/" + std::to_string(i));
    MockPhase& read = settings.phases.emplace_back();
    read_integer(phase, "steps", read.steps, 1);
    read_number(phase, "step_ms", read.step_ms, 0, 1e9);
    phase.finish();
  }
}

}  // namespace

double MockSettings::mean_step_ms(std::int64_t step) const {
  double mean = phases.empty() ? step_ms : phases.back().step_ms;
  std::int64_t end = 0;
  for (const MockPhase& phase : phases) {
    end += phase.steps;
    if (step >= end) continue;
    mean = phase.step_ms;
    break;
  }
  return mean * (1 + step_drift * static_cast<double>(step) / static_cast<double>(steps));
}

MockSettings read_mock_settings(const Json& json, const core::TrainConfig& config, const std::string& source) {
  MockSettings settings;
  settings.steps = config.run.stop_after;
  settings.val_every = config.run.val_every;
  settings.untimed_steps = config.run.untimed_steps;
  if (json.is_null()) return settings;
  JsonObject object(json, source, "/mock");
  read_integer(object, "steps", settings.steps, 1);
  read_integer(object, "val_every", settings.val_every, 1);
  read_integer(object, "untimed_steps", settings.untimed_steps, 0);
  read_number(object, "loss_start", settings.loss_start, 0, 100);
  read_number(object, "loss_end", settings.loss_end, 0, 100);
  read_number(object, "loss_sigma", settings.loss_sigma, 0, 100);
  read_number(object, "effect", settings.effect, -100, 100);
  read_number(object, "step_ms", settings.step_ms, 0, 1e9);
  read_phases(object, source, settings);
  read_number(object, "step_cv", settings.step_cv, 0, 10);
  read_number(object, "step_drift", settings.step_drift, -1, 100);
  read_number(object, "sleep_ms", settings.sleep_ms, 0, 1e9);
  read_number(object, "crash_rate", settings.crash_rate, 0, 1);
  read_integer(object, "arm", settings.arm, 0);
  read_integer(object, "parameters", settings.parameters, 0);
  read_integer(object, "peak_bytes", settings.peak_bytes, 0);
  settings.no_kernel_for = object.string_or("no_kernel_for", "");
  settings.gpu_uuid = object.string_or("gpu_uuid", "");
  read_fault(object, settings);
  object.finish();
  return settings;
}

}  // namespace nanobench::suites

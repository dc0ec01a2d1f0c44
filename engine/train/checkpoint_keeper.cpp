#include "engine/train/checkpoint_keeper.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::core {
namespace {

constexpr const char* kPasses = "passes/";

/// "step_{step}" with six digits or more: "step_000125".
std::string file_of_step(std::string file, std::int64_t step) {
  const std::size_t place = file.find(kStepInFile);
  if (place == std::string::npos) return file;
  char number[32];
  std::snprintf(number, sizeof number, "%06lld", static_cast<long long>(step));
  return file.replace(place, std::string(kStepInFile).size(), number);
}

/// What the losses of a run follow from, apart from its data.
Json identity_of(const RunSpec& spec) {
  return {{"config", to_json(spec.config)}, {"seed", spec.seed}, {"dtype", enum_name(spec.dtype)}};
}

/// Settings that may change the last bits of a loss.
Json arithmetic_of(const RunSpec& spec) {
  return {{"threads", spec.threads}, {"kernels", enum_name(spec.kernels)}, {"device", to_string(spec.device)}};
}

struct Difference {
  std::string pointer;
  std::string text;  ///< "/config/model/num_layers is 12 there and 11 here"
};

std::optional<Difference> first_difference(const Json& there, const Json& here) {
  const Json changes = Json::diff(there, here);
  if (changes.empty()) return std::nullopt;
  const Json::json_pointer place(changes[0].at("path").get<std::string>());
  const auto text = [&](const Json& json) { return json.contains(place) ? json.at(place).dump() : "unset"; };
  return Difference{place.to_string(), place.to_string() + " is " + text(there) + " there and " + text(here) + " here"};
}

}  // namespace

std::string unwritten_checkpoint(std::int64_t step) {
  return "the checkpoint of step " + std::to_string(step) + " was not written, and the run goes on without it: ";
}

void EventHistory::report(const RunEvent& event) {
  const bool is_kept = std::holds_alternative<StepEvent>(event) || std::holds_alternative<EvalEvent>(event) ||
                       std::holds_alternative<MemoryEvent>(event) || std::holds_alternative<BucketsEvent>(event) ||
                       std::holds_alternative<SamplesEvent>(event);
  if (keeps_ && is_kept) lines_ += to_line(event) + "\n";
  sink_.report(event);
}

CheckpointKeeper::CheckpointKeeper(const Parts& parts) : parts_(parts) {
  const RunSpec& spec = parts_.spec;
  if (!spec.resume_file) return;
  if (spec.trace_file) {
    throw Error(ErrorCode::kConflict,
                "a trace holds a run from its first step, so a continued run has none; leave out the trace, or the "
                "checkpoint to continue from");
  }
  resumed_ = read_checkpoint(*spec.resume_file, CheckpointPart::kWhole);
  check_same_run(*resumed_);
}

void CheckpointKeeper::check_same_run(const Checkpoint& checkpoint) const {
  const RunSpec& spec = parts_.spec;
  const std::optional<Difference> difference = first_difference(identity_of(checkpoint.spec), identity_of(spec));
  if (difference) {
    throw Refusal(ErrorCode::kConflict, Reason::kOtherRun,
                  *spec.resume_file + ": is a checkpoint of another run: " + difference->text +
                      "; continue that run, or start from its parameters alone",
                  difference->pointer);
  }
  if (checkpoint.step > spec.config.run.stop_after) {
    throw Error(ErrorCode::kDataLoss,
                *spec.resume_file + ": is of step " + std::to_string(checkpoint.step) + ", beyond the end of its run");
  }
}

NamedTensors CheckpointKeeper::own_state() const {
  NamedTensors state = to_tensors(parts_.optimizers.view());
  for (const auto& [name, tensor] : parts_.model.pass_state()) state.emplace(kPasses + name, tensor);
  state.emplace("trainer/cost", parts_.cost.state());
  state.emplace("trainer/communication", parts_.communication.state());
  if (parts_.communicator.rank() > 0) return state;
  state.merge(to_tensors(parts_.batches.position(), parts_.batches.total_tokens()));
  state.emplace("trainer/clock_ms", at::scalar_tensor(parts_.clock.train_ms().value_or(0.0), at::kDouble));
  state.emplace("trainer/timed_steps", at::scalar_tensor(parts_.clock.timed_steps(), at::kLong));
  state.emplace("trainer/events", bytes_of(parts_.events.lines()));
  return state;
}

void CheckpointKeeper::restore_own(StateReader& reader) {
  parts_.optimizers.restore(read_optimizers(reader, parts_.optimizers));
  NamedTensors passes = reader.take_all(kPasses);
  for (auto& [name, tensor] : passes) tensor = tensor.to(parts_.model.device());
  parts_.model.restore_passes(passes);
  parts_.cost.restore(reader.take("trainer/cost", at::kLong, parts_.cost.state().sizes()));
  parts_.communication.restore(reader.take("trainer/communication", at::kDouble, parts_.communication.state().sizes()));
  reader.finish();
}

CheckpointKeeper::Start CheckpointKeeper::start() {
  if (!resumed_) return {};
  const Checkpoint checkpoint = *std::exchange(resumed_, std::nullopt);
  const std::string& source = *parts_.spec.resume_file;
  StateReader common(state_of_process(checkpoint.state, 0), source);
  const LoaderState position = read_loader(common, parts_.batches.total_tokens(), source);
  const double clock_ms = common.take("trainer/clock_ms", at::kDouble, {}).item<double>();
  const std::int64_t timed_steps = common.take("trainer/timed_steps", at::kLong, {}).item<std::int64_t>();
  const std::string lines = text_of(common.take_vector("trainer/events", at::kByte));
  parts_.model.parameters().assign(checkpoint.parameters, source);
  if (parts_.communicator.rank() == 0) {
    restore_own(common);
  } else {
    StateReader own(state_of_process(checkpoint.state, parts_.communicator.rank()), source);
    restore_own(own);
  }
  parts_.batches.restore(position);
  parts_.clock.restore(clock_ms, timed_steps);
  Start start{.step = checkpoint.step};
  const std::optional<std::int64_t> validated = replay(lines, start);
  start.is_validated = validated == checkpoint.step;
  parts_.events.report(CounterEvent{kResumedAtStep, static_cast<double>(checkpoint.step)});
  if (checkpoint.engine_version != version_text() || arithmetic_of(checkpoint.spec) != arithmetic_of(parts_.spec)) {
    parts_.events.report(WarningEvent{
        "the run was begun by another engine, with other threads or on another device (" + checkpoint.engine_version +
        "), so its losses may differ in their last bits from those of an undisturbed run"});
  }
  return start;
}

/// Returns the step of the last validation.
std::optional<std::int64_t> CheckpointKeeper::replay(const std::string& lines, Start& start) {
  std::optional<std::int64_t> validated;
  for (const std::string_view line : split_lines(lines)) {
    const RunEvent event = parse_event_line(line);
    if (const auto* eval = std::get_if<EvalEvent>(&event)) {
      validated = eval->step;
      start.val_loss = eval->loss;
    }
    parts_.events.report(event);
  }
  return validated;
}

bool CheckpointKeeper::keeps_each() const {
  return parts_.spec.save_file && parts_.spec.save_file->find(kStepInFile) != std::string::npos;
}

void CheckpointKeeper::save(std::int64_t step) {
  if (!parts_.spec.save_file) return;
  NamedTensors state = gather_states(own_state(), parts_.communicator);
  if (parts_.communicator.rank() == 0) write(step, std::move(state));
}

void CheckpointKeeper::write(std::int64_t step, NamedTensors state) {
  const std::string file = file_of_step(*parts_.spec.save_file, step);
  const Checkpoint checkpoint{.step = step,
                              .engine_version = version_text(),
                              .spec = parts_.spec,
                              .parameters = parts_.model.parameters().named(),
                              .state = std::move(state)};
  try {
    std::error_code ignored;  // writing says what is wrong
    std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
    const WrittenFile written = write_checkpoint(file, checkpoint);
    parts_.events.report(CheckpointEvent{.step = step, .file = file, .bytes = written.bytes, .digest = written.digest});
  } catch (const Error& error) {
    rethrow_internal(error);
    parts_.events.report(WarningEvent{unwritten_checkpoint(step) + error.what()});
  }
}

}  // namespace nanobench::core

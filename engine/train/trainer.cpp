#include "engine/train/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "core/config/kernel_coverage.h"
#include "core/config/memory_model.h"
#include "core/config/schedule.h"
#include "core/data/vocabulary.h"
#include "core/hardware/driver_calls.h"
#include "core/hardware/gpu_report.h"
#include "core/hardware/processors.h"
#include "core/hardware/run_gpus.h"
#include "core/process/resource_limits.h"
#include "engine/distributed/gradient_reducer.h"
#include "engine/distributed/update_owners.h"
#include "engine/kernels/engine_context.h"
#include "engine/kernels/thread_pool.h"
#include "engine/train/checkpoint.h"
#include "engine/train/choice_evaluation.h"
#include "engine/train/engine_facts.h"
#include "engine/train/matrix_rate.h"
#include "engine/train/phase_timer.h"
#include "engine/train/token_loss_sums.h"

namespace nanobench::core {
namespace {

at::ScalarType dtype_of(const RunSpec& spec) {
  return spec.dtype == Dtype::kFloat64 ? at::kDouble : at::kFloat;
}

Communicator& checked(Communicator& communicator, const TrainConfig& config) {
  if (communicator.size() == config.distributed.processes) return communicator;
  throw Error(ErrorCode::kInvalidArgument, "distributed/processes is " + std::to_string(config.distributed.processes) +
                                               ", but this is one of " + std::to_string(communicator.size()) +
                                               " processes; let nanobench-train start them");
}

std::vector<SequenceRef> places_of(const std::vector<FetchedSequence>& sequences) {
  std::vector<SequenceRef> places;
  for (const FetchedSequence& sequence : sequences) places.push_back(sequence.place);
  return places;
}

}  // namespace

Trainer::Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop, Communicator& communicator,
                 const RunDevice& device, TurnGate* turns)
    : spec_(spec),
      config_(spec.config),
      sink_(sink, spec.save_file.has_value() && communicator.rank() == 0),
      stop_(stop),
      communicator_(checked(communicator, config_)),
      device_(device),
      turns_(turns != nullptr && turns->takes_turns() && communicator.size() == 1 && !spec.resume_file ? turns
                                                                                                       : nullptr),
      share_(config_.data.ranks, communicator.rank(), communicator.size()),
      bytes_before_model_(resident_memory_bytes()),
      model_(config_, dtype_of(spec), device.device()),
      batches_(spec, model_.dtype(), share_, device.device()),
      marks_(device.make_marks()),
      phases_(marks_.get()),
      pass_(model_, config_, communicator_, phases_),
      clock_(config_.run.untimed_steps),
      cost_(config_) {
  refuse_partial_gradients();
  check_evaluations(spec.evaluations, config_);
  set_threads();
  load_parameters();
  optimizers_.emplace(model_.parameters(), config_, spec.seed, communicator_);
  if (spec.metrics.contains(AskedMetric::kHealth) && communicator_.rank() == 0)
    health_.emplace(spec.health_every.value_or(config_.run.val_every), config_.run.stop_after, model_.parameters(),
                    *optimizers_);
  if (spec.save_file || spec.resume_file) {
    checkpoints_.emplace(CheckpointKeeper::Parts{.spec = spec_,
                                                 .model = model_,
                                                 .optimizers = *optimizers_,
                                                 .batches = batches_,
                                                 .clock = clock_,
                                                 .cost = cost_,
                                                 .communication = communication_,
                                                 .communicator = communicator_,
                                                 .events = sink_});
  }
  if (spec.trace_file && communicator_.rank() == 0) trace_.emplace();
  if (spec.profile_file && communicator_.rank() == 0) profile_.emplace(config_.run.untimed_steps, device.make_marks());
}

void Trainer::set_threads() const {
  const HostShare host = communicator_.host_share();
  const int threads = spec_.threads > 0 ? std::max(1, spec_.threads / communicator_.size())
                                        : std::max(1, available_processors() / host.size);
  std::optional<int> first_processor;  // the processes of a host side by side
  if (spec_.pin_threads) first_processor = host.rank * threads;
  EngineContext::current().set_threads(threads, first_processor);
  // If the kernels do the work, the remaining LibTorch operations are too short for threads: two sets of threads would
  // only wait for each other.
  const OptimizerGroupConfig& hidden = config_.optimizer.hidden_matrices;
  const bool has_kernels = hidden.type != OptimizerType::kMuon ||
                           (EngineContext::current().uses_kernels() && muon_has_kernel(KernelDevice::kCpu, hidden));
  at::set_num_threads(model_.fuses_blocks(Pass::kTraining) && has_kernels ? 1 : threads);
}

void Trainer::load_parameters() {
  if (!config_.loss.prefix.empty() && spec_.vocabulary)
    model_.set_prefixes(longest_prefixes(read_vocabulary(*spec_.vocabulary)), *spec_.vocabulary);
  if (spec_.init_file) {
    model_.parameters().assign(read_parameters(*spec_.init_file), *spec_.init_file);
  } else {
    model_.parameters().initialize(config_, spec_.seed);
  }
  if (!config_.loss.prefix.empty() && !spec_.vocabulary && !model_.has_prefixes())
    throw Error(ErrorCode::kInvalidArgument,
                "loss/prefix needs the bytes of the tokens; put their vocabulary as \"vocab\" beside the shards");
}

void Trainer::report_hello() {
  HelloEvent hello;
  hello.engine = "nanobench-train";
  hello.engine_version = version_text();
  hello.environment = engine_facts(spec_);
  for (const auto& [name, value] : device_.facts()) hello.environment[name] = value;
  hello.environment["processes"] = std::to_string(communicator_.size());
  hello.environment["communicator"] = communicator_.name();
  if (device_.is_gpu() || config_.gpu.step_graph) hello.environment["graph"] = graph_.state;
  if (graph_.graph) hello.environment["update_graph"] = update_graph_.state;
  hello.environment.merge(code_paths(spec_, model_, *optimizers_));
  hello.threads = kernel_threads().size() * communicator_.size();
  hello.parameters = model_.parameters().count();
  if (turns_ != nullptr) hello.turn_steps = config_.run.stop_after;
  sink_.report(hello);
  if (!config_.loss.prefix.empty() && !model_.has_prefixes())
    sink_.report(WarningEvent{"loss/prefix has no effect: no token of the vocabulary begins with another"});
  for (const std::string& warning : batches_.warnings()) sink_.report(WarningEvent{warning});
  if (config_.gpu.step_graph && !graph_.graph) sink_.report(WarningEvent{"gpu/step_graph: " + graph_.state});
}

StepWindows Trainer::windows_of(std::int64_t step) const {
  return step_windows(config_.attention, config_.schedule, step);
}

/// Rotary frequencies and attention scale as at `step`, where they change with the window.
void Trainer::follow_windows(std::int64_t step) {
  if (window_changes_attention(config_.model))
    model_.follow_windows(window_history(config_.attention, config_.schedule, step));
}

double Trainer::validate(std::int64_t step) {
  const at::AutoGradMode gradients(config_.run.val_gradients);
  const StepWindows windows = windows_of(step);
  follow_windows(step);
  const std::vector<SequenceRef>& places = batches_.validation_places();
  OwnLosses own{.losses = {}, .places = share_.own(places), .count = places.size()};
  std::optional<TokenLossSums> sums;
  if (step == config_.run.stop_after && !metrics_by_bucket(spec_.metrics).empty()) sums.emplace(spec_, places.size());
  for (const std::size_t i : own.places) {
    const FetchedSequence sequence = batches_.validation_sequence(places[i]);
    const SequenceInput input = batches_.make_input(sequence, windows);
    if (sums) {
      const GPT::Losses losses = model_.losses(input);
      sums->add(i, sequence, losses.tokens);
      own.losses.push_back(losses.mean.detach());
    } else {
      own.losses.push_back(model_.loss(input, Pass::kValidation).detach());
    }
  }
  const std::vector<double> losses = read_losses(own);
  const auto sequences = static_cast<std::int64_t>(losses.size());
  const double loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(sequences);
  sink_.report(EvalEvent{
      .step = step, .loss = loss, .train_ms = clock_.train_ms(), .tokens = sequences * config_.data.val_length()});
  if (sums) sums->report(communicator_, sink_, step);
  sink_.report(MemoryEvent{.step = step, .peak_bytes = peak_bytes()});
  if (trace_) trace_->val_losses[step] = loss;
  return loss;
}

std::int64_t Trainer::peak_bytes() const {
  const std::optional<DeviceMemory> memory = device_.memory();
  return sum_over_processes(communicator_, memory ? memory->peak_allocated_bytes : peak_memory_bytes());
}

ActivationSink Trainer::activation_sink(std::int64_t step, std::size_t sequence) {
  if (!trace_ || step != 0 || sequence != 0) return {};
  return [this](const std::string& name, const at::Tensor& x) {
    trace_->activations_step_0_sequence_0[name] = summarize(x);
  };
}

/// Forward and backward pass over this process's share of the step's sequences: returns their losses, and leaves the
/// averaged gradients in the parameters, with those of earlier steps where a group waits for several. Does not wait for
/// GPU work.
Trainer::OwnLosses Trainer::accumulate(std::int64_t step) {
  const StepWindows windows = windows_of(step);
  follow_windows(step);
  const bool has_next_step = step + 1 < config_.run.stop_after;
  cost_.drop();
  zero_gradients();
  std::vector<FetchedSequence> sequences;
  {
    const PhaseTimer timer(phases_, "data");
    sequences = batches_.next_step();
  }
  const auto fetch_ahead = [&](FetchTime moment, bool is_last) {
    const PhaseTimer timer(phases_, "data");
    batches_.fetch_ahead(moment, is_last && has_next_step);
  };
  const std::vector<SequenceRef> places = places_of(sequences);
  const std::vector<std::size_t> own = share_.own(places);
  const std::vector<SyncPoint> sync = share_.sync_points(places, config_.distributed.gradient_sync);
  OwnLosses result{.losses = {}, .places = own, .count = sequences.size()};
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool is_last = i + 1 == own.size();
    SequenceInput input;
    {
      const PhaseTimer timer(phases_, "data");
      input = batches_.make_input(sequences[own[i]], windows);
      input.target_weights = target_weights(config_.loss, step);
      input.prefix_weight = prefix_weight(config_.loss, step);
      input.rank = places[own[i]].rank;
      input.step = step;
    }
    cost_.add(input);
    const auto between = [&] { fetch_ahead(FetchTime::kAfterForward, is_last); };
    if (graph_.graph) {
      result.losses.push_back(replay(input, windows));
      between();
    } else {
      result.losses.push_back(pass_.run(input, sync[i], activation_sink(step, own[i]), between));
    }
    fetch_ahead(FetchTime::kAfterBackward, is_last);
  }
  optimizers_->gather_gradients(step);
  return result;
}

void Trainer::zero_gradients() {
  if (graph_.graph) {
    graph_.graph->zero_gradients();
  } else {
    pass_.zero_gradients();
  }
}

at::Tensor Trainer::replay(const SequenceInput& input, const StepWindows& windows) {
  const PhaseTimer timer(phases_, "replay");
  return graph_.graph->run(input.tokens, input.targets, windows);
}

/// Losses of all sequences, including those of other processes. The only place in a step where the host waits for a
/// GPU.
std::vector<double> Trainer::read_losses(const OwnLosses& own) {
  std::vector<double> losses(own.count);
  if (!own.losses.empty()) {
    const at::Tensor values = at::stack(own.losses).to(at::kCPU, at::kDouble);
    for (std::size_t i = 0; i < own.places.size(); ++i) losses[own.places[i]] = values.const_data_ptr<double>()[i];
  }
  if (communicator_.size() > 1) {
    const PhaseTimer timer(phases_, "communication");
    complete(communicator_, losses);
  }
  return losses;
}

/// If a graph keeps the gradients at fixed addresses, the update may be a graph too.
void Trainer::capture_update() {
  update_graph_ = {};
  if (!graph_.graph) return;
  zero_gradients();
  update_graph_ = choose_update_graph(*optimizers_, *device_.plugin());
}

void Trainer::update(std::int64_t step) {
  if (update_graph_.graph) {
    update_graph_.graph->step(step);
  } else {
    optimizers_->step(step);
  }
}

double Trainer::train_step(std::int64_t step) {
  StepEvent event{.step = step};
  phases_.begin_step();
  clock_.start_step(step);
  std::optional<RunProfile::Step> profiled;
  if (profile_) profiled.emplace(*profile_, step);
  const CommunicationState before(communicator_);
  const OwnLosses own = accumulate(step);
  if (trace_) trace_gradients(step);
  const bool is_sampled = health_ && health_->is_due(step);
  if (is_sampled) {
    device_.synchronize();  // what the step has enqueued is part of its time
    clock_.leave_out([&] { health_->before_update(); });
  }
  {
    const CommunicationTimer communication(communicator_, phases_["optimizer"], phases_["communication"]);
    const PhaseTimer timer(phases_, "optimizer");
    update(step);
  }
  if (is_sampled) {
    device_.synchronize();
    clock_.leave_out([&] { sink_.report(SamplesEvent{.step = step, .values = health_->after_update()}); });
  }
  std::vector<double> losses = read_losses(own);
  profiled.reset();
  if (profile_) profile_->settle();
  communication_.add_step(before, CommunicationState(communicator_));
  for (const double loss : losses) event.loss += loss / static_cast<double>(losses.size());
  event.step_ms = clock_.end_step();
  phases_.complete();
  event.phases_ms = phases_.ms();
  cost_.count_step();
  event.train_ms = clock_.train_ms();
  event.window_tokens = windows_of(step).whole.value_or(0);
  event.learning_rate_factor = learning_rate_factor(config_.schedule, step);
  sink_.report(event);
  if (trace_) {
    trace_->train_losses.push_back(event.loss);
    trace_->sequence_losses.push_back(std::move(losses));
  }
  return event.loss;
}

bool Trainer::wait_for_turn(std::int64_t step) {
  if (turns_ == nullptr || !turns_->needs_turn(step)) return true;
  sink_.report(TurnEvent{step});
  return turns_->wait(step, [this] { return stop_.load(); });
}

/// Whole steps whose effect is undone, so that caches are warm and memory is allocated when the clock starts.
void Trainer::warm_up() {
  if (config_.run.warmup_iterations == 0) return;
  const OptimizerSet::State before = optimizers_->state();
  for (std::int64_t i = 0; i < config_.run.warmup_iterations && !any_process(communicator_, stop_); ++i) {
    accumulate(0);
    update(0);
  }
  optimizers_->restore(before);
  model_.forget_passes();
  batches_.restart();
}

/// What reads all gradients does so in one process.
void Trainer::refuse_partial_gradients() const {
  const bool traces = spec_.trace_file && !config_.run.gradient_steps.empty();
  const bool measures = spec_.metrics.contains(AskedMetric::kHealth);
  if ((!traces && !measures) || !has_update_owners(config_, communicator_.size())) return;
  throw Error(ErrorCode::kConflict,
              std::string(traces ? "a trace of gradients" : "the metric health") +
                  " needs them all in one process; set /distributed/gradient_sums to \"all_processes\"");
}

void Trainer::trace_gradients(std::int64_t step) {
  const std::vector<std::int64_t>& steps = config_.run.gradient_steps;
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) return;
  trace_->gradients[step] = summarize(model_.parameters(), /*gradients=*/true);
}

RunOutcome Trainer::run() {
  graph_ = choose_step_graph(spec_, model_, gradient_weight(config_, config_.data.sequence_length),
                             communicator_.size(), device_.plugin());
  capture_update();
  report_hello();
  monitor_ = device_.make_monitor(/*takes_turns=*/turns_ != nullptr);
  if (!wait_for_turn(0)) return fail(RunOutcome::kInterrupted, "stopped before its first turn");
  warm_up();
  const CheckpointKeeper::Start start = checkpoints_ ? checkpoints_->start() : CheckpointKeeper::Start();
  const std::int64_t last = config_.run.stop_after;
  double val_loss = start.val_loss.value_or(0.0);
  for (std::int64_t step = start.step;; ++step) {
    if (!wait_for_turn(step) || any_process(communicator_, stop_)) {
      if (step > start.step) save_checkpoint(step);
      return fail(RunOutcome::kInterrupted, "stopped before step " + std::to_string(step));
    }
    const bool is_validated = start.is_validated && step == start.step;
    if (!is_validated && (step % config_.run.val_every == 0 || step == last)) {
      val_loss = validate(step);
      if (!std::isfinite(val_loss))
        return fail(RunOutcome::kDiverged, "the validation loss at step " + std::to_string(step) + " is not finite");
      if (step > 0 || (checkpoints_ && checkpoints_->keeps_each())) save_checkpoint(step);
    }
    if (is_validated && step == last) save_checkpoint(step);  // of a run that was complete, perhaps to another file
    if (step == last) return finish(last, val_loss);
    const double loss = train_step(step);
    if (!std::isfinite(loss))
      return fail(RunOutcome::kDiverged, "the training loss of step " + std::to_string(step) + " is not finite");
  }
}

/// Between two steps, where no clock runs.
void Trainer::save_checkpoint(std::int64_t step) {
  if (checkpoints_) checkpoints_->save(step);
}

void Trainer::report_profile() {
  StepProfile summary = profile_->summary();
  if (device_.is_gpu()) {
    summary.gpu_gflops = gpu_gflops_;
  } else {
    summary.sgemm_gflops = measure_sgemm_gflops();
    sink_.report(CounterEvent{"profile/sgemm_gflops", *summary.sgemm_gflops});
  }
  profile_->write(*spec_.profile_file, summary);
  sink_.report(CounterEvent{"profile/unaccounted_ms", summary.unaccounted_ms()});
}

/// The rate of the GPU's products, measured when nothing else is; what it allocates belongs to no figure of the run.
void Trainer::measure_gpu() {
  if (!marks_) return;
  if (monitor_) monitor_->stop();  // of the training
  const bool is_float = config_.precision.activations == ActivationPrecision::kFloat32;
  gpu_gflops_ = measure_device_gflops(*marks_, device_.device(), is_float ? model_.dtype() : at::kBFloat16);
}

/// Takes another step after the last one, whose effect nobody sees: what it asks of the driver is counted where no
/// clock runs. All processes call it.
void Trainer::report_calls() {
  const std::int64_t step = config_.run.stop_after - 1;
  if (!device_.is_gpu() || step < 0) return;
  batches_.restart();
  phases_.begin_step();
  const std::int64_t allocations = device_.memory()->allocations;
  const std::unique_ptr<DriverCallCounter> counter = DriverCallCounter::start();
  const OwnLosses own = accumulate(step);
  update(step);
  read_losses(own);
  const auto report = [&](const std::string& name, std::int64_t count) {
    sink_.report(CounterEvent{"gpu/calls_per_step/" + name, static_cast<double>(count)});
  };
  report("tensor_allocations", device_.memory()->allocations - allocations);
  if (!counter) return;
  for (int call = 0; call < kDriverCalls; ++call)
    report(enum_name(static_cast<DriverCall>(call)), counter->count(static_cast<DriverCall>(call)));
}

/// Reports the GPU of the first process, and those of the others. `memory`: when training ended.
void Trainer::report_gpu(const std::optional<DeviceMemory>& memory) {
  if (memory) {
    const auto report = [&](const char* name, std::int64_t value) {
      sink_.report(CounterEvent{name, static_cast<double>(value)});
    };
    report("gpu/peak_allocated_bytes", memory->peak_allocated_bytes);
    report("gpu/peak_reserved_bytes", memory->peak_reserved_bytes);
    report("gpu/tensor_allocations", memory->allocations);
    report("gpu/driver_allocations", memory->driver_allocations);
    report("gpu/allocation_retries", memory->retries);
    report("gpu/graphs", (graph_.graph ? 1 : 0) + (update_graph_.graph ? 1 : 0));
    report("host/peak_bytes", peak_memory_bytes());
    for (const auto& [phase, ms] : phases_.mean_ms()) sink_.report(CounterEvent{"gpu/phase_ms/" + phase, ms});
    if (gpu_gflops_) sink_.report(CounterEvent{kGpuGflops, *gpu_gflops_ * communicator_.size()});
  }
  if (device_.is_gpu() && communicator_.size() > 1) return report_gpus();
  if (!monitor_) return;
  const GpuSummary summary = monitor_->stop();
  for (const auto& [name, value] : gpu_counters(summary)) sink_.report(CounterEvent{name, value});
  if (const std::optional<std::string> warning = gpu_warning(summary)) sink_.report(WarningEvent{*warning});
}

/// Reports the GPUs of all processes, each watched by its own process. All processes call it.
void Trainer::report_gpus() {
  const std::vector<double> own = packed({.process = communicator_.rank(),
                                          .pid = getpid(),
                                          .host = host_number(),
                                          .gpu = device_.device().has_index() ? device_.device().index() : -1,
                                          .summary = monitor_ ? std::optional(monitor_->stop()) : std::nullopt});
  const at::Tensor all = at::empty({communicator_.size(), kPackedGpu}, at::kDouble);
  const at::Tensor row = at::empty({kPackedGpu}, at::kDouble);
  std::copy(own.begin(), own.end(), row.mutable_data_ptr<double>());
  communicator_.all_gather(all, row);
  std::vector<ProcessGpu> gpus;
  for (int process = 0; process < communicator_.size(); ++process) {
    const double* const values = all.const_data_ptr<double>() + static_cast<std::ptrdiff_t>(process) * kPackedGpu;
    gpus.push_back(unpacked({values, values + kPackedGpu}));
  }
  exclude_own_processes(gpus);
  for (const auto& [name, value] : run_gpu_counters(gpus)) sink_.report(CounterEvent{name, value});
  if (const std::optional<std::string> warning = run_gpu_warning(gpus)) sink_.report(WarningEvent{*warning});
}

/// The model follows the windows of the last validation. False: the run is to stop.
bool Trainer::evaluate(std::int64_t steps) {
  if (spec_.evaluations.empty()) return true;
  return answer_evaluations(spec_.evaluations, model_, config_, steps, communicator_, sink_,
                            [this] { return stop_.load(); });
}

/// What the configuration says of memory, and what the training took of the peak: all but what was resident before.
void Trainer::report_memory(std::int64_t peak) {
  const auto report = [&](const std::string& name, std::int64_t bytes) {
    sink_.report(CounterEvent{"memory/" + name, static_cast<double>(bytes)});
  };
  const MemoryCounts counts = memory_counts(config_);
  const std::int64_t number_bytes = spec_.dtype == Dtype::kFloat64 ? 8 : 4;
  for (const MemoryPart part : kMemoryParts) {
    const TypedNumbers& numbers = counts.of(part);
    const bool is_emulated = part != MemoryPart::kActivations || !device_.is_gpu();
    report(enum_name(part) + "_bytes",
           is_emulated ? numbers.emulated_bytes(number_bytes) : numbers.bytes(number_bytes));
  }
  const std::int64_t before = device_.is_gpu() ? 0 : sum_over_processes(communicator_, bytes_before_model_);
  report("before_model_bytes", before);
  report("training_bytes", peak - before);
}

RunOutcome Trainer::finish(std::int64_t steps, double val_loss) {
  check_replicas(model_.parameters(), communicator_);
  if (trace_) {
    trace_->final_parameters = summarize(model_.parameters(), /*gradients=*/false);
    trace_->write(*spec_.trace_file);
  }
  const std::int64_t peak = peak_bytes();
  const std::optional<DeviceMemory> memory = device_.memory();
  measure_gpu();
  if (!evaluate(steps)) return fail(RunOutcome::kInterrupted, "stopped while it was evaluated, after training");
  if (profile_) report_profile();
  report_memory(peak);
  cost_.report(sink_, communicator_, spec_.dtype == Dtype::kFloat64 ? 8 : 4);
  if (communicator_.size() > 1) communication_.report(sink_);
  report_gpu(memory);
  report_calls();
  sink_.report(FinishedEvent{.steps = steps,
                             .timed_steps = clock_.timed_steps(),
                             .train_ms = clock_.train_ms(),
                             .final_val_loss = val_loss,
                             .peak_bytes = peak});
  return RunOutcome::kCompleted;
}

RunOutcome Trainer::fail(RunOutcome outcome, const std::string& message) {
  sink_.report(FailedEvent{outcome, message});
  return outcome;
}

}  // namespace nanobench::core

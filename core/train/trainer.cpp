#include "core/train/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <sys/resource.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "core/base/build_info.h"
#include "core/base/error.h"
#include "core/distributed/replicas.h"
#include "core/optim/schedule.h"
#include "core/train/safetensors.h"

namespace nanobench::core {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Adds the milliseconds of its scope to a phase.
class PhaseTimer {
 public:
  explicit PhaseTimer(double& total_ms) : total_ms_(total_ms), start_(SteadyClock::now()) {}
  ~PhaseTimer() { total_ms_ += std::chrono::duration<double, std::milli>(SteadyClock::now() - start_).count(); }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  double& total_ms_;
  SteadyClock::time_point start_;
};

/// Moves what the communicator waits during its scope from a phase to another.
class CommunicationTimer {
 public:
  CommunicationTimer(const Communicator& communicator, double& phase_ms, double& communication_ms)
      : communicator_(communicator),
        phase_ms_(phase_ms),
        communication_ms_(communication_ms),
        start_ms_(communicator.waited_ms()) {}
  ~CommunicationTimer() {
    const double waited_ms = communicator_.waited_ms() - start_ms_;
    phase_ms_ -= waited_ms;
    communication_ms_ += waited_ms;
  }
  CommunicationTimer(const CommunicationTimer&) = delete;
  CommunicationTimer& operator=(const CommunicationTimer&) = delete;

 private:
  const Communicator& communicator_;
  double& phase_ms_;
  double& communication_ms_;
  double start_ms_;
};

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

ShardList open_all(const std::vector<std::string>& paths, std::int64_t vocab_size) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    for (const std::filesystem::path& file : expand_shards(path)) files.push_back(file);
  }
  ShardList shards = open_shards(files);
  for (const TokenShard& shard : *shards) shard.check_token_range(vocab_size);
  return shards;
}

LoaderOptions loader_options(const DataConfig& data) {
  return {.sequence_length = data.sequence_length,
          .sequences_per_step = data.sequences_per_step,
          .ranks = data.ranks,
          .position = data.loader.position,
          .reserve_tokens = data.loader.reserve_tokens,
          .sequences_per_read = data.loader.sequences_per_read,
          .first_read_twice = data.loader.first_read_twice,
          .wrap = data.loader.wrap};
}

LoaderOptions val_loader_options(const DataConfig& data) {
  LoaderOptions options = loader_options(data);
  options.sequence_length = data.val_length();
  options.first_read_twice = false;
  options.wrap = true;
  return options;
}

at::ScalarType dtype_of(const RunSpec& spec) {
  return spec.dtype == "float64" ? at::kDouble : at::kFloat;
}

Communicator& checked(Communicator& communicator, const TrainConfig& config) {
  if (communicator.size() == config.distributed.processes) return communicator;
  throw Error(ErrorCode::kInvalidArgument, "distributed/processes is " + std::to_string(config.distributed.processes) +
                                               ", but this is one of " + std::to_string(communicator.size()) +
                                               " processes; let nanobench-train start them");
}

Communicator& only_process() {
  static SingleProcess process;
  return process;
}

}  // namespace

Trainer::Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop)
    : Trainer(spec, sink, stop, only_process()) {}

Trainer::Trainer(const RunSpec& spec, MetricSink& sink, const std::atomic<bool>& stop, Communicator& communicator)
    : spec_(spec),
      config_(spec.config),
      sink_(sink),
      stop_(stop),
      communicator_(checked(communicator, config_)),
      share_(config_.data.ranks, communicator.rank(), communicator.size()),
      model_(config_, dtype_of(spec)),
      train_loader_(open_all(spec.train_shards, config_.model.vocab_size), loader_options(config_.data)),
      val_loader_(open_all(spec.val_shards, config_.model.vocab_size), val_loader_options(config_.data)),
      clock_(config_.run.untimed_steps) {
  set_threads();
  load_parameters();
  build_optimizers();
  if (spec.trace_file && communicator_.rank() == 0) trace_.emplace();
}

void Trainer::set_threads() const {
  const int processes = communicator_.size();
  if (spec_.threads == 0 && processes == 1) return;
  const int threads = spec_.threads > 0 ? spec_.threads : at::get_num_threads();
  at::set_num_threads(std::max(1, threads / processes));
}

void Trainer::load_parameters() {
  if (spec_.init_file) {
    model_.parameters().assign(read_safetensors(*spec_.init_file), *spec_.init_file);
  } else {
    model_.parameters().initialize(config_, spec_.seed);
  }
}

void Trainer::build_optimizers() {
  std::vector<at::Tensor> embeddings, lm_head, scalars, hidden;
  std::vector<MuonParameter> matrices;
  for (const Parameter& parameter : model_.parameters().all()) {
    switch (parameter.group) {
      case ParameterGroup::kEmbeddings: embeddings.push_back(parameter.tensor); break;
      case ParameterGroup::kLmHead: lm_head.push_back(parameter.tensor); break;
      case ParameterGroup::kScalars: scalars.push_back(parameter.tensor); break;
      case ParameterGroup::kHiddenMatrices:
        hidden.push_back(parameter.tensor);
        matrices.push_back({parameter.tensor, parameter.matrices});
        break;
    }
  }
  adams_.emplace_back(embeddings, config_.optimizer.embeddings);
  adams_.emplace_back(lm_head, config_.optimizer.lm_head);
  adams_.emplace_back(scalars, config_.optimizer.scalars);
  if (communicator_.size() > 1) {
    std::vector<at::Tensor> all;
    for (const Parameter& parameter : model_.parameters().all()) all.push_back(parameter.tensor);
    reducer_.emplace(all, config_.distributed, communicator_);
  }
  if (config_.optimizer.hidden_matrices.type == OptimizerType::kMuon && communicator_.size() > 1) {
    sharded_muon_.emplace(matrices, config_.optimizer.hidden_matrices, config_.distributed, communicator_);
  } else if (config_.optimizer.hidden_matrices.type == OptimizerType::kMuon) {
    muon_.emplace(matrices, config_.optimizer.hidden_matrices);
  } else {
    adams_.emplace_back(hidden, config_.optimizer.hidden_matrices);
  }
}

std::shared_ptr<const AttentionPlan> Trainer::make_plan(std::span<const std::uint16_t> tokens,
                                                        std::optional<std::int64_t> window) const {
  const BlockMask mask(tokens, {.block_size = config_.attention.block_size,
                                .document_mask = config_.attention.document_mask,
                                .document_separator = config_.attention.document_separator,
                                .granularity = config_.attention.window.granularity,
                                .window_tokens = window});
  return std::make_shared<const AttentionPlan>(make_attention_plan(mask, model_.dtype()));
}

SequenceInput Trainer::make_input(const DataLoader& loader, const SequenceRef& sequence,
                                  std::optional<std::int64_t> window) const {
  const std::span<const std::uint16_t> slice = loader.tokens(sequence);  // T + 1 tokens
  at::Tensor ids = at::empty({static_cast<std::int64_t>(slice.size())}, at::kLong);
  std::copy(slice.begin(), slice.end(), ids.data_ptr<std::int64_t>());
  const std::int64_t length = ids.size(0) - 1;
  const std::span<const std::uint16_t> tokens = slice.first(static_cast<std::size_t>(length));
  SequenceInput input{.tokens = ids.narrow(0, 0, length),
                      .targets = ids.narrow(0, 1, length),
                      .plan = make_plan(tokens, window),
                      .half_plan = nullptr};
  if (!config_.attention.window.half_layers.empty())
    input.half_plan = make_plan(tokens, half_window_tokens(config_.attention, window));
  return input;
}

void Trainer::report_hello() {
  HelloEvent hello;
  hello.engine = "nanobench-train";
  hello.engine_version = version_text();
  hello.environment = {{"libtorch", TORCH_VERSION},
                       {"device", "cpu"},
                       {"cpu_capability", at::get_cpu_capability()},
                       {"dtype", spec_.dtype},
                       {"processes", std::to_string(communicator_.size())},
                       {"attention_path", "tiled"},
                       {"compiler", build_info().compiler},
                       {"build_type", build_info().build_type}};
  hello.threads = at::get_num_threads() * communicator_.size();
  hello.parameters = model_.parameters().count();
  sink_.report(hello);
}

double Trainer::validate(std::int64_t step) {
  const at::NoGradGuard no_grad;
  const std::optional<std::int64_t> window =
      window_tokens(config_.attention.window.schedule, step, config_.schedule.num_steps);
  const std::vector<SequenceRef> sequences = val_loader_.validation_sequences(config_.data.val_sequences);
  std::vector<double> losses(sequences.size());
  for (const std::size_t i : share_.own(sequences))
    losses[i] = model_.loss(make_input(val_loader_, sequences[i], window)).item<double>();
  complete(communicator_, losses);
  const double loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  const auto count = static_cast<std::int64_t>(losses.size());
  sink_.report(EvalEvent{
      .step = step, .loss = loss, .train_ms = clock_.train_ms(), .tokens = count * config_.data.val_length()});
  sink_.report(MemoryEvent{.step = step, .peak_bytes = peak_bytes()});
  if (trace_) trace_->val_losses[step] = loss;
  return loss;
}

std::int64_t Trainer::peak_bytes() const {
  return sum_over_processes(communicator_, peak_resident_bytes());
}

void Trainer::zero_gradients() {
  if (reducer_) {
    reducer_->zero_gradients();
  } else {
    model_.parameters().zero_gradients();
  }
}

double Trainer::gradient_weight() const {
  const std::int64_t parts =
      config_.run.gradient_reduction == GradientReduction::kMean ? config_.data.sequences_per_step : config_.data.ranks;
  return 1.0 / static_cast<double>(parts);
}

double Trainer::train_step(std::int64_t step) {
  StepEvent event{.step = step};
  const std::optional<std::int64_t> window =
      window_tokens(config_.attention.window.schedule, step, config_.schedule.num_steps);
  std::map<std::string, double>& phases = event.phases_ms;
  phases = {{"data", 0.0}, {"forward", 0.0}, {"backward", 0.0}, {"optimizer", 0.0}, {"communication", 0.0}};
  clock_.start_step(step);
  zero_gradients();
  std::vector<SequenceRef> sequences;
  {
    const PhaseTimer timer(phases["data"]);
    sequences = train_loader_.next_step();
  }
  const at::Tensor weight = at::scalar_tensor(gradient_weight(), at::TensorOptions().dtype(model_.dtype()));
  std::vector<double> losses(sequences.size());
  const std::vector<std::size_t> own = share_.own(sequences);
  const std::vector<SyncPoint> sync = share_.sync_points(sequences, config_.distributed.gradient_sync);
  for (std::size_t i = 0; i < own.size(); ++i) {
    SequenceInput input;
    {
      const PhaseTimer timer(phases["data"]);
      input = make_input(train_loader_, sequences[own[i]], window);
    }
    ActivationSink activations;
    if (trace_ && step == 0 && i == 0) {
      activations = [this](const std::string& name, const at::Tensor& x) {
        trace_->activations_step_0_sequence_0[name] = summarize(x);
      };
    }
    at::Tensor loss;
    {
      const PhaseTimer timer(phases["forward"]);
      loss = model_.loss(input, activations);
    }
    {
      const PhaseTimer timer(phases["backward"]);
      if (reducer_) reducer_->before_backward(sync[i]);
      loss.backward(weight);
    }
    if (reducer_) {
      const PhaseTimer timer(phases["communication"]);
      reducer_->after_backward(sync[i]);
    }
    losses[own[i]] = loss.item<double>();
  }
  if (trace_) trace_gradients(step);
  {
    const CommunicationTimer communication(communicator_, phases["optimizer"], phases["communication"]);
    const PhaseTimer timer(phases["optimizer"]);
    update(step);
  }
  if (communicator_.size() > 1) {
    const PhaseTimer timer(phases["communication"]);
    complete(communicator_, losses);
  }
  for (const double loss : losses) event.loss += loss / static_cast<double>(losses.size());
  event.step_ms = clock_.end_step();
  event.train_ms = clock_.train_ms();
  event.window_tokens = window.value_or(0);
  event.learning_rate_factor = learning_rate_factor(config_.schedule, step);
  sink_.report(event);
  if (trace_) {
    trace_->train_losses.push_back(event.loss);
    trace_->sequence_losses.push_back(std::move(losses));
  }
  return event.loss;
}

void Trainer::trace_gradients(std::int64_t step) {
  const std::vector<std::int64_t>& steps = config_.run.gradient_steps;
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) return;
  trace_->gradients[step] = summarize(model_.parameters(), /*gradients=*/true);
}

void Trainer::update(std::int64_t step) {
  const double factor = learning_rate_factor(config_.schedule, step);
  for (Adam& adam : adams_) adam.step(factor);
  const double momentum = muon_momentum(config_.schedule.muon_momentum, step);
  if (muon_) muon_->step(factor, momentum);
  if (sharded_muon_) sharded_muon_->step(factor, momentum);
}

RunOutcome Trainer::run() {
  report_hello();
  const std::int64_t last = config_.run.stop_after;
  double val_loss = 0.0;
  for (std::int64_t step = 0;; ++step) {
    if (any_process(communicator_, stop_))
      return fail(RunOutcome::kInterrupted, "stopped before step " + std::to_string(step));
    if (step % config_.run.val_every == 0 || step == last) {
      val_loss = validate(step);
      if (!std::isfinite(val_loss))
        return fail(RunOutcome::kDiverged, "the validation loss at step " + std::to_string(step) + " is not finite");
    }
    if (step == last) return finish(last, val_loss);
    const double loss = train_step(step);
    if (!std::isfinite(loss))
      return fail(RunOutcome::kDiverged, "the training loss of step " + std::to_string(step) + " is not finite");
  }
}

RunOutcome Trainer::finish(std::int64_t steps, double val_loss) {
  check_replicas(model_.parameters(), communicator_);
  if (trace_) {
    trace_->final_parameters = summarize(model_.parameters(), /*gradients=*/false);
    trace_->write(*spec_.trace_file);
  }
  sink_.report(FinishedEvent{.steps = steps,
                             .timed_steps = clock_.timed_steps(),
                             .train_ms = clock_.train_ms(),
                             .final_val_loss = val_loss,
                             .peak_bytes = peak_bytes()});
  return RunOutcome::kCompleted;
}

RunOutcome Trainer::fail(RunOutcome outcome, const std::string& message) {
  sink_.report(FailedEvent{outcome, message});
  return outcome;
}

}  // namespace nanobench::core

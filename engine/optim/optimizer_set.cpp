#include "engine/optim/optimizer_set.h"

#include <algorithm>
#include <set>

#include "core/base/op_timer.h"
#include "core/base/text.h"
#include "core/config/schedule.h"
#include "engine/ops/bfloat16.h"
#include "engine/optim/adam.h"
#include "engine/optim/device_adam.h"
#include "engine/optim/muon.h"
#include "engine/optim/sharded_muon.h"

namespace nanobench::core {
namespace {

constexpr double kSmall = 1e-6;  // keeps a zero gradient from dividing by zero

/// A scalar on the gradient's device: the host does not wait for its value here.
at::Tensor norm_of(const at::Tensor& gradient) {
  return at::linalg_vector_norm(gradient, 2, at::OptionalIntArrayRef(), /*keepdim=*/false).to(at::kDouble);
}

MuonParameter muon_parameter(const Parameter& parameter, const PrecisionConfig& precision) {
  return {.tensor = parameter.tensor,
          .matrices = parameter.matrices,
          .matrix_columns = parameter.matrix_columns,
          .storage = muon_storage(precision, parameter.role)};
}

/// A parameter of Muon, or the rows of queries and keys and those of values and output apart (query_key_blocks).
std::vector<MuonParameter> muon_parameters(const Parameter& parameter, const OptimizerGroupConfig& group,
                                           const PrecisionConfig& precision) {
  MuonParameter whole = muon_parameter(parameter, precision);
  if (group.query_key_blocks == 1 || parameter.role != ParameterRole::kMergedAttention) return {whole};
  const std::int64_t half = parameter.tensor.size(0) / 2;
  std::vector<MuonParameter> parts;
  for (const std::int64_t first_row : {std::int64_t{0}, half}) {
    MuonParameter part = whole;
    part.tensor = parameter.tensor.detach().narrow(0, first_row, half);
    part.whole = parameter.tensor;
    part.first_row = first_row;
    part.matrices = first_row == 0 ? 2 * group.query_key_blocks : 2;
    parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<at::Tensor> parameters_with_masters(const Parameters& parameters, ParameterStorage storage) {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : parameters.all()) {
    if (has_master(storage, parameter.role)) tensors.push_back(parameter.tensor);
  }
  return tensors;
}

/// An Adam rounds what it updates, which may be a slice; the first forward pass reads the whole.
void round_whole(at::Tensor parameter) {
  const at::NoGradGuard no_grad;
  round_to_bfloat16_(parameter);
}

/// In one process on a GPU, matrices that its kernels do not take (those of gates are small) have a Muon of their own.
std::vector<std::unique_ptr<Optimizer>> make_muons(const std::vector<MuonParameter>& parameters,
                                                   const OptimizerGroupConfig& group,
                                                   const DistributedConfig& distributed, Communicator& communicator) {
  std::vector<std::unique_ptr<Optimizer>> muons;
  if (communicator.size() > 1) {
    muons.push_back(std::make_unique<ShardedMuon>(parameters, group, distributed, communicator));
    return muons;
  }
  std::vector<MuonParameter> taken = parameters;
  const auto others = std::stable_partition(taken.begin(), taken.end(), [&](const MuonParameter& one) {
    return !one.whole.defined() &&
           fits_device_muon(
               {.rows = one.rows(), .columns = one.columns(), .parameters = {one.tensor}, .buffer = {}, .rate = {}},
               group);
  });
  for (const std::vector<MuonParameter>& part :
       {std::vector(taken.begin(), others), std::vector(others, taken.end())}) {
    if (!part.empty()) muons.push_back(std::make_unique<Muon>(part, group));
  }
  return muons;
}

/// Indices of parameters that have the same settings, and for Adam the same storage.
struct Training {
  const OptimizerGroupConfig* settings;
  StoredPrecision storage;
  std::vector<std::size_t> parameters;
  bool is_alone = false;  ///< of model.untie_step: no other parameter joins
};

bool is_of_tied_pair(const TrainConfig& config, const Parameter& parameter) {
  return config.model.untie_step &&
         (parameter.role == ParameterRole::kTokenTable || parameter.role == ParameterRole::kHead);
}

/// By groups, and within a group in order of the first parameter.
std::vector<Training> trainings_of(const Parameters& parameters, const TrainConfig& config) {
  std::vector<Training> trainings;
  for (const ParameterGroup group : {ParameterGroup::kEmbeddings, ParameterGroup::kLmHead, ParameterGroup::kScalars,
                                     ParameterGroup::kHiddenMatrices}) {
    for (std::size_t i = 0; i < parameters.all().size(); ++i) {
      const Parameter& parameter = parameters.all()[i];
      if (parameter.group != group) continue;
      const OptimizerGroupConfig* settings = &settings_of(config.optimizer, group, parameter.name);
      const bool is_adam = settings->type == OptimizerType::kAdam;
      const StoredPrecision storage =
          is_adam ? adam_storage(config.precision, group, parameter.role) : StoredPrecision::kFloat32;
      auto same = std::find_if(trainings.begin(), trainings.end(), [&](const Training& one) {
        return one.settings == settings && one.storage == storage && !one.is_alone;
      });
      const bool is_alone = is_of_tied_pair(config, parameter);
      if (same == trainings.end() || is_alone) {
        same = trainings.insert(trainings.end(),
                                {.settings = settings, .storage = storage, .parameters = {}, .is_alone = is_alone});
      }
      same->parameters.push_back(i);
    }
  }
  return trainings;
}

AdamGroup adam_group(const Training& training, const Parameters& parameters, const TrainConfig& config,
                     const ParameterSlices& slices) {
  AdamGroup group{.parameters = {},
                  .config = *training.settings,
                  .storage = training.storage,
                  .moments = config.precision.adam_state};
  for (const std::size_t i : training.parameters) {
    group.parameters.push_back(slices.updated_part(i));
    if (training.storage == StoredPrecision::kBfloat16) round_whole(parameters.all()[i].tensor);
  }
  return group;
}

}  // namespace

void clip_gradients(const Parameters& parameters, const GradientClipConfig& config) {
  if (config.type == GradientClipType::kNone) return;
  const OpTimer timer("gradient_clip");
  const at::NoGradGuard no_grad;
  at::Tensor squares;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (!gradient.defined()) continue;
    const at::Tensor norm = norm_of(gradient);
    squares = squares.defined() ? squares + norm * norm : norm * norm;
    if (config.type == GradientClipType::kPerParameter)
      gradient.mul_((norm + kSmall).reciprocal().to(gradient.scalar_type()));
  }
  if (config.type != GradientClipType::kGlobalNorm || !squares.defined()) return;
  const at::Tensor factor = (config.max_norm / (squares.sqrt() + kSmall)).clamp_max(1.0);
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (gradient.defined()) gradient.mul_(factor.to(gradient.scalar_type()));
  }
}

Pauses pauses_of(const OptimizerGroupConfig& group, const TrainConfig& config) {
  if (group.type != OptimizerType::kAdam || group.pause_steps == 0) return {};
  return {.first_steps = change_steps(config), .length = group.pause_steps};
}

std::vector<std::unique_ptr<Optimizer>> make_optimizers(const Parameters& parameters, const TrainConfig& config,
                                                        const ParameterSlices& slices, Communicator& communicator) {
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<AdamGroup>> on_device;  // by step_every and pause_steps
  std::vector<std::unique_ptr<Optimizer>> muons;
  for (const Training& training : trainings_of(parameters, config)) {
    if (training.settings->type == OptimizerType::kMuon) {
      std::vector<MuonParameter> matrices;
      for (const std::size_t i : training.parameters) {
        for (MuonParameter& one : muon_parameters(parameters.all()[i], *training.settings, config.precision))
          matrices.push_back(std::move(one));
      }
      for (auto& muon : make_muons(matrices, *training.settings, config.distributed, communicator))
        muons.push_back(std::move(muon));
      continue;
    }
    AdamGroup adam = adam_group(training, parameters, config, slices);
    if (!training.is_alone && fits_device_adam(adam)) {
      on_device[{adam.config.step_every, adam.config.pause_steps}].push_back(std::move(adam));
    } else {
      optimizers.push_back(std::make_unique<Adam>(std::move(adam.parameters), adam.config, adam.storage, adam.moments));
      optimizers.back()->set_rhythm(adam.config.step_every, pauses_of(*training.settings, config));
    }
  }
  for (auto& [rhythm, groups] : on_device) {
    const Pauses pauses = pauses_of(groups.front().config, config);
    optimizers.push_back(std::make_unique<DeviceAdam>(std::move(groups)));
    optimizers.back()->set_rhythm(rhythm.first, pauses);
  }
  for (std::unique_ptr<Optimizer>& muon : muons) optimizers.push_back(std::move(muon));
  return optimizers;
}

OptimizerSet::OptimizerSet(Parameters& parameters, const TrainConfig& config, std::uint64_t seed,
                           Communicator& communicator)
    : parameters_(parameters),
      config_(config),
      slices_(parameters, config, communicator),
      optimizers_(make_optimizers(parameters, config, slices_, communicator)) {
  for (const Parameter& parameter : parameters.all()) {
    const OptimizerGroupConfig& group = settings_of(config.optimizer, parameter.group, parameter.name);
    if (group.type == OptimizerType::kAdam && (group.step_every > 1 || group.pause_steps > 0)) {
      held_.push_back({.parameter = parameter.tensor,
                       .step_every = group.step_every,
                       .pauses = pauses_of(group, config),
                       .held = {}});
    }
  }
  if (config.precision.parameters != ParameterStorage::kFloat32)
    masters_.emplace(parameters_with_masters(parameters, config.precision.parameters), config.precision.parameters,
                     seed);
  if (config.model.untie_step) find_tied_pair();
}

void OptimizerSet::find_tied_pair() {
  pair_ = TiedPair();  // not emplace(): to clang, a nested class is incomplete where that asks
  for (const Parameter& parameter : parameters_.all()) {
    if (!is_of_tied_pair(config_, parameter)) continue;
    const bool is_head = parameter.role == ParameterRole::kHead;
    (is_head ? pair_->head : pair_->table) = parameter.tensor;
    for (const auto& optimizer : optimizers_) {
      if (optimizer->updates_only(parameter.tensor))
        (is_head ? pair_->head_optimizer : pair_->table_optimizer) = optimizer.get();
    }
  }
  TORCH_CHECK(pair_->head_optimizer != nullptr && pair_->table_optimizer != nullptr,
              "head and token table have no optimisers of their own");
}

/// While they are one, the head gets both gradients.
void OptimizerSet::join_gradients() {
  const at::NoGradGuard no_grad;
  const at::Tensor& added = pair_->table.grad();
  at::Tensor& gradient = pair_->head.mutable_grad();
  if (added.defined()) gradient = gradient.defined() ? gradient.add_(added) : added.clone();
}

/// After an update of the head while they are one; at the last, the table gets its state too.
void OptimizerSet::follow_head() {
  const at::NoGradGuard no_grad;
  pair_->table.copy_(pair_->head);
  if (step_ == *config_.model.untie_step) pair_->table_optimizer->restore(pair_->head_optimizer->state());
}

bool OptimizerSet::updates(const Optimizer& optimizer, std::int64_t step) const {
  return optimizer.is_due(step) && !(is_tied(step) && &optimizer == pair_->table_optimizer);
}

void OptimizerSet::step(std::int64_t step) {
  prepare(step);
  launch();
}

void OptimizerSet::prepare(std::int64_t step) {
  const double lr_factor = learning_rate_factor(config_.schedule, step);
  const double momentum = muon_momentum(config_.schedule, step);
  step_ = step;
  for (const auto& optimizer : optimizers_)
    if (updates(*optimizer, step)) optimizer->prepare(lr_factor, momentum);
}

void OptimizerSet::gather_gradients(std::int64_t step) {
  const at::NoGradGuard no_grad;
  for (HeldGradient& one : held_) {
    at::Tensor& gradient = one.parameter.mutable_grad();
    if (one.held.defined()) gradient = gradient.defined() ? gradient.add_(one.held) : one.held.clone();
    const bool waits = (step + 1) % one.step_every != 0 && !one.pauses.cover(step);
    one.held = waits && gradient.defined() ? gradient.clone() : at::Tensor();
  }
  slices_.bind_gradients();
}

void OptimizerSet::prepare_idle() {
  for (const auto& optimizer : optimizers_) optimizer->prepare_idle();
}

void OptimizerSet::launch() {
  clip_gradients(parameters_, config_.optimizer.gradient_clip);
  if (masters_) masters_->unround();
  const bool is_joint = is_tied(step_) && pair_->head_optimizer->is_due(step_);
  if (is_joint) join_gradients();
  for (const auto& optimizer : optimizers_)
    if (updates(*optimizer, step_)) optimizer->launch();
  if (is_joint) follow_head();
  slices_.gather(step_);
  if (masters_) masters_->round();
}

bool OptimizerSet::is_replayable() const {
  return !masters_ && !pair_ && held_.empty() &&
         std::all_of(optimizers_.begin(), optimizers_.end(),
                     [](const auto& optimizer) { return optimizer->is_replayable(); });
}

std::vector<at::Tensor> OptimizerSet::weights() const {
  if (masters_) return masters_->masters();
  std::vector<at::Tensor> weights;
  for (const Parameter& parameter : parameters_.all()) weights.push_back(parameter.tensor.detach());
  return weights;
}

OptimizerSet::StateBytes OptimizerSet::state_bytes() const {
  StateBytes bytes;
  for (const auto& optimizer : optimizers_) {
    for (const at::Tensor& tensor : optimizer->kept_tensors())
      bytes.moments += static_cast<std::int64_t>(tensor.nbytes());
  }
  if (!masters_) return bytes;
  for (const at::Tensor& tensor : masters_->masters()) bytes.masters += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

OptimizerSet::State OptimizerSet::state() const {
  State state{.parameters = parameters_.values(), .optimizers = {}, .masters = {}, .held = {}};
  for (const auto& optimizer : optimizers_) state.optimizers.push_back(optimizer->state());
  if (masters_) state.masters = masters_->state();
  for (const HeldGradient& one : held_) state.held.push_back(one.held.defined() ? one.held.clone() : at::Tensor());
  return state;
}

OptimizerSet::State OptimizerSet::view() const {
  State state;
  for (const Parameter& parameter : parameters_.all()) state.parameters.push_back(parameter.tensor.detach());
  for (const auto& optimizer : optimizers_) state.optimizers.push_back(optimizer->view());
  if (masters_) state.masters = masters_->view();
  for (const HeldGradient& one : held_) state.held.push_back(one.held);
  return state;
}

std::vector<at::Tensor> OptimizerSet::held_parameters() const {
  std::vector<at::Tensor> parameters;
  for (const HeldGradient& one : held_) parameters.push_back(one.parameter);
  return parameters;
}

void OptimizerSet::restore(const State& state) {
  parameters_.assign_values(state.parameters);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i]->restore(state.optimizers[i]);
  if (masters_) masters_->restore(*state.masters);
  for (std::size_t i = 0; i < held_.size(); ++i)
    held_[i].held = state.held[i].defined() ? state.held[i].clone() : at::Tensor();
}

std::map<std::string, std::string> OptimizerSet::paths() const {
  std::map<OptimizerType, std::set<UpdatePath>> by_type;
  for (const auto& optimizer : optimizers_) by_type[optimizer->type()].merge(optimizer->paths());
  std::map<std::string, std::string> paths;
  for (const auto& [type, used] : by_type) {
    std::vector<std::string> names;
    for (const UpdatePath path : used) names.emplace_back(enum_name(path));
    paths[type == OptimizerType::kMuon ? "muon" : "adam"] = joined(names);
  }
  return paths;
}

}  // namespace nanobench::core

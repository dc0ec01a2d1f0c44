#include "engine/train/run_state.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"

namespace nanobench::core {
namespace {

constexpr const char* kOptimizer = "optimizer/";
constexpr const char* kProcess = "process_";

std::string shape_text(at::IntArrayRef shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

std::string moment_name(std::size_t optimizer, std::size_t tensor) {
  return kOptimizer + std::to_string(optimizer) + "/" + std::to_string(tensor);
}
std::string held_name(std::size_t i) {
  return std::string(kOptimizer) + "held/" + std::to_string(i);
}
std::string master_name(std::size_t i) {
  return std::string(kOptimizer) + "masters/" + std::to_string(i);
}
const std::string kUpdates = std::string(kOptimizer) + "updates";  // by optimiser
const std::string kRounds = std::string(kOptimizer) + "rounds";    // of master weights

at::Tensor numbers(const std::vector<std::int64_t>& values) {
  return at::tensor(values, at::kLong);
}

/// A line of JSON on what follows: names, types and shapes, then all bytes.
std::string packed(const NamedTensors& tensors) {
  Json list = Json::array();
  std::string bytes;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
    list.push_back({name, static_cast<int>(plain.scalar_type()), plain.sizes().vec()});
    if (plain.numel() > 0) bytes.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
  }
  return list.dump() + "\n" + bytes;
}

/// Reads what packed() of this program made a moment ago.
NamedTensors unpacked(std::string_view text) {
  const std::size_t end = text.find('\n');
  NamedTensors tensors;
  std::string_view bytes = text.substr(end + 1);
  for (const Json& item : parse_json(text.substr(0, end), "the state of another process")) {
    at::Tensor tensor = at::empty(item[2].get<std::vector<std::int64_t>>(),
                                  at::TensorOptions().dtype(static_cast<at::ScalarType>(item[1].get<int>())));
    NB_CHECK(tensor.nbytes() <= bytes.size(), "the state of another process is cut");
    if (tensor.numel() > 0) std::memcpy(tensor.data_ptr(), bytes.data(), tensor.nbytes());
    bytes.remove_prefix(tensor.nbytes());
    tensors.emplace(item[0].get<std::string>(), std::move(tensor));
  }
  return tensors;
}

}  // namespace

at::Tensor StateReader::take(const std::string& name) {
  const auto found = left_.find(name);
  if (found == left_.end()) {
    throw Refusal(ErrorCode::kInvalidArgument, Reason::kMissingKey,
                  source_ + ": has no tensor \"" + name +
                      "\", without which the run cannot continue; start it from the parameters alone, or anew",
                  name);
  }
  at::Tensor tensor = std::move(found->second);
  left_.erase(found);
  return tensor;
}

at::Tensor StateReader::take(const std::string& name, at::ScalarType type, at::IntArrayRef shape) {
  at::Tensor tensor = take(name);
  if (tensor.scalar_type() == type && tensor.sizes() == shape) return tensor;
  throw Error(ErrorCode::kInvalidArgument, source_ + ": tensor \"" + name + "\" is " +
                                               at::toString(tensor.scalar_type()) + " " + shape_text(tensor.sizes()) +
                                               ", this run needs " + at::toString(type) + " " + shape_text(shape));
}

at::Tensor StateReader::take_vector(const std::string& name, at::ScalarType type) {
  const auto found = left_.find(name);
  const std::int64_t length = found == left_.end() ? 0 : found->second.numel();
  return take(name, type, {length});
}

NamedTensors StateReader::take_all(const std::string& prefix) {
  NamedTensors taken;
  for (auto it = left_.lower_bound(prefix); it != left_.end() && it->first.starts_with(prefix); it = left_.erase(it))
    taken.emplace(it->first.substr(prefix.size()), it->second);
  return taken;
}

void StateReader::finish() const {
  if (left_.empty()) return;
  throw Refusal(ErrorCode::kInvalidArgument, Reason::kUnknownKey,
                source_ + ": this run has no state \"" + left_.begin()->first + "\"; the checkpoint is of another run",
                left_.begin()->first);
}

NamedTensors to_tensors(const OptimizerSet::State& state) {
  NamedTensors tensors;
  std::vector<std::int64_t> updates;
  for (std::size_t i = 0; i < state.optimizers.size(); ++i) {
    const OptimizerState& optimizer = state.optimizers[i];
    updates.push_back(optimizer.steps);
    for (std::size_t j = 0; j < optimizer.tensors.size(); ++j) tensors[moment_name(i, j)] = optimizer.tensors[j];
  }
  tensors[kUpdates] = numbers(updates);
  for (std::size_t i = 0; i < state.held.size(); ++i) {
    if (state.held[i].defined()) tensors[held_name(i)] = state.held[i];
  }
  if (!state.masters) return tensors;
  tensors[kRounds] = numbers({static_cast<std::int64_t>(state.masters->rounds)});
  for (std::size_t i = 0; i < state.masters->masters.size(); ++i) tensors[master_name(i)] = state.masters->masters[i];
  return tensors;
}

OptimizerSet::State read_optimizers(StateReader& reader, const OptimizerSet& optimizers) {
  OptimizerSet::State state = optimizers.view();
  const auto like = [&](const std::string& name, const at::Tensor& tensor) {
    return reader.take(name, tensor.scalar_type(), tensor.sizes());
  };
  const at::Tensor updates = reader.take(kUpdates, at::kLong, {static_cast<std::int64_t>(state.optimizers.size())});
  for (std::size_t i = 0; i < state.optimizers.size(); ++i) {
    OptimizerState& optimizer = state.optimizers[i];
    optimizer.steps = updates.const_data_ptr<std::int64_t>()[i];
    for (std::size_t j = 0; j < optimizer.tensors.size(); ++j)
      optimizer.tensors[j] = like(moment_name(i, j), optimizer.tensors[j]);
  }
  const std::vector<at::Tensor> held = optimizers.held_parameters();
  for (std::size_t i = 0; i < held.size(); ++i) {
    state.held[i] = reader.has(held_name(i)) ? like(held_name(i), held[i]).to(held[i].device()) : at::Tensor();
  }
  if (!state.masters) return state;
  const at::Tensor rounds = reader.take(kRounds, at::kLong, {1});
  state.masters->rounds = static_cast<std::uint64_t>(rounds.item<std::int64_t>());
  for (std::size_t i = 0; i < state.masters->masters.size(); ++i)
    state.masters->masters[i] = like(master_name(i), state.masters->masters[i]);
  return state;
}

NamedTensors to_tensors(const LoaderState& position, std::int64_t total_tokens) {
  std::vector<std::int64_t> cursors;
  for (const LoaderState::Cursor& cursor : position.cursors)
    cursors.insert(cursors.end(), {cursor.shard, cursor.position});
  return {{"loader/cursors", numbers(cursors)},
          {"loader/reads", numbers(position.reads)},
          {"loader/tokens", numbers({total_tokens})}};
}

LoaderState read_loader(StateReader& reader, std::int64_t total_tokens, const std::string& source) {
  const std::int64_t tokens = reader.take("loader/tokens", at::kLong, {1}).item<std::int64_t>();
  if (tokens != total_tokens) {
    throw Error(ErrorCode::kConflict, source + ": its run trains on " + std::to_string(tokens) +
                                          " tokens, but the shards here have " + std::to_string(total_tokens) +
                                          "; name the data that it began with");
  }
  const at::Tensor reads = reader.take_vector("loader/reads", at::kLong);
  const at::Tensor cursors = reader.take("loader/cursors", at::kLong, {2 * reads.numel()});
  LoaderState state;
  for (std::int64_t i = 0; i < reads.numel(); ++i) {
    const std::int64_t* const cursor = cursors.const_data_ptr<std::int64_t>() + 2 * i;
    state.cursors.push_back({.shard = cursor[0], .position = cursor[1]});
    state.reads.push_back(reads.const_data_ptr<std::int64_t>()[i]);
  }
  return state;
}

at::Tensor bytes_of(std::string_view text) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  if (!text.empty()) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  return bytes;
}

std::string text_of(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

NamedTensors gather_states(const NamedTensors& own, Communicator& communicator) {
  if (communicator.size() == 1) return own;
  const std::string text = packed(own);
  const at::Tensor sizes = at::empty({communicator.size(), 1}, at::kLong);
  communicator.all_gather(sizes, numbers({static_cast<std::int64_t>(text.size())}));
  const at::Tensor padded = at::zeros({sizes.max().item<std::int64_t>()}, at::kByte);
  std::memcpy(padded.data_ptr(), text.data(), text.size());
  const at::Tensor all = at::empty({communicator.size(), padded.numel()}, at::kByte);
  communicator.all_gather(all, padded);
  if (communicator.rank() > 0) return {};
  NamedTensors states = own;
  for (int process = 1; process < communicator.size(); ++process) {
    const std::string whole = text_of(all[process]);
    const auto size = static_cast<std::size_t>(sizes[process].item<std::int64_t>());
    for (auto& [name, tensor] : unpacked(std::string_view(whole).substr(0, size)))
      states.emplace(kProcess + std::to_string(process) + "/" + name, tensor);
  }
  return states;
}

NamedTensors state_of_process(const NamedTensors& all, int rank) {
  NamedTensors own;
  const std::string prefix = rank == 0 ? "" : kProcess + std::to_string(rank) + "/";
  for (const auto& [name, tensor] : all) {
    const bool is_own = rank == 0 ? !name.starts_with(kProcess) : name.starts_with(prefix);
    if (is_own) own.emplace(name.substr(prefix.size()), tensor);
  }
  return own;
}

}  // namespace nanobench::core

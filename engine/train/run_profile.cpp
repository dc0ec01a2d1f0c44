#include "engine/train/run_profile.h"

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/base/atomic_write.h"
#include "core/base/json.h"
#include "core/base/op_timer.h"
#include "core/base/text.h"

namespace nanobench::core {

namespace {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json to_json(const std::map<std::string, TensorSummary>& summaries) {
  Json json = Json::object();
  for (const auto& [name, summary] : summaries) {
    json[name] = {{"l2", number(summary.l2)}, {"sum", number(summary.sum)}, {"probe", number(summary.probe)}};
  }
  return json;
}

Json to_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(number(value));
  return json;
}

}  // namespace

TensorSummary summarize(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* x = values.const_data_ptr<double>();
  TensorSummary summary;
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double turn = static_cast<double>(i) * 0.6180339887498949;
    summary.l2 += x[i] * x[i];
    summary.sum += x[i];
    summary.probe += x[i] * (turn - std::floor(turn) - 0.5);
  }
  summary.l2 = std::sqrt(summary.l2);
  return summary;
}

std::map<std::string, TensorSummary> summarize(const Parameters& parameters, bool gradients) {
  std::map<std::string, TensorSummary> summaries;
  for (const Parameter& parameter : parameters.all()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (!gradients) summaries[parameter.name] = summarize(parameter.tensor);
    if (gradients) summaries[parameter.name] = gradient.defined() ? summarize(gradient) : TensorSummary{};
  }
  return summaries;
}

void Trace::write(const std::filesystem::path& file) const {
  Json json = Json::object();
  json["train_losses"] = to_json(train_losses);
  json["sequence_losses"] = Json::array();
  for (const std::vector<double>& losses : sequence_losses) json["sequence_losses"].push_back(to_json(losses));
  json["val_losses"] = Json::object();
  for (const auto& [step, loss] : val_losses) json["val_losses"][std::to_string(step)] = number(loss);
  json["activations_step_0_sequence_0"] = to_json(activations_step_0_sequence_0);
  json["gradients"] = Json::object();
  for (const auto& [step, summaries] : gradients) json["gradients"][std::to_string(step)] = to_json(summaries);
  json["final_parameters"] = to_json(final_parameters);
  const std::string text = json.dump(1) + "\n";
  write_file_atomically(file, text);
}

namespace {

/// Names live as long as the process: spans keep pointers.
const char* kept(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> names;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

std::string without_prefix(std::string_view name, std::string_view prefix) {
  return std::string(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
}

/// "AddmmBackward0" -> "addmm".
std::string plain_name(std::string_view node) {
  const std::string name = without_prefix(node, "torch::autograd::");
  return lower_case(name.substr(0, name.find("Backward")));
}

/// Name of an autograd function in a profile.
const char* backward_name(std::string_view node) {
  if (node.find("CppNode") != std::string_view::npos) return "autograd";  // ours: what it holds has names of its own
  if (node.find("AccumulateGrad") != std::string_view::npos) return "gradient_accumulation";
  const std::string name = plain_name(node);
  if (name == "mm" || name == "addmm" || name == "t") return "linear";
  if (name == "nativelayernorm") return "layer_norm";
  return kept(name);
}

double size_of(const at::Tensor& tensor, std::int64_t dimension) {
  return static_cast<double>(tensor.size(dimension));
}

/// FLOPs of a product [..., m, k] x [..., k, n], or of two vectors.
double product_flops(const at::Tensor& a, const at::Tensor& b) {
  const double products = static_cast<double>(a.numel());
  return 2 * products * (b.dim() >= 2 ? size_of(b, -1) : 1);
}

double flops_of(std::string_view name, c10::ArrayRef<const c10::IValue> inputs) {
  std::size_t first = 0;
  if (name.starts_with("aten::addmm") || name.starts_with("aten::baddbmm") || name.starts_with("aten::addmv")) {
    first = 1;
  } else if (name != "aten::mm" && name != "aten::bmm" && name != "aten::dot" && name != "aten::mv") {
    return 0;
  }
  if (inputs.size() < first + 2 || !inputs[first].isTensor() || !inputs[first + 1].isTensor()) return 0;
  return product_flops(inputs[first].toTensor(), inputs[first + 1].toTensor());
}

double bytes_of(const c10::IValue& value) {
  const auto of_tensor = [](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return 0.0;
    return static_cast<double>(std::min(tensor.nbytes(), tensor.storage().nbytes()));  // expanded: what there is of it
  };
  if (value.isTensor()) return of_tensor(value.toTensor());
  double bytes = 0;
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) bytes += of_tensor(tensor);
  }
  return bytes;
}

/// Whether a call only returns a view or uninitialised memory, so that it moves no bytes.
bool moves_nothing(const at::RecordFunction& call, std::string_view name) {
  if (name.starts_with("aten::empty") || name.starts_with("aten::new_empty") || name.starts_with("aten::detach") ||
      name == "aten::resize_")
    return true;
  const auto schema = call.operator_schema();
  if (!schema) return true;
  const auto& returns = schema->returns();
  return !returns.empty() && returns[0].alias_info() != nullptr && !returns[0].alias_info()->isWrite();
}

/// One call in progress.
struct Call : at::ObserverContext {
  std::optional<OpTimer> timer;
  Call* outer = nullptr;
  bool is_op = false;      ///< a call, not an autograd function
  double bytes = 0;        ///< of its own inputs and outputs
  double inner_bytes = 0;  ///< of the calls that it made
};

thread_local Call* innermost_call = nullptr;

/// Adds the work to the call's scope, unless that declares its own.
void credit(double flops, double bytes) {
  OpTimer* const scope = OpTimer::innermost();
  if (scope != nullptr && scope->kind() == SpanKind::kOp && !scope->declares_work()) scope->add_work(flops, bytes);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  if (profiler() == nullptr || name.starts_with("autograd::engine")) return nullptr;
  auto call = std::make_unique<Call>();
  call->is_op = function.scope() == at::RecordScope::FUNCTION;
  const OpTimer* const scope = OpTimer::innermost();
  if (!call->is_op) {
    call->timer.emplace(backward_name(name));
  } else if (scope == nullptr || scope->kind() != SpanKind::kOp) {
    call->timer.emplace(kept(without_prefix(name, "aten::")));
  }
  if (call->is_op) {
    credit(flops_of(name, function.inputs()), 0);
    for (const c10::IValue& input : function.inputs()) call->bytes += bytes_of(input);
  }
  call->outer = innermost_call;
  innermost_call = call.get();
  return call;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* const call = static_cast<Call*>(context);
  if (call == nullptr) return;
  innermost_call = call->outer;
  if (call->is_op) {
    for (const c10::IValue& output : function.outputs()) call->bytes += bytes_of(output);
    if (moves_nothing(function, function.name())) call->bytes = 0;
    const double bytes = std::max(call->bytes, call->inner_bytes);  // a call may do its work by others
    if (call->outer != nullptr && call->outer->is_op) {
      call->outer->inner_bytes += bytes;
    } else {
      credit(0, bytes);
    }
  }
  call->timer.reset();
}

}  // namespace

OpObserver::OpObserver()
    : handle_(
          at::addThreadLocalCallback(at::RecordFunctionCallback(on_start, on_end)
                                         .needsInputs(true)
                                         .needsOutputs(true)
                                         .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {}

OpObserver::~OpObserver() {
  at::removeCallback(handle_);
}

RunProfile::Step::Step(RunProfile& profile, std::int64_t step)
    : is_profiled_(step >= profile.untimed_steps_ && step < profile.untimed_steps_ + kMaxProfiledSteps) {
  if (!is_profiled_) return;
  set_profiler(&profile.profiler_);
  observer_.emplace();
  timer_.emplace(SpanKind::kStep, "step");
}

RunProfile::Step::~Step() {
  if (!is_profiled_) return;
  timer_.reset();
  observer_.reset();
  set_profiler(nullptr);
}

StepProfile RunProfile::summary() {
  return summarize_spans(profiler_.spans(), profiler_.this_thread());
}

void RunProfile::write(const std::filesystem::path& file, const StepProfile& summary) const {
  const std::string text = chrome_trace(profiler_.spans(), profiler_.threads(), "nanobench-train", summary);
  write_file_atomically(file, text);
}

}  // namespace nanobench::core

#include "engine/train/trace.h"

#include <cmath>

#include "core/base/json.h"
#include "core/data/atomic_write.h"

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

}  // namespace nanobench::core

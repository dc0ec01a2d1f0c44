#include "tools/terminal/run_meter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/text.h"

namespace nanobench::tools {
namespace {

constexpr const char* kResumedAtStep = "resumed_at_step";  // core/protocol/FORMAT.md
constexpr std::size_t kRecentSteps = 20;
constexpr std::size_t kLongestBar = 20;
constexpr std::size_t kShortestBar = 5;

}  // namespace

RunMeter::RunMeter(const core::TrainConfig& config, double now_s)
    : total_steps_(config.run.stop_after),
      tokens_per_step_(static_cast<double>(config.data.tokens_per_step())),
      started_s_(now_s) {}

RunMeter::RunMeter(const core::RunSpec& spec, double now_s) : RunMeter(spec.config, now_s) {
  is_operation_ = spec.operation.has_value();
}

void RunMeter::on_event(const core::RunEvent& event, double now_s) {
  if (const auto* eval = std::get_if<core::EvalEvent>(&event)) {
    val_loss_ = eval->loss;
    return;
  }
  if (const auto* counter = std::get_if<core::CounterEvent>(&event)) {
    ++measured_;
    if (counter->name == kResumedAtStep) first_step_s_.reset();  // the steps so far came all at once
  }
  const auto* step = std::get_if<core::StepEvent>(&event);
  if (step == nullptr) return;
  step_ = step->step + 1;
  loss_ = step->loss;
  if (step->step_ms > 0) step_ms_.push_back(step->step_ms);
  if (step_ms_.size() > kRecentSteps) step_ms_.pop_front();
  if (!first_step_s_) {
    first_step_s_ = now_s;
    first_step_ = step_;
  }
  last_step_s_ = now_s;
}

std::optional<double> RunMeter::tokens_per_s() const {
  const double total_ms = std::accumulate(step_ms_.begin(), step_ms_.end(), 0.0);
  if (!(total_ms > 0)) return std::nullopt;
  return tokens_per_step_ * static_cast<double>(step_ms_.size()) / (total_ms / 1000.0);
}

std::optional<double> RunMeter::remaining_s(double now_s) const {
  if (!first_step_s_ || step_ <= first_step_) return std::nullopt;
  const double pace = (last_step_s_ - *first_step_s_) / static_cast<double>(step_ - first_step_);
  const auto steps_left = static_cast<double>(total_steps_ - step_);
  // A step that takes longer than the others does not shorten the following ones.
  return std::max({pace * steps_left - (now_s - last_step_s_), pace * (steps_left - 1), 0.0});
}

std::string RunMeter::text() const {
  if (is_operation_) return "measuring, " + std::to_string(measured_) + " values so far";
  std::string text = "step " + std::to_string(step_) + "/" + std::to_string(total_steps_);
  if (loss_) text += "  loss " + format_fixed(*loss_, 4);
  if (val_loss_) text += "  val " + format_fixed(*val_loss_, 4);
  if (const std::optional<double> rate = tokens_per_s()) {
    text += "  " + format_count(std::llround(*rate)) + " tok/s";
  }
  return text;
}

std::string with_bar(const std::string& label, double fraction, const std::string& rest, std::size_t width) {
  const std::size_t used = display_width(label) + display_width(rest) + 6 + 1;  // gaps, brackets, end
  const std::size_t places = std::min(kLongestBar, width > used ? width - used : 0);
  if (places < kShortestBar) return label + "  " + rest;
  const auto filled =
      static_cast<std::size_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(places)));
  return label + "  [" + std::string(filled, '#') + std::string(places - filled, '.') + "]  " + rest;
}

}  // namespace nanobench::tools

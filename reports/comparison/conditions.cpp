#include "reports/comparison/conditions.h"

#include <algorithm>
#include <vector>

#include "suites/design/external_suite.h"

namespace nanobench::reports {
namespace {

constexpr const char* kExternal = "external";  // number type of runs whose numbers we do not know

}  // namespace

bool Conditions::apply_to(const results::PlanRecord& plan) const {
  return plan.scale == scale && (trainer.empty() || suites::is_of_trainer(trainer, plan.suite));
}

bool Conditions::hold_for(const results::RunRecord& run) const {
  return run.is_completed() && run.engine_text() == engine && run.hardware == hardware && run.threads == threads &&
         run.dtype == dtype;
}

Conditions conditions_of(const suites::Plan& plan) {
  return {.scale = plan.suite.scale,
          .engine = results::engine_text(plan.engine.name, plan.suite.kernels),
          .hardware = plan.hardware,
          .dtype = plan.suite.external ? kExternal : enum_name(plan.suite.dtype),
          .threads = plan.threads,
          .trainer = plan.suite.external ? plan.suite.name : ""};
}

std::optional<Conditions> conditions_of(const results::Store& store, const results::PlanRecord& plan) {
  for (const results::PlanLine& line : plan.lines) {
    if (!line.run_id) continue;
    const results::RunRecord run = store.run(*line.run_id);
    return Conditions{.scale = plan.scale,
                      .engine = run.engine_text(),
                      .hardware = run.hardware,
                      .dtype = run.dtype,
                      .threads = run.threads,
                      .trainer = run.dtype == kExternal ? plan.suite : ""};
  }
  return std::nullopt;
}

std::optional<results::PlanRecord> newest_calibration(const results::Store& store, const Conditions& conditions) {
  std::vector<results::PlanRecord> plans = store.plans();
  std::stable_sort(plans.begin(), plans.end(),
                   [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
  for (results::PlanRecord& plan : plans) {
    if (plan.design != results::Design::kAA || !conditions.apply_to(plan) || plan.lines.empty()) continue;
    const bool is_complete = std::all_of(plan.lines.begin(), plan.lines.end(), [&](const results::PlanLine& line) {
      return line.run_id && conditions.hold_for(store.run(*line.run_id));
    });
    if (is_complete) return std::move(plan);
  }
  return std::nullopt;
}

}  // namespace nanobench::reports

/// `nanobench plan`: what a suite will cost and what it can show.
#pragma once

#include "reports/document/document.h"
#include "reports/forecast/forecast.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

Document plan_report(const suites::Plan& plan, const Forecast& forecast);

}  // namespace nanobench::reports

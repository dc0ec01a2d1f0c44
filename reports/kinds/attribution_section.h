/// "Who earned the gain": the shares of a plan's changes in the whole change of the loss. Pure.
#pragma once

#include "reports/document/document.h"
#include "reports/effects/attribution.h"

namespace nanobench::reports {

Section attribution_section(const LossAttribution& attribution);

}  // namespace nanobench::reports

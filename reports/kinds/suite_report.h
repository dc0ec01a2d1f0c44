/// A suite before it runs: its cells, which contrast will estimate which effect, what was left out. Pure.
#pragma once

#include "ablations/catalogue.h"
#include "reports/document/document.h"
#include "suites/design/plan.h"

namespace nanobench::reports {

Document suite_report(const suites::Suite& suite, const suites::Matrix& matrix);

/// Throws Error as make_matrix.
Document suite_report(const suites::Suite& suite, const ablations::Catalogue& catalogue);

}  // namespace nanobench::reports

/// Pages about claims: what the analyses of the records say, and what would decide it. Nothing here is measured. Pure.
#pragma once

#include <string>

#include "ablations/catalogue.h"
#include "reports/document/document.h"

namespace nanobench::reports {

Document claims_report(const ablations::Catalogue& catalogue);

/// One claim whole: statement, place, measure, rule, what the published sources say.
Document claim_report(const ablations::Catalogue& catalogue, const std::string& id);

}  // namespace nanobench::reports

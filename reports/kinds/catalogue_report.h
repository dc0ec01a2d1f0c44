/// Pages about the catalogue: lists, and one feature, record or scale. Pure.
#pragma once

#include <optional>
#include <string>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "reports/document/document.h"

namespace nanobench::reports {

Document features_report(const ablations::Catalogue& catalogue);
Document records_report(const ablations::Catalogue& catalogue);
Document scales_report(const ablations::Catalogue& catalogue);

/// One feature: its values as patches, relations, and each record's value.
Document feature_report(const ablations::Catalogue& catalogue, const std::string& id);

/// One record: changes, published figures, the values of all features with the request's settings, and its size at the
/// request's scale. Throws as resolve() does.
Document record_report(const ablations::Catalogue& catalogue, const ablations::ResolveRequest& request);

Document scale_report(const ablations::Catalogue& catalogue, const std::string& id);

}  // namespace nanobench::reports

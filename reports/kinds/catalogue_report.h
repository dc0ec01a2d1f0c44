/// Pages about the catalogue: lists, and one feature, record or scale. Pure.
#pragma once

#include <optional>
#include <string>

#include "ablations/catalogue.h"
#include "reports/document.h"

namespace nanobench::reports {

Document features_report(const ablations::Catalogue& catalogue);
Document records_report(const ablations::Catalogue& catalogue);
Document scales_report(const ablations::Catalogue& catalogue);

/// One feature: its values as patches, relations, and each record's value.
Document feature_report(const ablations::Catalogue& catalogue, const std::string& id);

/// One record: changes, published figures, the values of all features, and its size at a scale.
Document record_report(const ablations::Catalogue& catalogue, const std::string& id, const std::string& scale);

Document scale_report(const ablations::Catalogue& catalogue, const std::string& id);

}  // namespace nanobench::reports

#include "ablations/claim_check.h"

#include <algorithm>

#include "core/base/error.h"

namespace nanobench::ablations {
namespace {

using core::Error;
using core::ErrorCode;

/// Runs `look_up`; what it throws is said to be at this place of the claim's file.
template <class LookUp>
void look_up_at(const Claim& claim, const std::string& pointer, LookUp look_up) {
  try {
    look_up();
  } catch (const Error& error) {
    rethrow_internal(error);
    throw Error(ErrorCode::kInvalidArgument, core::json_location(claim.source, pointer) + ": " + error.what());
  }
}

void check_arm(const Catalogue& catalogue, const Claim& claim, const MeasureArm& arm, const std::string& pointer) {
  if (claim.measure.kind == MeasureKind::kBenchmark) return;
  look_up_at(claim, pointer + "/record", [&] { catalogue.record(arm.record); });
  for (const auto& [id, value] : arm.features) {
    look_up_at(claim, pointer + "/features/" + id, [&] { catalogue.feature(id).value(value); });
  }
}

}  // namespace

void check_claim(const Catalogue& catalogue, const Claim& claim) {
  const auto records = catalogue.records();
  if (std::none_of(records.begin(), records.end(), [&](const Record* r) { return r->number == claim.record; })) {
    throw Error(ErrorCode::kInvalidArgument, core::json_location(claim.source, "/record") +
                                                 ": there is no record number " + std::to_string(claim.record) +
                                                 "; `nanobench list records` shows all");
  }
  for (std::size_t i = 0; i < claim.features.size(); ++i) {
    look_up_at(claim, "/features/" + std::to_string(i), [&] { catalogue.feature(claim.features[i]); });
  }
  if (claim.measure.before) check_arm(catalogue, claim, *claim.measure.before, "/measure/before");
  if (claim.measure.after) check_arm(catalogue, claim, *claim.measure.after, "/measure/after");
}

}  // namespace nanobench::ablations

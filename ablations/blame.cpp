#include "ablations/blame.h"

#include <algorithm>

#include "ablations/patch.h"

namespace nanobench::ablations {
namespace {

using core::Json;

bool touches_any(const Json& patch, const std::vector<std::string>& pointers) {
  return std::any_of(pointers.begin(), pointers.end(),
                     [&](const std::string& pointer) { return touches(patch, pointer); });
}

/// Settings that were asked for, pulled in, or held by the scale.
std::vector<std::string> guilty_settings(const Catalogue& catalogue, const ResolveRequest& request,
                                         const Settled& settled, const std::vector<std::string>& pointers) {
  std::vector<std::string> guilty;
  for (const auto& [id, value] : settled.settings) {
    if (!touches_any(catalogue.feature(id).value(value).patch, pointers)) continue;
    const auto pulled = settled.pulled_by.find(id);
    guilty.push_back(assignment(id, value) +
                     (pulled == settled.pulled_by.end() ? "" : " (for " + pulled->second + ")"));
  }
  for (const auto& [id, value] : settled.held) {
    const Json& patch = catalogue.feature(id).value(value).patch;
    if (touches_any(patch, pointers) && !leaves_unchanged(settled.record, patch)) {
      guilty.push_back(assignment(id, value) + " (which scale " + request.scale + " holds)");
    }
  }
  return guilty;
}

std::vector<std::string> guilty_participants(const ResolveRequest& request, const std::vector<std::string>& pointers) {
  static const Json ranks = {{"data", {{"ranks", 1}}}};
  static const Json processes = {{"distributed", {{"processes", 1}}}};
  std::vector<std::string> guilty;
  if (request.processes && (touches_any(processes, pointers) || (!request.ranks && touches_any(ranks, pointers)))) {
    guilty.push_back(std::to_string(*request.processes) + " processes");
  }
  if (request.ranks && touches_any(ranks, pointers)) guilty.push_back(std::to_string(*request.ranks) + " ranks");
  return guilty;
}

/// What the record itself has there.
std::vector<std::string> record_values(const Catalogue& catalogue, const Settled& settled,
                                       const std::vector<std::string>& pointers) {
  std::vector<std::string> values;
  for (const Feature* feature : catalogue.features()) {
    const std::optional<std::string> value = value_at(settled.record, *feature);
    if (value && touches_any(feature->value(*value).patch, pointers)) values.push_back(assignment(feature->id, *value));
  }
  return values;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

}  // namespace

core::Error blamed(const core::LocatedError& error, const Catalogue& catalogue, const ResolveRequest& request,
                   const Settled& settled) {
  const std::vector<std::string>& pointers = error.pointers();
  std::vector<std::string> guilty = guilty_settings(catalogue, request, settled, pointers);
  if (touches_any(request.patch, pointers)) guilty.push_back(request.patch_source);
  for (const std::string& participant : guilty_participants(request, pointers)) guilty.push_back(participant);
  std::string message = error.what();
  if (!guilty.empty()) message += "; asked for by " + joined(guilty);
  const std::vector<std::string> own = record_values(catalogue, settled, pointers);
  if (guilty.empty() && !own.empty()) message += "; " + request.record + " itself has " + joined(own);
  return {error.code(), message};
}

}  // namespace nanobench::ablations

#include "reports/kinds/transfer_remarks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "reports/comparison/remark_text.h"

namespace nanobench::reports {
namespace {

constexpr std::size_t kChangesNamed = 8;

void add_one_scale_note(const Transfer& transfer, std::vector<TransferRemark>& notes) {
  TransferRemark remark{.kind = TransferRemark::Kind::kOneScale};
  for (const TransferChange& change : transfer.changes) {
    const bool is_published = change.published && change.published->counts();
    if (change.measured.size() == 1 && !is_published) remark.names.push_back(change.name);
  }
  if (!remark.names.empty() && !transfer.pairs.empty()) notes.push_back(std::move(remark));
}

/// Changes of the same setting and values whose bases differ, so that they are not compared.
void add_base_note(const Transfer& transfer, std::vector<TransferRemark>& notes) {
  using Values = std::tuple<std::string, std::string, std::string>;
  std::map<Values, std::vector<const TransferChange*>> by_values;
  for (const TransferChange& change : transfer.changes) {
    if (!change.key.is_record_step())
      by_values[{change.key.setting, change.key.from, change.key.to}].push_back(&change);
  }
  TransferRemark remark{.kind = TransferRemark::Kind::kOtherBases};
  int group = 0;
  for (const auto& [values, changes] : by_values) {
    std::set<std::string> scales;
    std::vector<TransferPlace> places;
    bool is_shared = false;
    for (const TransferChange* change : changes) {
      is_shared = is_shared || change->measured.size() > 1;
      TransferPlace& place = places.emplace_back();
      place.change = std::get<0>(values);
      place.group = group;
      place.base = change->key.base_text();
      for (const auto& [scale, measured] : change->measured) place.scales.push_back(scale);
      scales.insert(place.scales.begin(), place.scales.end());
    }
    if (is_shared || changes.size() < 2 || scales.size() < 2) continue;
    remark.places.insert(remark.places.end(), places.begin(), places.end());
    ++group;
  }
  if (!remark.places.empty()) notes.push_back(std::move(remark));
}

void add_equal_note(const Transfer& transfer, std::vector<TransferRemark>& notes) {
  int equal = 0;
  for (const ScalePair& pair : transfer.pairs) equal = std::max(equal, pair.equal);
  if (equal > 0) notes.push_back({.kind = TransferRemark::Kind::kEqualLosses, .count = equal});
}

/// Other data are another problem, however alike the scales are.
void add_data_note(const Transfer& transfer, std::vector<TransferRemark>& notes) {
  std::set<std::string> data;
  TransferRemark remark{.kind = TransferRemark::Kind::kOtherData};
  for (const std::string& scale : transfer.scales) {
    std::set<std::string> own;
    for (const TransferChange& change : transfer.changes) {
      const auto found = change.measured.find(scale);
      if (found != change.measured.end() && change.measured.size() > 1) own.insert(found->second.data_name);
    }
    if (own.empty()) continue;
    data.insert(own.begin(), own.end());
    remark.places.push_back({.scales = {scale}, .data = {own.begin(), own.end()}});
  }
  if (data.size() > 1) notes.push_back(std::move(remark));
}

/// Changes whose times cannot be compared, and scales whose losses cannot be converted to time.
void add_time_notes(const Transfer& transfer, std::vector<TransferRemark>& notes) {
  TransferRemark other_code{.kind = TransferRemark::Kind::kOtherCode};
  TransferRemark unconverted{.kind = TransferRemark::Kind::kUnconverted};
  for (const std::string& scale : transfer.scales) {
    TransferPlace place{.scales = {scale}};
    for (const TransferChange& change : transfer.changes) {
      const auto found = change.measured.find(scale);
      if (found == change.measured.end()) continue;
      if (!found->second.effect.other_code.empty()) {
        other_code.places.push_back({.change = change.name, .scales = {scale}});
      } else if (!change.value_at(scale, Question::kEqualLoss)) {
        place.count += 1;
      }
    }
    if (place.count > 0) unconverted.places.push_back(std::move(place));
  }
  for (const TransferRemark& remark : {other_code, unconverted}) {
    if (!remark.places.empty()) notes.push_back(remark);
  }
}

/// "rotary (record17 at smoke; record41 at nano)", one for each change.
std::vector<std::string> base_texts(const std::vector<TransferPlace>& places) {
  std::vector<std::string> texts;
  for (auto first = places.begin(); first != places.end();) {
    const auto last =
        std::find_if(first, places.end(), [&](const TransferPlace& place) { return place.group != first->group; });
    std::vector<std::string> bases;
    for (auto place = first; place != last; ++place) bases.push_back(place->base + " at " + listed(place->scales));
    texts.push_back(first->change + " (" + joined(bases, "; ") + ")");
    first = last;
  }
  return texts;
}

std::vector<std::string> place_texts(const TransferRemark& remark) {
  std::vector<std::string> texts;
  for (const TransferPlace& place : remark.places) {
    const std::string& scale = place.scales.front();
    switch (remark.kind) {
      case TransferRemark::Kind::kOtherData: texts.push_back(scale + " on " + listed(place.data)); break;
      case TransferRemark::Kind::kOtherCode: texts.push_back(place.change + " at " + scale); break;
      default: texts.push_back(std::to_string(place.count) + " at " + scale);
    }
  }
  return texts;
}

}  // namespace

std::vector<TransferRemark> transfer_notes(const Transfer& transfer) {
  std::vector<TransferRemark> notes;
  add_one_scale_note(transfer, notes);
  add_base_note(transfer, notes);
  add_equal_note(transfer, notes);
  add_data_note(transfer, notes);
  add_time_notes(transfer, notes);
  return notes;
}

std::string text_of(const TransferRemark& remark) {
  switch (remark.kind) {
    case TransferRemark::Kind::kRowsLeftOut:
      return counted(remark.count, "row") +
             " of changes whose signs are not opposite left out; every other format shows them.";
    case TransferRemark::Kind::kPublishedLeftOut:
      return counted(remark.count, "change has", "changes have") +
             " a published time that does not count; every other format shows them with the reason.";
    case TransferRemark::Kind::kOneScale:
      return counted(static_cast<std::int64_t>(remark.names.size()), "change was", "changes were") +
             " measured at one scale only: " + listed_first(remark.names, kChangesNamed) + ".";
    case TransferRemark::Kind::kOtherBases:
      return "Not compared, because their bases differ: " + listed_first(base_texts(remark.places), kChangesNamed) +
             ".";
    case TransferRemark::Kind::kEqualLosses:
      return counted(remark.count, "change") +
             " of code alone, whose losses are equal to the bit at both scales, say nothing about the loss and are "
             "left "
             "out there.";
    case TransferRemark::Kind::kOtherData:
      return "The scales were measured on different data (" + joined(place_texts(remark), "; ") +
             "), so what differs between them is not the scale alone.";
    case TransferRemark::Kind::kOtherCode:
      return "Times of different code are left out (" + listed_first(place_texts(remark), kChangesNamed) +
             "): " + kSameCodeRemedy + ".";
    case TransferRemark::Kind::kUnconverted: break;
  }
  return "Changes without a time at equal loss: " + joined(place_texts(remark)) +
         ". The end of their loss curves is too flat or too noisy to convert loss into time, or their runs give no "
         "error.";
}

}  // namespace nanobench::reports

#include "reports/kinds/claim_report.h"

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using ablations::Catalogue;
using ablations::Claim;
using ablations::ClaimMeasure;
using ablations::ClaimQuantity;
using ablations::MeasureArm;
using ablations::MeasureKind;
using core::OrderedJson;

/// Text for people beside a member of the claim's file for machines.
TableCell member_cell(const std::string& text, const core::Json& member) {
  return {.text = text, .detail = "", .value = OrderedJson::parse(member.dump())};
}

std::string number_text(double value) {
  const OrderedJson json(value);
  return value == static_cast<double>(static_cast<std::int64_t>(value))
             ? std::to_string(static_cast<std::int64_t>(value))
             : json.dump();
}

std::string quantity_text(const ClaimQuantity& quantity) {
  std::string text = number_text(quantity.first);
  if (quantity.change == ClaimQuantity::Change::kFromTo) text += " to " + number_text(quantity.second);
  text += " " + quantity.unit;
  const bool has_direction =
      quantity.change == ClaimQuantity::Change::kDecrease || quantity.change == ClaimQuantity::Change::kIncrease;
  return has_direction ? text + " (" + to_string(quantity.change) + ")" : text;
}

/// "record16 with gradient_buckets = copies", "T 8192, H 6, /attention ..."
std::string arm_text(const MeasureArm& arm) {
  std::string text = arm.record;
  std::string link = " with ";
  for (const auto& [feature, value] : arm.features) {
    text += link + feature + " = " + value;
    link = ", ";
  }
  for (const auto& [size, value] : arm.shapes) text += (text.empty() ? "" : ", ") + size + " " + std::to_string(value);
  if (!arm.patch.empty()) text += " with " + arm.patch.dump();
  return text;
}

/// "cells: step_ms"
std::string measured_by(const Claim& claim) {
  const std::string kind = to_string(claim.measure.kind);
  return claim.rule ? kind + ": " + claim.rule->metric : kind;
}

std::string metric_text(const Claim& claim) {
  const ablations::ClaimMetric* metric = ablations::find_claim_metric(claim.measure.kind, claim.rule->metric);
  return claim.rule->metric + " (" + metric->unit + "): " + metric->text;
}

class Facts {
 public:
  explicit Facts(Section& section) : section_(section) {}
  void add(const char* key, const char* title, TableCell cell) {
    section_.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  }
  void add_text(const char* key, const char* title, const std::string& text) {
    if (!text.empty()) add(key, title, text_cell(text));
  }

 private:
  Section& section_;
};

void add_measure(Facts& facts, const Claim& claim) {
  const ClaimMeasure& measure = claim.measure;
  facts.add("measure", "measured by", member_cell(to_string(measure.kind), claim.json.at("measure")));
  facts.add_text("why", "why not", measure.why);
  facts.add_text("op", "operation", measure.op);
  facts.add_text("pointer", "setting", measure.pointer);
  if (measure.equals) facts.add("equals", "equals", member_cell(measure.equals->dump(), *measure.equals));
  if (measure.before) facts.add_text("arm_before", "before", arm_text(*measure.before));
  if (measure.after) facts.add_text("arm_after", "after", arm_text(*measure.after));
  if (!claim.rule) return;
  facts.add_text("metric", "metric", metric_text(claim));
  facts.add("rule", "supported when", member_cell(describe(*claim.rule), claim.json.at("rule")));
  facts.add_text("rule_text", "because", claim.rule->text);
  if (claim.rule->claimed) {
    facts.add("claimed", "the claim's number there",
              {.text = number_text(*claim.rule->claimed), .detail = "", .value = *claim.rule->claimed});
  }
}

void add_published(Facts& facts, const ablations::PublishedEvidence& published) {
  facts.add_text("published_verdict", "published sources", to_string(published.verdict));
  facts.add_text("published_text", "what they say", published.text);
  if (published.value) {
    facts.add("published_value", "their number there",
              {.text = number_text(*published.value), .detail = "", .value = *published.value});
  }
  facts.add_text("published_source", "to be found in", published.source);
}

}  // namespace

Document claims_report(const Catalogue& catalogue) {
  Document document{.kind = "claims", .title = "Claims: what five analyses say of the records, to be tested"};
  Table table{.id = "claims",
              .columns = {{.key = "claim", .title = "claim"},
                          {.key = "seed", .title = "seed", .priority = 1},
                          {.key = "record", .title = "record", .is_number = true},
                          {.key = "statement", .title = "what is claimed", .wraps = true},
                          {.key = "measured_by", .title = "measured by", .priority = 1},
                          {.key = "published", .title = "published sources"}}};
  for (const Claim* claim : catalogue.claims()) {
    table.rows.push_back({text_cell(claim->id), text_cell(claim->seed), count_cell(claim->record),
                          text_cell(claim->statement), text_cell(measured_by(*claim)),
                          text_cell(to_string(claim->published.verdict))});
  }
  document.notes.push_back(format_count(static_cast<std::int64_t>(table.rows.size())) +
                           " claims; statements are the analyses', not ours, and the last column is what the published "
                           "scripts and logs say of them.");
  document.notes.push_back("`nanobench show CLAIM` prints one of them.");
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

Document claim_report(const Catalogue& catalogue, const std::string& id) {
  const Claim& claim = catalogue.claim(id);
  Document document{.kind = "claim", .title = claim.id};
  Section& head = document.sections.emplace_back();
  Facts facts(head);
  facts.add_text("claim", "claim", claim.id);
  facts.add_text("statement", "what is claimed", claim.statement);
  if (claim.quantity) {
    facts.add("quantity", "number", member_cell(quantity_text(*claim.quantity), claim.json.at("quantity")));
  }
  facts.add_text("seed", "seed", claim.seed);
  facts.add_text("place", "place in it", claim.place);
  facts.add("record", "of record", count_cell(claim.record));
  std::string features;
  for (const std::string& feature : claim.features) features += (features.empty() ? "" : ", ") + feature;
  if (!features.empty()) facts.add("features", "features", member_cell(features, claim.json.at("features")));
  add_measure(facts, claim);
  add_published(facts, claim.published);
  facts.add_text("source", "file", claim.source);
  return document;
}

}  // namespace nanobench::reports

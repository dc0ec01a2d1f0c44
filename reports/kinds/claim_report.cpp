#include <algorithm>
#include <cmath>
#include <map>

#include "ablations/catalogue.h"
#include "core/base/text.h"
#include "reports/claims/ledger.h"
#include "reports/claims/ledger_text.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

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
  return value_cell(text, OrderedJson(member));
}

/// Formatted as in the claim's file: 3, 0.05.
std::string plain_text(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return value == static_cast<double>(whole) ? std::to_string(whole) : OrderedJson(value).dump();
}

TableCell plain_cell(double value) {
  return value_cell(plain_text(value), value);
}

std::string claimed_text(const ClaimQuantity& quantity) {
  std::string text = plain_text(quantity.first);
  if (quantity.change == ClaimQuantity::Change::kFromTo) text += " to " + plain_text(quantity.second);
  text += " " + quantity.unit;
  const bool has_direction =
      quantity.change == ClaimQuantity::Change::kDecrease || quantity.change == ClaimQuantity::Change::kIncrease;
  return has_direction ? text + " (" + enum_name(quantity.change) + ")" : text;
}

/// "record16 with gradient_buckets = copies", "T 8192, H 6, /attention ..."
std::string arm_text(const MeasureArm& arm) {
  std::string text = arm.record;
  std::string link = " with ";
  for (const auto& [feature, value] : arm.features) {
    text += link + feature + " = " + value;
    link = ", ";
  }
  if (arm.kernels) text += " by " + enum_name(*arm.kernels) + " kernels";
  for (const auto& [size, value] : arm.shapes) text += (text.empty() ? "" : ", ") + size + " " + std::to_string(value);
  if (!arm.patch.empty()) text += " with " + arm.patch.dump();
  return text;
}

/// "cells: step_ms"
std::string measured_by(const Claim& claim) {
  const std::string kind = enum_name(claim.measure.kind);
  return claim.rule ? kind + ": " + claim.rule->metric : kind;
}

std::string metric_text(const Claim& claim) {
  const ablations::ClaimMetric* metric = ablations::find_claim_metric(claim.measure.kind, claim.rule->metric);
  return claim.rule->metric + " (" + metric->unit + "): " + metric->text;
}

void add_measure(FactList& facts, const Claim& claim) {
  const ClaimMeasure& measure = claim.measure;
  facts.add("measure", "measured by", member_cell(enum_name(measure.kind), claim.json.at("measure")));
  facts.add_if("why", "why not", measure.why);
  facts.add_if("op", "operation", measure.op);
  facts.add_if("pointer", "setting", measure.pointer);
  if (measure.equals) facts.add("equals", "equals", member_cell(measure.equals->dump(), *measure.equals));
  if (measure.before) facts.add_if("arm_before", "before", arm_text(*measure.before));
  if (measure.after) facts.add_if("arm_after", "after", arm_text(*measure.after));
  if (measure.whole) facts.add_if("arm_whole", "before the whole change", arm_text(*measure.whole));
  if (!claim.rule) return;
  facts.add_if("metric", "metric", metric_text(claim));
  facts.add("rule", "supported when", member_cell(describe(*claim.rule), claim.json.at("rule")));
  facts.add_if("rule_text", "because", claim.rule->text);
  if (claim.rule->claimed) {
    facts.add("claimed", "the claim's number there", plain_cell(*claim.rule->claimed));
  }
}

void add_published(FactList& facts, const ablations::PublishedEvidence& published) {
  facts.add_if("published_verdict", "published sources", enum_name(published.verdict));
  facts.add_if("published_text", "their answer", published.text);
  if (published.value) {
    facts.add("published_value", "their number there", plain_cell(*published.value));
  }
  facts.add_if("published_source", "found in", published.source);
}

}  // namespace

Document claims_report(const Catalogue& catalogue) {
  Document document{.kind = "claims", .title = "Claims of five analyses about the records, to be tested"};
  Table table{.id = "claims",
              .columns = {text_column("claim", "claim"), text_column("analysis", "analysis", 1),
                          number_column("record", "record"), wide_column("statement", "what is claimed"),
                          text_column("measured_by", "measured by", 1), text_column("published", "published sources")}};
  for (const Claim* claim : catalogue.claims()) {
    table.rows.push_back({text_cell(claim->id), text_cell(claim->analysis), count_cell(claim->record),
                          text_cell(claim->statement), text_cell(measured_by(*claim)),
                          text_cell(enum_name(claim->published.verdict))});
  }
  document.notes.push_back(format_count(static_cast<std::int64_t>(table.rows.size())) +
                           " claims. The statements are those of the analyses, not ours. The last column is the answer "
                           "of the published scripts and logs.");
  document.next = {{.command = "claims", .gain = "the verdicts that need no run, and those of stored runs"}};
  if (!catalogue.claims().empty())
    document.next.push_back({.command = "show " + catalogue.claims().front()->id, .gain = "one of them, and its rule"});
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

Document claim_report(const Catalogue& catalogue, const std::string& id) {
  const Claim& claim = catalogue.claim(id);
  Document document{.kind = "claim", .title = claim.id};
  FactList facts;
  facts.add_if("claim", "claim", claim.id);
  facts.add_if("statement", "what is claimed", claim.statement);
  if (claim.quantity) {
    facts.add("quantity", "number", member_cell(claimed_text(*claim.quantity), claim.json.at("quantity")));
  }
  facts.add_if("analysis", "analysis", claim.analysis);
  facts.add_if("place", "place in it", claim.place);
  facts.add("record", "of record", count_cell(claim.record));
  if (!claim.features.empty())
    facts.add("features", "features", member_cell(joined(claim.features), claim.json.at("features")));
  add_measure(facts, claim);
  add_published(facts, claim.published);
  facts.add_if("source", "file", claim.source);
  document.sections.emplace_back().facts = std::move(facts.facts);
  document.next = {{.command = "claims " + id, .gain = "its verdict from what is stored"}};
  if (ablations::needs_runs(claim))
    document.next.push_back(
        {.command = "claims " + id + " --measure", .gain = "the same after the runs that it lacks"});
  return document;
}

namespace {

using ablations::RuleForm;
constexpr int kDigits = 3;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

bool is_ratio(const Claim& claim) {
  return claim.rule &&
         (claim.rule->form == RuleForm::kAfterOverBefore || claim.rule->form == RuleForm::kBeforeOverAfter);
}

std::string unit_of(const Claim& claim) {
  if (!claim.rule || is_ratio(claim)) return "";
  const ablations::ClaimMetric* metric = ablations::find_claim_metric(claim.measure.kind, claim.rule->metric);
  return metric == nullptr || std::string(metric->unit) == "1" ? "" : metric->unit;
}

/// "0.857x", "+0.0021 nats/token", "1.1 GiB", "3"
std::string number_text(const Claim& claim, double value) {
  if (is_ratio(claim)) return format_significant(value, kDigits) + "x";
  const std::string unit = unit_of(claim);
  if (unit == "bytes" && std::abs(value) >= kGiB / 1024) return format_bytes(value);
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  std::string text = is_whole ? format_count(static_cast<std::int64_t>(value)) : format_significant(value, kDigits + 1);
  if (claim.rule->form == RuleForm::kAfterMinusBefore && value > 0) text = "+" + text;
  return unit.empty() ? text : text + " " + unit;
}

std::string interval_text(const Claim& claim, const ConfidenceInterval& interval) {
  return number_text(claim, interval.low) + " to " + number_text(claim, interval.high);
}

TableCell claim_number_cell(const Claim& claim, const std::optional<double>& value) {
  if (!value) return missing_cell();
  return value_cell(number_text(claim, *value), *value);
}

TableCell measured_cell(const LedgerEntry& entry) {
  const MeasuredNumber& number = entry.measured;
  if (!number.value) return missing_cell();
  TableCell cell = value_cell(number_text(*entry.claim, *number.value), {{"value", *number.value}});
  if (number.interval) {
    cell.detail = interval_text(*entry.claim, *number.interval);
    add_bounds(cell.value, number.interval);
  }
  cell.value["is_exact"] = number.is_exact;
  cell.value["n"] = number.n;
  return cell;
}

/// What the rule measures: "step_ms after/before".
std::string quantity_text(const Claim& claim) {
  return claim.rule ? claim.rule->metric + " " + enum_name(claim.rule->form) : "-";
}

std::string side_text(const SideNumber& side) {
  std::string text = side.what + " ";
  if (!side.number.value) return text + "-";
  text += format_significant(*side.number.value, kDigits);
  if (side.number.interval) {
    text += " (" + format_significant(side.number.interval->low, kDigits) + " to " +
            format_significant(side.number.interval->high, kDigits) + ")";
  }
  return text;
}

/// Why there is no verdict, and what else was measured.
TableCell remark_cell(const LedgerEntry& entry) {
  std::vector<std::string> texts;
  const std::string why = entry.reason ? text_of(*entry.reason) : "";
  if (!why.empty()) texts.push_back(why);
  if (entry.first_record) texts.push_back("first so in #" + std::to_string(*entry.first_record));
  OrderedJson also = OrderedJson::array();
  for (const SideNumber& side : entry.also) {
    texts.push_back(side_text(side));
    OrderedJson& number = also.emplace_back(OrderedJson{{"what", side.what}, {"value", json_of(side.number.value)}});
    if (side.number.interval) add_bounds(number, side.number.interval);
  }
  const OrderedJson reason = why.empty() ? OrderedJson() : OrderedJson(why);
  const OrderedJson first = entry.first_record ? OrderedJson(*entry.first_record) : OrderedJson();
  return value_cell(joined(texts, "; "), {{"reason", reason}, {"first_record", first}, {"also", std::move(also)}});
}

TableCell published_cell(const LedgerEntry& entry) {
  const ablations::PublishedEvidence& published = entry.claim->published;
  TableCell cell = value_cell(enum_name(published.verdict), OrderedJson::object());
  if (entry.published && entry.claim->rule) {
    cell.detail = number_text(*entry.claim, *entry.published);
    cell.value["value"] = *entry.published;
  }
  cell.value["verdict"] = enum_name(published.verdict);
  return cell;
}

Table ledger_table() {
  return {.id = "claims",
          .title = "",
          .columns = {wide_column("statement", "what is claimed"), text_column("verdict", "verdict"),
                      number_column("claimed", "claimed", 1), number_column("measured", "found"),
                      text_column("published", "published", 1), wide_column("remark", "why, and what else", 2),
                      text_column("scale", "at", 2), text_column("quantity", "number", 5), text_column("by", "from", 3),
                      text_column("evidence", "evidence"), text_column("analysis", "analysis", 3),
                      text_column("claim", "claim", 4)},
          .rows = {}};
}

std::vector<TableCell> row_of(const LedgerEntry& entry) {
  const Claim& claim = *entry.claim;
  const std::string basis = text_of(entry.basis);
  return {text_cell(claim.statement),
          text_cell(enum_name(entry.verdict)),
          claim_number_cell(claim, entry.claimed),
          measured_cell(entry),
          published_cell(entry),
          remark_cell(entry),
          text_cell(entry.scale.empty() ? "-" : entry.scale),
          text_cell(quantity_text(claim)),
          text_cell(basis.empty() ? "-" : basis),
          entry.measured.value ? text_cell(enum_name(entry.evidence)) : missing_cell(),
          text_cell(claim.analysis),
          text_cell(claim.id)};
}

Table claims_table(const std::vector<LedgerEntry>& entries) {
  Table table = ledger_table();
  for (const LedgerEntry& entry : entries) table.rows.push_back(row_of(entry));
  return table;
}

Table verdict_table(const std::vector<LedgerEntry>& entries) {
  std::map<std::string, std::map<LedgerVerdict, int>> counts;
  for (const LedgerEntry& entry : entries) ++counts[entry.claim->analysis][entry.verdict];
  Table table{.id = "verdicts", .title = "Verdicts by analysis", .columns = {}, .rows = {}};
  table.columns.push_back(text_column("analysis", "analysis"));
  for (const LedgerVerdict verdict : kLedgerVerdicts)
    table.columns.push_back(number_column(word_of(verdict), enum_name(verdict)));
  for (auto& [analysis, of] : counts) {
    std::vector<TableCell> row = {text_cell(analysis)};
    for (const LedgerVerdict verdict : kLedgerVerdicts) row.push_back(count_cell(of[verdict]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "9 are supported, 4 contradicted and 3 inconclusive"
std::string verdicts_text(std::map<LedgerVerdict, int>& counts) {
  std::vector<std::string> parts;
  for (const LedgerVerdict verdict :
       {LedgerVerdict::kSupported, LedgerVerdict::kContradicted, LedgerVerdict::kInconclusive}) {
    if (counts[verdict] == 0) continue;
    parts.push_back(parts.empty() ? counted(counts[verdict], "is", "are") + " " + enum_name(verdict)
                                  : std::to_string(counts[verdict]) + " " + enum_name(verdict));
  }
  return listed(parts);
}

const char* place_of(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::kMeasured: return "Measured here";
    case EvidenceKind::kCounted: return "Counted here";
    case EvidenceKind::kRead: break;
  }
  return "Read from configurations and published figures";
}

}  // namespace

std::string ledger_headline(const std::vector<LedgerEntry>& entries) {
  if (entries.empty()) return "No such claim exists.";
  std::map<EvidenceKind, std::map<LedgerVerdict, int>> judged;
  int unmeasured = 0, unmeasurable = 0;
  for (const LedgerEntry& entry : entries) {
    if (entry.verdict == LedgerVerdict::kNotMeasured) {
      ++unmeasured;
    } else if (entry.verdict == LedgerVerdict::kNotMeasurable) {
      ++unmeasurable;
    } else {
      ++judged[entry.evidence][entry.verdict];
    }
  }
  std::vector<std::string> sentences = {counted(static_cast<std::int64_t>(entries.size()), "claim") + "."};
  for (const EvidenceKind kind : kEvidenceKinds) {
    if (judged.contains(kind)) sentences.push_back(place_of(kind) + (": " + verdicts_text(judged[kind])) + ".");
  }
  if (unmeasurable > 0) sentences.push_back(std::to_string(unmeasurable) + " cannot be measured here.");
  if (unmeasured > 0)
    sentences.push_back(counted(unmeasured, "has", "have") +
                        " not been measured; `nanobench claims --measure` runs what is missing.");
  return joined(sentences, " ");
}

void add_ledger_section(Document& document, const std::vector<LedgerEntry>& entries, const std::string& scale) {
  Section section;
  section.title = "Claims about these records";
  section.paragraphs.push_back(ledger_headline(entries));
  section.paragraphs.push_back("Training runs for claims are at scale " + scale +
                               "; `nanobench claims --measure` adds those that are missing.");
  section.tables.push_back(claims_table(entries));
  const auto last = document.sections.empty() ? document.sections.end() : document.sections.end() - 1;
  document.sections.insert(last, std::move(section));
}

void add_ledger_link(Document& document, const std::vector<LedgerEntry>& entries, const std::string& file) {
  Section section{.title = "Claims about these records", .paragraphs = {ledger_headline(entries)}};
  section.links.push_back({.title = "The claims, one by one", .target = file});
  const auto place = std::find_if(document.sections.begin(), document.sections.end(),
                                  [](const Section& other) { return other.is_background; });
  document.sections.insert(place, std::move(section));
}

Document ledger_report(const std::vector<LedgerEntry>& entries, const std::string& scale, const std::string& price) {
  Document document{.kind = "claims_ledger", .title = "Claims, settled by measurement"};
  document.headline = ledger_headline(entries);
  Section& head = document.sections.emplace_back();
  head.tables.push_back(claims_table(entries));
  if (entries.size() > 1) document.sections.emplace_back().tables.push_back(verdict_table(entries));
  document.reading.push_back(
      "The statements are those of five written analyses, in our words. claimed: the claim's own number, converted to "
      "the quantity that its rule judges. found: that quantity, measured or counted here, or read (evidence). "
      "published: "
      "the same from the records' logs and scripts.");
  document.reading.push_back(
      "A verdict needs the whole 95 % interval on its side of the claim's rule (`nanobench show CLAIM` prints it). "
      "Each interval holds for its claim alone: among many claims, a few are wrong by chance.");
  document.reading.push_back("Training runs are at scale " + scale +
                             ". A result for a model of that size on this machine need not hold for the official model "
                             "on eight GPUs. Operations have the sizes that the column prints.");
  if (entries.empty()) return document;
  document.next = {{.command = "show " + entries.front().claim->id, .gain = "one claim with its rule and its source"}};
  const auto unmeasured = std::count_if(entries.begin(), entries.end(), [](const LedgerEntry& entry) {
    return entry.verdict == LedgerVerdict::kNotMeasured;
  });
  if (unmeasured > 0) {
    document.next.push_back(
        {.command = "claims --measure",
         .gain = price + "trains and times what " + counted(unmeasured, "claim lacks", "claims lack")});
  }
  return document;
}

}  // namespace nanobench::reports

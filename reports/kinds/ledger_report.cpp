#include "reports/kinds/ledger_report.h"

#include <cmath>
#include <map>

#include "core/base/text.h"

namespace nanobench::reports {
namespace {

using ablations::Claim;
using ablations::MeasureKind;
using ablations::RuleForm;
using core::OrderedJson;

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

TableCell number_cell(const Claim& claim, const std::optional<double>& value) {
  if (!value) return missing_cell();
  return {.text = number_text(claim, *value), .detail = "", .value = *value};
}

TableCell measured_cell(const LedgerEntry& entry) {
  const MeasuredNumber& number = entry.measured;
  if (!number.value) return missing_cell();
  TableCell cell{.text = number_text(*entry.claim, *number.value), .detail = "", .value = {}};
  cell.value["value"] = *number.value;
  if (number.interval) {
    cell.detail = interval_text(*entry.claim, *number.interval);
    cell.value["low"] = number.interval->low;
    cell.value["high"] = number.interval->high;
  }
  cell.value["is_exact"] = number.is_exact;
  cell.value["n"] = number.n;
  return cell;
}

/// What the arms are, as the rule names them: "step_ms after/before".
std::string quantity_text(const Claim& claim) {
  return claim.rule ? claim.rule->metric + std::string(" ") + ablations::to_string(claim.rule->form) : "-";
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
  std::string text = entry.reason;
  OrderedJson value = OrderedJson::object();
  value["reason"] = entry.reason.empty() ? OrderedJson() : OrderedJson(entry.reason);
  value["also"] = OrderedJson::array();
  for (const SideNumber& side : entry.also) {
    text += (text.empty() ? "" : "; ") + side_text(side);
    OrderedJson number = {{"what", side.what}};
    number["value"] = side.number.value ? OrderedJson(*side.number.value) : OrderedJson();
    if (side.number.interval) {
      number["low"] = side.number.interval->low;
      number["high"] = side.number.interval->high;
    }
    value["also"].push_back(std::move(number));
  }
  return {.text = text, .detail = "", .value = std::move(value)};
}

TableCell published_cell(const LedgerEntry& entry) {
  const ablations::PublishedEvidence& published = entry.claim->published;
  TableCell cell{.text = ablations::to_string(published.verdict), .detail = "", .value = {}};
  if (entry.published && entry.claim->rule) {
    cell.detail = number_text(*entry.claim, *entry.published);
    cell.value["value"] = *entry.published;
  }
  cell.value["verdict"] = ablations::to_string(published.verdict);
  return cell;
}

Table ledger_table() {
  return {.id = "claims",
          .title = "",
          .columns = {{.key = "statement", .title = "what is claimed", .wraps = true},
                      {.key = "verdict", .title = "verdict"},
                      {.key = "claimed", .title = "claimed", .is_number = true, .priority = 1},
                      {.key = "measured", .title = "measured here", .is_number = true},
                      {.key = "published", .title = "published", .priority = 1},
                      {.key = "remark", .title = "why, and what else", .wraps = true, .priority = 2},
                      {.key = "scale", .title = "at", .priority = 2},
                      {.key = "quantity", .title = "number", .priority = 5},
                      {.key = "by", .title = "from", .priority = 3},
                      {.key = "analysis", .title = "analysis", .priority = 3},
                      {.key = "claim", .title = "claim", .priority = 4}},
          .rows = {}};
}

std::vector<TableCell> row_of(const LedgerEntry& entry) {
  const Claim& claim = *entry.claim;
  return {text_cell(claim.statement),
          text_cell(to_string(entry.verdict)),
          number_cell(claim, entry.claimed),
          measured_cell(entry),
          published_cell(entry),
          remark_cell(entry),
          text_cell(entry.scale.empty() ? "-" : entry.scale),
          text_cell(quantity_text(claim)),
          text_cell(entry.by.empty() ? "-" : entry.by),
          text_cell(claim.seed),
          text_cell(claim.id)};
}

Table claims_table(const std::vector<LedgerEntry>& entries) {
  Table table = ledger_table();
  for (const LedgerEntry& entry : entries) table.rows.push_back(row_of(entry));
  return table;
}

Table verdict_table(const std::vector<LedgerEntry>& entries) {
  std::map<std::string, std::map<LedgerVerdict, int>> counts;
  for (const LedgerEntry& entry : entries) ++counts[entry.claim->seed][entry.verdict];
  Table table{.id = "verdicts", .title = "Verdicts by analysis", .columns = {}, .rows = {}};
  table.columns.push_back({.key = "seed", .title = "analysis"});
  for (const LedgerVerdict verdict : kLedgerVerdicts)
    table.columns.push_back({.key = word_of(verdict), .title = to_string(verdict), .is_number = true});
  for (auto& [seed, of] : counts) {
    std::vector<TableCell> row = {text_cell(seed)};
    for (const LedgerVerdict verdict : kLedgerVerdicts) row.push_back(count_cell(of[verdict]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "1 is inconclusive", "45 cannot be measured here"
std::string counted_part(LedgerVerdict verdict, int count) {
  const std::string number = std::to_string(count);
  const std::string are = count == 1 ? " is " : " are ", have = count == 1 ? " has " : " have ";
  switch (verdict) {
    case LedgerVerdict::kSupported: return number + are + "supported here";
    case LedgerVerdict::kContradicted: return number + are + "contradicted";
    case LedgerVerdict::kInconclusive: return number + are + "inconclusive";
    case LedgerVerdict::kNotMeasured: return number + have + "not been measured";
    case LedgerVerdict::kNotMeasurable: return number + " cannot be measured here";
  }
  return number;
}

}  // namespace

std::string ledger_headline(const std::vector<LedgerEntry>& entries) {
  if (entries.empty()) return "There is no such claim.";
  std::map<LedgerVerdict, int> counts;
  for (const LedgerEntry& entry : entries) ++counts[entry.verdict];
  std::vector<std::string> parts;
  for (const LedgerVerdict verdict : kLedgerVerdicts) {
    if (counts[verdict] > 0) parts.push_back(counted_part(verdict, counts[verdict]));
  }
  std::string text = "Of " + std::to_string(entries.size()) + (entries.size() == 1 ? " claim " : " claims ");
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  text += ".";
  if (counts[LedgerVerdict::kNotMeasured] > 0) text += " `nanobench claims --measure` runs what is missing.";
  return text;
}

void add_ledger_section(Document& document, const std::vector<LedgerEntry>& entries, const std::string& scale) {
  Section section;
  section.title = "Claims about these records";
  section.paragraphs.push_back(ledger_headline(entries));
  section.paragraphs.push_back("Runs for claims are at scale " + scale +
                               "; `nanobench claims --measure` makes those that are missing.");
  section.tables.push_back(claims_table(entries));
  const auto last = document.sections.empty() ? document.sections.end() : document.sections.end() - 1;
  document.sections.insert(last, std::move(section));
}

Document ledger_report(const std::vector<LedgerEntry>& entries, const std::string& scale) {
  Document document{.kind = "claims_ledger", .title = "Claims, settled by measurement"};
  document.headline = ledger_headline(entries);
  Section& head = document.sections.emplace_back();
  head.tables.push_back(claims_table(entries));
  if (entries.size() > 1) document.sections.emplace_back().tables.push_back(verdict_table(entries));
  document.reading.push_back(
      "Statements are those of five written analyses, in our words; claimed is what a claim's own number makes of the "
      "measured quantity, published what the records' logs and scripts say of it.");
  document.reading.push_back(
      "A verdict needs the whole 95 % interval on its side of the claim's rule (`nanobench show CLAIM` prints it). "
      "Intervals hold for each claim alone: of many, a few are wrong by chance.");
  document.reading.push_back("Training runs are at scale " + scale +
                             ": what is true of a model of that size on this machine need not be true of the official "
                             "one on eight GPUs. Operations have the sizes that are printed.");
  return document;
}

}  // namespace nanobench::reports

#include "reports/kinds/comparison_report.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "reports/effects/looks.h"
#include "reports/effects/seeds_needed.h"
#include "reports/kinds/attribution_section.h"
#include "reports/kinds/chart_section.h"
#include "reports/kinds/comparison_headline.h"
#include "reports/kinds/contrast_section.h"
#include "reports/kinds/disturbance_section.h"
#include "reports/kinds/provenance_section.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMostSeedsShown = 20;

OrderedJson json_of(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson json_of(const Summary& summary) {
  return {{"mean", json_of(summary.mean)}, {"sd", json_of(summary.sd)}, {"n", summary.n}};
}

/// A metric whose runs are looked through for those that stand apart.
OrderedJson json_of(const Summary& summary, const std::optional<std::vector<OutlyingRun>>& outliers) {
  OrderedJson json = json_of(summary);
  json["outliers"] = outliers ? OrderedJson(outliers->size()) : OrderedJson(nullptr);
  json["outlier_runs"] = nullptr;
  if (!outliers || outliers->empty()) return json;
  OrderedJson runs = OrderedJson::array();
  for (const OutlyingRun& run : *outliers) {
    runs.push_back({{"seed", run.seed},
                    {"run", run.run_id},
                    {"value", run.value},
                    {"median", run.median},
                    {"robust_sds", run.score}});
  }
  json["outlier_runs"] = std::move(runs);
  return json;
}

OrderedJson json_of(const std::optional<Effect>& effect) {
  if (!effect) return nullptr;
  return {{"value", effect->value}, {"sd", json_of(effect->sd)}, {"n", effect->n}, {"is_paired", effect->is_paired}};
}

/// Digits after the point of a formatted number.
int decimals_of(const std::string& text) {
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
}

/// `format` writes the mean; the spread gets as many decimals.
template <class Format>
TableCell summary_cell(const Summary& summary, Format format) {
  if (!summary.mean) return {.text = "-", .detail = "", .value = json_of(summary)};
  TableCell cell{.text = format(*summary.mean), .detail = "", .value = json_of(summary)};
  if (summary.sd) cell.detail = "±" + format_fixed(*summary.sd, decimals_of(cell.text));
  return cell;
}

template <class Format>
TableCell watched_cell(const Summary& summary, const std::optional<std::vector<OutlyingRun>>& outliers, Format format) {
  TableCell cell = summary_cell(summary, format);
  cell.value = json_of(summary, outliers);
  return cell;
}

std::string loss_text(double loss) {
  return format_fixed(loss, 4);
}

TableCell change_cell(const std::optional<Effect>& effect) {
  if (!effect) return missing_cell();
  return {.text = format_signed(effect->value, 4),
          .detail = effect->sd ? "±" + format_fixed(*effect->sd, 4) : "",
          .value = json_of(effect)};
}

TableCell speed_up_cell(const std::optional<Effect>& effect) {
  if (!effect) return missing_cell();
  return {.text = format_fixed(effect->value, 3) + "x",
          .detail = effect->sd ? "±" + format_fixed(*effect->sd, 3) : "",
          .value = json_of(effect)};
}

std::string milliseconds(double value) {
  return format_significant(value, 4);
}
Summary in_mebibytes(Summary bytes) {
  for (std::optional<double>* number : {&bytes.mean, &bytes.sd}) {
    if (*number) **number /= 1024.0 * 1024.0;
  }
  return bytes;
}

TableCell target_cell(const TargetTimes& times) {
  OrderedJson value = json_of(times.seconds);
  value["reached"] = times.reached;
  value["completed"] = times.completed;
  if (times.completed == 0 || !times.has_curve) return {.text = "-", .detail = "", .value = std::move(value)};
  if (times.reached == 0) {
    const bool is_early = times.before_clock > 0;
    return {.text = is_early ? "before clock" : "not reached", .detail = "", .value = std::move(value)};
  }
  TableCell cell = summary_cell(times.seconds, [](double seconds) { return format_significant(seconds, 3); });
  cell.value = std::move(value);
  if (times.reached < times.completed) {
    cell.detail += (cell.detail.empty() ? "" : " ") + std::string("(") + std::to_string(times.reached) + " of " +
                   std::to_string(times.completed) + ")";
  }
  return cell;
}

TableCell number_cell(const std::optional<double>& value, int digits, const char* suffix) {
  if (!value) return missing_cell();
  return {.text = format_fixed(*value, digits) + suffix, .detail = "", .value = *value};
}

TableCell count_of(const Comparison& row) {
  OrderedJson value = {{"completed", row.completed}, {"planned", row.planned}};
  const std::string text = row.completed == row.planned
                               ? std::to_string(row.completed)
                               : std::to_string(row.completed) + "/" + std::to_string(row.planned);
  return {.text = text, .detail = "", .value = std::move(value)};
}

/// What the row is, and why it may hold nothing.
TableCell changed_cell(const Comparison& row) {
  TableCell cell = text_cell(row.changed);
  std::string remark;
  for (const std::string& reason : row.reasons) remark += (remark.empty() ? "FAILED: " : "; ") + reason;
  if (remark.empty() && row.completed == 0 && row.unfinished > 0) remark = "not run yet";
  cell.detail = remark;
  return cell;
}

std::vector<Column> columns() {
  return {
      {.key = "row", .title = "record"},
      {.key = "changed", .title = "what changed", .wraps = true},
      {.key = "val_loss", .title = "val loss", .is_number = true},
      {.key = "val_loss_change", .title = "change", .is_number = true},
      {.key = "step_ms", .title = "step ms", .is_number = true},
      {.key = "speed_up", .title = "speed-up", .is_number = true},
      {.key = "to_target_s", .title = "to target s", .is_number = true, .priority = 1},
      {.key = "peak_mib", .title = "peak MiB", .is_number = true, .priority = 4},
      {.key = "published_step_ms", .title = "published ms", .is_number = true, .priority = 2},
      {.key = "published_speed_up", .title = "published speed-up", .is_number = true, .priority = 3},
      {.key = "mean_step_ms", .title = "mean step ms", .is_number = true, .priority = 6},
      {.key = "tokens_per_s", .title = "tokens/s", .is_number = true, .priority = 5},
      {.key = "n", .title = "n", .is_number = true},
  };
}

std::vector<TableCell> cells_of(const Comparison& row) {
  return {
      text_cell(row.label),
      changed_cell(row),
      watched_cell(row.val_loss, row.outliers.val_loss, loss_text),
      change_cell(row.val_loss_change),
      watched_cell(row.step_ms, row.outliers.step_ms, milliseconds),
      speed_up_cell(row.step_speed_up),
      target_cell(row.to_target),
      summary_cell(in_mebibytes(row.peak_bytes), [](double mib) { return format_significant(mib, 3); }),
      number_cell(row.published_step_ms, 1, ""),
      number_cell(row.published_speed_up, 3, "x"),
      summary_cell(row.mean_step_ms, milliseconds),
      summary_cell(row.tokens_per_s, [](double rate) { return format_count(static_cast<std::int64_t>(rate)); }),
      count_of(row),
  };
}

const results::RunRecord* any_run(const std::vector<CellMeasures>& cells) {
  for (const CellMeasures& cell : cells) {
    if (!cell.runs.empty()) return &cell.runs.front().run;
  }
  return nullptr;
}

std::string seeds_of(const std::vector<CellMeasures>& cells) {
  std::set<std::uint64_t> seeds;
  for (const CellMeasures& cell : cells) {
    for (const RunMeasure& run : cell.runs) seeds.insert(run.run.seed);
  }
  if (seeds.size() > kMostSeedsShown) return std::to_string(seeds.size()) + " seeds";
  std::string text;
  for (const std::uint64_t seed : seeds) text += (text.empty() ? "" : ", ") + std::to_string(seed);
  return text;
}

Section head_of(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells, const ComparisonTable& table) {
  Section head;
  const auto add = [&](const char* key, const char* title, TableCell cell) {
    head.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  add("suite", "suite", text_cell(plan.suite));
  add("design", "design", text_cell(enum_name(plan.design)));
  add("scale", "scale", text_cell(plan.scale));
  add("data", "data", text_cell(plan.data_name));
  if (const results::RunRecord* run = any_run(cells)) {
    if (run->data_floor_nats) {
      TableCell floor{.text = format_fixed(*run->data_floor_nats, 4) + " nats/token: no model can be below",
                      .detail = "",
                      .value = *run->data_floor_nats};
      add("floor_nats", "entropy floor", std::move(floor));
    }
    add("machine", "machine", text_cell(run->hardware));
    if (!run->gpu.empty()) add("gpu", "GPU", text_cell(run->gpu));
    add("threads", "threads", count_cell(run->threads));
    add("engine", "engine", text_cell(run->engine + " (" + run->dtype + ")"));
    add("seeds", "seeds", text_cell(seeds_of(cells)));
  }
  if (table.looks.size() > 1) {
    OrderedJson value = {{"count", table.looks.size()}, {"seeds", table.looks}};
    add("looks", "looks", {.text = std::to_string(table.looks.size()), .detail = "", .value = std::move(value)});
  }
  if (table.target) {
    TableCell target{.text = format_fixed(*table.target, 4) + ", " + table.target_source,
                     .detail = "",
                     .value = {{"val_loss", *table.target}, {"source", table.target_source}}};
    add("target", "target loss", std::move(target));
  }
  head.bullets = core::texts_of(plan.messages);
  return head;
}

/// "base, seed 3, run 17: val loss 3.4123, median 3.2811"
template <class Format>
void name_outliers(const Comparison& row, const std::optional<std::vector<OutlyingRun>>& outliers, const char* metric,
                   Format format, std::vector<std::string>& names) {
  if (!outliers) return;
  for (const OutlyingRun& run : *outliers) {
    names.push_back(row.label + ", seed " + std::to_string(run.seed) + ", run " + std::to_string(run.run_id) + ": " +
                    metric + " " + format(run.value) + ", median " + format(run.median));
  }
}

void add_outlier_note(Document& document, const ComparisonTable& table) {
  constexpr std::size_t kMostNamed = 10;
  std::vector<std::string> names;
  for (const Comparison& row : table.rows) {
    name_outliers(row, row.outliers.val_loss, "val loss", loss_text, names);
    name_outliers(row, row.outliers.step_ms, "step ms", milliseconds, names);
  }
  if (names.empty()) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : "; ") + names[i];
  if (names.size() > kMostNamed)
    text += "; and " + std::to_string(names.size() - kMostNamed) + " more, named in --json";
  document.notes.push_back("flagged, and left in every mean: " + text + ". Each is more than " +
                           format_significant(kOutlierLimit, 2) +
                           " robust standard deviations from its cell's median; of 5 ordinary runs one is so in every "
                           "fifth cell, of 20 in every tenth.");
}

void add_peeking_warning(Document& document, const std::vector<int>& looks) {
  constexpr std::size_t kMostNamed = 6;
  if (looks.size() < 2) return;
  std::string seeds;
  for (std::size_t i = 0; i + 1 < std::min(looks.size(), kMostNamed); ++i)
    seeds += (i == 0 ? "" : ", ") + std::to_string(looks[i]);
  seeds += (looks.size() > kMostNamed ? " ... and " : " and ") + std::to_string(looks.back());
  document.warnings.push_back("This is look " + std::to_string(looks.size()) +
                              " at results to which seeds were added (" + seeds +
                              " seeds), and p-values and verdicts hold for one look only: chance is called an effect "
                              "more often than they say; `run --until-decided` may look after every seed.");
}

void add_reading_notes(Document& document, const results::PlanRecord& plan, const ComparisonTable& table) {
  document.notes = table.notes;
  document.reading = {plan.design == results::Design::kHistory
                          ? "change and speed-up: against the row before, the same seeds paired."
                          : "change and speed-up: against the first row, the same seeds paired."};
  document.reading.emplace_back(
      "step ms: median over the timed steps. to target s: seconds of the training clock until the validation loss, "
      "interpolated between validations, first reaches the target.");
  bool has_published = false;
  for (const Comparison& row : table.rows) has_published = has_published || row.published_step_ms.has_value();
  if (has_published) {
    document.reading.push_back(
        "published: the record's own log, the official model on 8 H100 (tokens per step " +
        std::string("and model differ from this scale's: compare the speed-ups, not the times)."));
  }
}

}  // namespace

namespace {

Document report_of(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                   const ComparisonTable& table, const std::vector<EffectResult>& effects) {
  Document document{.kind = "comparison", .title = plan.title.empty() ? plan.suite : plan.title};
  const auto needed = seeds_needed(effects, final_rules_of(plan));
  document.headline = comparison_headline(plan, cells, table, effects, needed);
  document.sections.push_back(head_of(plan, cells, table));
  Table rows{.id = "rows", .columns = columns()};
  for (const Comparison& row : table.rows) rows.rows.push_back(cells_of(row));
  Section body;
  body.tables.push_back(std::move(rows));
  document.sections.push_back(std::move(body));
  if (!plan.contrasts.empty()) document.sections.push_back(contrast_section(plan.contrasts, effects, needed));
  if (const std::optional<LossAttribution> attribution = attribute_loss(plan, cells))
    document.sections.push_back(attribution_section(*attribution));
  document.warnings = table.warnings;
  add_peeking_warning(document, table.looks);
  add_reading_notes(document, plan, table);
  add_outlier_note(document, table);
  return document;
}

}  // namespace

Document comparison_report(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                           const ComparisonTable& table) {
  return report_of(plan, cells, table, analyse_effects(plan, cells));
}

Document comparison_report(const results::Store& store, const results::PlanRecord& plan,
                           const ComparisonOptions& options) {
  const std::vector<CellMeasures> cells = read_cells(store, plan, options);
  ComparisonTable table = compare(plan, cells, options);
  table.looks = looks_taken(plan, store.plans(plan.suite));
  const std::vector<EffectResult> effects = analyse_effects(plan, cells);
  Document document = report_of(plan, cells, table, effects);
  if (options.has_charts) document.sections.push_back(chart_section(store, plan, cells, table, effects));
  if (!options.has_provenance) return document;
  if (std::optional<Section> disturbed = disturbance_section(cells)) document.sections.push_back(std::move(*disturbed));
  document.sections.push_back(provenance_section(store, plan, cells));
  return document;
}

}  // namespace nanobench::reports

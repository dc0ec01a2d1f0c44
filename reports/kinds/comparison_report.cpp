#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/text.h"
#include "reports/charts/charts.h"
#include "reports/comparison/conditions.h"
#include "reports/comparison/remark_text.h"
#include "reports/comparison/remarks.h"
#include "reports/comparison/step_phases.h"
#include "reports/effects/effects.h"
#include "reports/effects/screened_effects.h"
#include "reports/effects/spread_weights.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using core::OrderedJson;

constexpr std::size_t kMaxSeedsShown = 20;

/// A metric with its outlying runs.
OrderedJson watched_json(const Summary& summary, const std::optional<std::vector<OutlyingRun>>& outliers) {
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

OrderedJson effect_json(const std::optional<Effect>& effect) {
  if (!effect) return nullptr;
  return {{"value", effect->value}, {"sd", json_of(effect->sd)}, {"n", effect->n}, {"is_paired", effect->is_paired}};
}

/// Digits after the decimal point of a formatted number.
int decimals_of(const std::string& text) {
  const std::size_t point = text.find('.');
  return point == std::string::npos ? 0 : static_cast<int>(text.size() - point - 1);
}

/// `format` writes the mean; the spread gets as many decimals.
template <class Format>
TableCell mean_cell(const Summary& summary, Format format) {
  TableCell cell = summary_cell(summary, format);
  if (summary.sd) cell.detail = "±" + format_fixed(*summary.sd, decimals_of(cell.text));
  return cell;
}

template <class Format>
TableCell watched_cell(const Summary& summary, const std::optional<std::vector<OutlyingRun>>& outliers, Format format) {
  TableCell cell = mean_cell(summary, format);
  cell.value = watched_json(summary, outliers);
  return cell;
}

std::string loss_text(double loss) {
  return format_fixed(loss, 4);
}

TableCell effect_cell(const std::optional<Effect>& effect, const std::string& text, int digits) {
  if (!effect) return missing_cell();
  return value_cell(text, effect_json(effect), effect->sd ? "±" + format_fixed(*effect->sd, digits) : "");
}

TableCell change_cell(const std::optional<Effect>& effect) {
  return effect_cell(effect, effect ? format_signed(effect->value, 4) : "", 4);
}

TableCell speed_up_cell(const std::optional<Effect>& effect) {
  if (!effect) return missing_cell();
  return value_cell(format_ratio(effect->value) + "x", effect_json(effect),
                    effect->sd ? "±" + format_ratio(*effect->sd) : "");
}

std::string milliseconds(double value) {
  return format_significant(value, 4);
}

/// With the whole training clock for machines.
TableCell step_cell(const Comparison& row) {
  TableCell cell = watched_cell(row.step_ms, row.outliers.step_ms, milliseconds);
  cell.value["clock_ms"] = json_of(row.clock_ms.mean);
  return cell;
}

Summary in_mebibytes(Summary bytes) {
  for (std::optional<double>* number : {&bytes.mean, &bytes.sd}) {
    if (*number) **number /= 1024.0 * 1024.0;
  }
  return bytes;
}

TableCell target_cell(const Comparison& row) {
  const TargetTimes& times = row.to_target;
  OrderedJson value = json_of(times.seconds);
  value["reached"] = times.reached;
  value["completed"] = times.completed;
  const std::optional<Effect>& change = row.to_target_change;
  value["change"] = change ? OrderedJson(change->value) : OrderedJson(nullptr);
  value["change_sd"] = json_of(change ? change->sd : std::nullopt);
  if (times.completed == 0 || !times.has_curve) return value_cell("-", std::move(value));
  if (times.reached == 0) return value_cell(times.before_clock > 0 ? "before clock" : "not reached", std::move(value));
  TableCell cell = mean_cell(times.seconds, [](double seconds) { return format_significant(seconds, 3); });
  cell.value = std::move(value);
  if (times.reached < times.completed) {
    cell.detail += (cell.detail.empty() ? "" : " ") + std::string("(") + std::to_string(times.reached) + " of " +
                   std::to_string(times.completed) + ")";
  }
  return cell;
}

TableCell count_of(const Comparison& row) {
  std::string text = std::to_string(row.completed);
  if (row.completed != row.planned) text += "/" + std::to_string(row.planned);
  return value_cell(std::move(text), {{"completed", row.completed}, {"planned", row.planned}});
}

/// What the row is, and why it may be empty.
TableCell changed_cell(const Comparison& row) {
  TableCell cell = titled_cell(row.title.empty() ? row.changed : row.title, row.changed);
  if (!row.failures.empty()) {
    std::vector<std::string> texts;
    for (const FailedRuns& failed : row.failures) texts.push_back(text_of(failed));
    cell.detail = "FAILED: " + joined(texts, "; ");
  } else if (row.completed == 0 && row.unfinished > 0) {
    cell.detail = "not run yet";
  }
  return cell;
}

std::vector<Column> columns() {
  return {
      text_column("row", "record"),
      wide_column("changed", "what changed"),
      number_column("val_loss", "val loss"),
      number_column("val_loss_change", "change"),
      number_column("step_ms", "step ms"),
      number_column("speed_up", "speed-up"),
      number_column("to_target_s", "to target s", 1),
      number_column("peak_mib", "peak MiB", 4),
      number_column("training_mib", "training MiB", 4),
      number_column("published_step_ms", "published ms", 2),
      number_column("published_speed_up", "published speed-up", 3),
      number_column("median_step_ms", "median step ms", 6),
      number_column("mean_step_ms", "raw step ms", 7),
      number_column("tokens_per_s", "tokens/s", 5),
      number_column("n", "n"),
  };
}

std::vector<TableCell> cells_of(const Comparison& row) {
  TableCell label = text_cell(row.label);
  label.link = row.link;
  return {
      std::move(label),
      changed_cell(row),
      watched_cell(row.val_loss, row.outliers.val_loss, loss_text),
      change_cell(row.val_loss_change),
      step_cell(row),
      speed_up_cell(row.step_speed_up),
      target_cell(row),
      mean_cell(in_mebibytes(row.peak_bytes), [](double mib) { return format_significant(mib, 3); }),
      mean_cell(in_mebibytes(row.training_bytes), [](double mib) { return format_significant(mib, 3); }),
      fixed_cell(row.published_step_ms, 1),
      number_cell(row.published_speed_up, [](double value) { return format_ratio(value) + "x"; }),
      mean_cell(row.median_step_ms, milliseconds),
      mean_cell(row.mean_step_ms, milliseconds),
      mean_cell(row.tokens_per_s, [](double rate) { return format_count(static_cast<std::int64_t>(rate)); }),
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
  return seeds.size() > kMaxSeedsShown ? std::to_string(seeds.size()) + " seeds" : joined(seeds);
}

Section head_of(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells, const ComparisonTable& table) {
  FactList list;
  list.add("suite", "suite", plan.suite);
  list.add("design", "design", enum_name(plan.design));
  list.add("scale", "scale", told_unless(plan.scale, kOfTrainer));
  list.add("data", "data", told_unless(plan.data_name, kOfTrainer));
  if (const results::RunRecord* run = any_run(cells)) {
    if (run->data_floor_nats) {
      list.add("floor_nats", "entropy floor",
               value_cell(format_fixed(*run->data_floor_nats, 4) + " nats/token: no model can be below it",
                          *run->data_floor_nats));
    }
    list.add("machine", "machine", run->hardware);
    list.add_if("gpu", "GPU", run->gpu);
    list.add("threads", "threads", count_cell(run->threads));
    list.add("engine", "engine",
             run->dtype == kOfTrainer ? told_unless(run->engine_text(), kOfTrainer)
                                      : text_cell(run->engine_text() + " (" + run->dtype + ")"));
    list.add("seeds", "seeds", seeds_of(cells));
  }
  if (table.looks.size() > 1) {
    list.add("looks", "looks",
             value_cell(std::to_string(table.looks.size()), {{"count", table.looks.size()}, {"seeds", table.looks}}));
  }
  if (table.target) {
    list.add("target", "target loss",
             value_cell(format_fixed(*table.target, 4) + ", " + text_of(table.target_source),
                        {{"val_loss", *table.target}, {"source", text_of(table.target_source)}}));
  }
  Section head;
  head.facts = std::move(list.facts);
  head.bullets = core::texts_of(plan.messages);
  return head;
}

void add_reading_notes(Document& document, const results::PlanRecord& plan, const ComparisonTable& table) {
  document.notes = texts_of(table.notes);
  const char* const reference = plan.design == results::Design::kHistory ? "the row before" : "the first row";
  document.reading = {std::string("change and speed-up: against ") + reference + ", paired by seed.",
                      "step ms: training clock over the timed steps, disturbed steps as the cell's other runs took "
                      "them; raw step ms: as "
                      "measured. to target s: seconds of the training clock until the "
                      "validation loss first reaches the target, interpolated between validations."};
  const auto has_training = [](const Comparison& row) { return row.training_bytes.mean.has_value(); };
  if (std::any_of(table.rows.begin(), table.rows.end(), has_training)) {
    document.reading.emplace_back(
        "peak MiB: of the whole process. training MiB: the peak without what was resident before there was a model, "
        "which is the program and its libraries.");
  }
  const bool has_published = std::any_of(table.rows.begin(), table.rows.end(),
                                         [](const Comparison& row) { return row.published_step_ms.has_value(); });
  if (has_published) {
    document.reading.emplace_back(
        "published: from the record's own log, the official model on 8 H100. Its tokens per step and its model differ "
        "from this scale's: compare the speed-ups, not the times.");
  }
}

/// One row per phase and cell; nullopt without phases.
std::optional<Section> schedule_section(const std::vector<StepPhase>& phases) {
  if (phases.empty()) return std::nullopt;
  Table table{.id = "schedule_phases",
              .title = "",
              .columns = {text_column("steps", "steps"), text_column("row", "record"),
                          number_column("step_ms", "step ms"), number_column("ratio", "against reference")}};
  for (const StepPhase& phase : phases) {
    const std::string steps = std::to_string(phase.first_step) + " to " + std::to_string(phase.last_step);
    for (const PhaseTime& time : phase.cells) {
      std::optional<Effect> change = time.ratio;
      const std::string text = change ? format_signed_percent(change->value - 1.0, 2) : "";
      TableCell ratio = change ? value_cell(text, effect_json(change)) : missing_cell();
      if (change && change->sd) ratio.detail = "±" + format_fixed(100.0 * *change->sd, 2);
      table.rows.push_back({value_cell(steps, {{"first", phase.first_step}, {"last", phase.last_step}}),
                            text_cell(time.cell), mean_cell(summarise(time.step_ms), milliseconds), std::move(ratio)});
    }
  }
  Section section{.title = "Times by phase of the schedule"};
  section.reading = {
      "A phase has one attention window and one stage of the learning rate, or, where neither is known, one level of "
      "step times. Against reference: the same steps of the row's reference, above 0 is slower."};
  section.tables.push_back(std::move(table));
  return section;
}

/// Means over the first completed runs of a cell.
PhaseTimes phase_times(const results::Store& store, const CellMeasures& cell) {
  constexpr int kMaxRuns = 5;  // a run has thousands of samples, and the shares hardly differ
  PhaseTimes times{.cell = cell.cell.label, .phases = {}};
  double runs = 0.0;
  for (const RunMeasure& run : cell.runs) {
    if (!run.run.is_completed() || runs >= kMaxRuns) continue;
    const std::map<std::string, double> phases = store.phase_means(run.run.id);
    for (const auto& [phase, ms] : phases) times.phases[phase] += ms;
    if (!phases.empty()) ++runs;
  }
  for (auto& [phase, ms] : times.phases) ms /= runs;
  return times;
}

/// Charts with nothing to show are left out.
Section charts_of(const std::string& title, std::vector<std::optional<Chart>> charts) {
  Section section{.title = title};
  for (std::optional<Chart>& chart : charts) {
    if (chart) section.charts.push_back(std::move(*chart));
  }
  return section;
}

/// How the training clock of the official model changed with each effect's record.
std::map<std::string, double> published_times(const ComparisonTable& table, const std::vector<EffectResult>& effects) {
  std::map<std::string, std::optional<double>> seconds;
  for (const Comparison& row : table.rows) seconds[row.label] = row.published_train_s;
  std::map<std::string, double> ratios;
  for (const EffectResult& effect : effects) {
    const std::optional<ComparedCells> cells = compared_cells(effect.contrast);
    if (!cells) continue;
    const std::optional<double> from = seconds[cells->from], to = seconds[cells->to];
    if (from && to && *from > 0.0 && *to > 0.0) ratios[effect.contrast.effect] = *to / *from;
  }
  return ratios;
}

Section machine_charts(const results::Store& store, const std::vector<CellMeasures>& cells,
                       const ComparisonTable& table) {
  std::vector<PhaseTimes> phases;
  for (const CellMeasures& cell : cells) phases.push_back(phase_times(store, cell));
  Section section = charts_of("Times, memory, and the order of the runs",
                              {phase_chart(phases), memory_chart(table), order_chart(cells)});
  section.is_background = true;
  return section;
}

/// The order of a page: the effects, the numbers, the curves, how they were measured, and what only some ask for.
///   document   with the head as its first section
void arrange_page(Document& document, const results::Store& store, const results::PlanRecord& plan,
                  const std::vector<CellMeasures>& cells, const ComparisonTable& table,
                  const std::vector<EffectResult>& effects) {
  Section head = std::move(document.sections.front());
  head.title = "How it was measured";
  std::vector<Section> page = {charts_of(
      "The effects", {effects_chart(plan, effects, published_times(table, effects)), interaction_chart(effects)})};
  std::move(document.sections.begin() + 1, document.sections.end(), std::back_inserter(page));
  page.push_back(charts_of("Speed", {speed_chart(plan, table)}));
  page.push_back(charts_of("Loss curves", {loss_chart(cells)}));
  page.push_back(std::move(head));
  page.push_back(machine_charts(store, cells, table));
  std::erase_if(page, [](const Section& section) {
    return section.charts.empty() && section.tables.empty() && section.facts.empty() && section.paragraphs.empty();
  });
  document.sections = std::move(page);
}

/// The row that each row is compared with, by label.
std::map<std::string, std::string> references_of(const ComparisonTable& table) {
  std::map<std::string, std::string> references;
  for (const Comparison& row : table.rows)
    if (row.reference) references[row.label] = *row.reference;
  return references;
}

Document report_of(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                   const ComparisonTable& table, const std::vector<EffectResult>& effects, const EffectRules& rules,
                   const std::map<std::string, CountedCost>& costs) {
  Document document{.kind = "comparison", .title = plan.title.empty() ? plan.suite : plan.title};
  const auto needed = seeds_needed(effects, final_rules_of(plan, rules));
  document.headline = comparison_headline(plan, cells, table, effects, needed);
  document.cards = verdict_cards(plan, table, effects, needed, costs, rules);
  if (!document.cards.empty()) document.lead = comparison_lead(plan, cells, table, effects, needed);
  document.sections.push_back(head_of(plan, cells, table));
  if (plan.design == results::Design::kScreening) {
    const Screening screening = screened_effects(cells);
    document.headline = screening_headline(screening);
    document.sections.push_back(screening_section(screening));
  }
  if (plan.design == results::Design::kLeaveOneOut) {
    if (std::optional<Section> list = verdict_list(effects)) document.sections.push_back(std::move(*list));
  }
  Table rows{.id = "rows", .columns = columns()};
  for (const Comparison& row : table.rows) rows.rows.push_back(cells_of(row));
  Section body{.title = "What was measured"};
  body.tables.push_back(std::move(rows));
  document.sections.push_back(std::move(body));
  if (!plan.contrasts.empty()) document.sections.push_back(contrast_section(plan.contrasts, effects, needed));
  if (const std::optional<LossAttribution> attribution = attribute_loss(plan, cells))
    document.sections.push_back(attribution_section(*attribution));
  document.warnings = texts_of(table.warnings);
  for (const Remark& warning : verdict_warnings(table, cells)) document.warnings.push_back(text_of(warning));
  add_reading_notes(document, plan, table);
  for (const Remark& note : measure_notes(table, cells)) document.notes.push_back(text_of(note));
  return document;
}

}  // namespace

Document comparison_report(const results::PlanRecord& plan, const std::vector<CellMeasures>& cells,
                           const ComparisonTable& table) {
  return report_of(plan, cells, table, analyse_effects(plan, cells), {}, {});
}

Document comparison_report(const results::Store& store, const results::PlanRecord& plan,
                           const ComparisonOptions& options) {
  const std::vector<CellMeasures> cells = read_cells(store, plan, options);
  ComparisonTable table = compare(plan, cells, options);
  table.looks = looks_taken(plan, store.plans(plan.suite));
  const EffectRules rules = rules_of(plan, {.weights = spread_weights(store, plan),
                                            .earlier_loss = earlier_loss_spread(store, plan),
                                            .judges_by_earlier = options.uses_earlier_spread});
  std::vector<EffectResult> effects = analyse_effects(plan, cells, rules);
  const bool has_all = options.has_charts || options.has_provenance;
  const std::vector<JudgedBuckets> judged = judge_buckets(store, plan, cells, rules, has_all);
  add_long_positions(effects, judged);
  Document document = report_of(plan, cells, table, effects, rules, counted_costs(store, cells));
  document.next =
      next_steps(plan, cells, effects, seeds_needed(effects, final_rules_of(plan, rules)), run_seconds(store, cells));
  for (const Evaluation& evaluation : read_evaluations(store, cells, references_of(table)))
    document.sections.push_back(evaluation_section(evaluation));
  for (Section& section : token_loss_sections(plan, judged, options.has_charts))
    document.sections.push_back(std::move(section));
  if (std::optional<Section> stability = stability_section(stability_of(cells, options.divergence_loss)))
    document.sections.push_back(std::move(*stability));
  const bool has_parts = options.has_charts || options.has_provenance;
  if (std::optional<Section> health = health_section(cell_health(store, cells), has_parts))
    document.sections.push_back(std::move(*health));
  if (options.has_charts) arrange_page(document, store, plan, cells, table, effects);
  if (options.has_provenance) {  // a page has them as data of its charts
    for (Section& section : bucket_sections(plan, judged)) document.sections.push_back(std::move(section));
  }
  const auto add_background = [&](std::optional<Section> section) {
    if (!section) return;
    section->is_background = true;
    document.sections.push_back(std::move(*section));
  };
  add_background(schedule_section(step_phases(store, cells, table)));
  if (rules.judges_by_earlier && rules.earlier_loss) {
    document.notes.push_back("As asked, losses are also judged by the spread of earlier plans: " +
                             format_significant(rules.earlier_loss->sd, 3) + " nats with " +
                             format_significant(rules.earlier_loss->df, 3) + " degrees of freedom.");
  }
  if (has_all) add_background(diagnostic_section(plan, cells, rules, effects));
  if (!options.has_provenance) return document;
  add_background(disturbance_section(cells));
  add_background(provenance_section(store, plan, cells));
  return document;
}

}  // namespace nanobench::reports

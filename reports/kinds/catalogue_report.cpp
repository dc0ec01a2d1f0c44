#include "ablations/catalogue.h"
#include "ablations/config_difference.h"
#include "ablations/resolve.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/forecast/run_cost.h"
#include "reports/kinds/kinds.h"
#include "reports/kinds/sections.h"

namespace nanobench::reports {
namespace {

using ablations::Catalogue;
using ablations::Feature;
using ablations::Record;
using ablations::Scale;
using core::OrderedJson;

TableCell loss_cell(const ablations::PublishedFigures& published) {
  if (!published.final_val_loss) return missing_cell();
  const auto& loss = *published.final_val_loss;
  std::string detail = loss.sd ? "±" + format_fixed(*loss.sd, 4) : "";
  if (loss.n > 1) detail += " (n=" + std::to_string(loss.n) + ")";
  return value_cell(format_fixed(loss.mean, 4), {{"mean", loss.mean}, {"sd", json_of(loss.sd)}, {"n", loss.n}}, detail);
}

std::string relation_text(const ablations::FeatureRelation& relation, const char* verb) {
  std::string text = relation.when.empty() ? "any value " : "\"" + joined(relation.when, "\", \"") + "\" ";
  text += std::string(verb) + " " + relation.feature;
  if (!relation.values.empty()) text += " = \"" + joined(relation.values, "\" or \"") + "\"";
  return text;
}

TableCell json_cell(const core::Json& value) {
  const std::string text = core::safe_dump(value);
  return value_cell(text, core::parse_ordered_json(text, "value"));
}

TableCell changes_cell(const std::vector<ablations::DocumentedChange>& changes) {
  std::vector<std::string> texts;
  OrderedJson value = OrderedJson::array();
  for (const ablations::DocumentedChange& change : changes) {
    texts.push_back("#" + std::to_string(change.record) + " " + change.id);
    value.push_back({{"record", change.record}, {"id", change.id}});
  }
  return value_cell(joined(texts), std::move(value));
}

std::string needs_text(const ablations::FeatureNeeds& needs) {
  std::vector<std::string> parts;
  if (needs.processes > 1) parts.push_back(std::to_string(needs.processes) + " processes or more");
  if (needs.ranks > needs.processes) parts.push_back(std::to_string(needs.ranks) + " ranks or more");
  if (needs.threads > 1) parts.push_back(std::to_string(needs.threads) + " threads or more");
  if (needs.gpu) parts.push_back("a GPU");
  return joined(parts);
}

/// "yes", or that the feature cannot be set, with the reason for machines.
TableCell toggle_cell(const Feature& feature) {
  if (feature.is_applicable()) return value_cell("yes", nullptr);
  return value_cell("not applicable", *feature.not_applicable);
}

Table values_table(const Feature& feature) {
  Table table{.id = "values",
              .title = "Values",
              .columns = {text_column("value", "value"), text_column("role", ""),
                          wide_column("patch", "settings (merge patch on the configuration)")}};
  for (const ablations::FeatureValue& value : feature.values) {
    const std::string role = value.name == feature.before ? "before" : value.name == feature.after ? "after" : "";
    table.rows.push_back({text_cell(value.name), text_cell(role), json_cell(value.patch)});
  }
  return table;
}

Table use_table(const Catalogue& catalogue, const Feature& feature) {
  Table table{.id = "records",
              .title = "In the records",
              .columns = {text_column("record", "record"), text_column("value", "value")}};
  for (const Record* record : catalogue.records()) {
    const auto value = ablations::feature_value_at(ablations::resolve_record(catalogue, record->id), feature);
    TableCell cell = value ? text_cell(*value) : missing_cell();
    if (feature.introduced_record == record->number) cell.detail = "(introduced)";
    table.rows.push_back({text_cell(record->id), std::move(cell)});
  }
  return table;
}

/// `own`: the values set by this record; the others are inherited.
Table settings_table(const Catalogue& catalogue, const ablations::Resolved& resolved,
                     const ablations::FeatureSettings& own) {
  Table table{.id = "features",
              .title = "Features",
              .columns = {text_column("feature", "feature"), text_column("value", "value"),
                          wide_column("title", "what it is")}};
  for (const Feature* feature : catalogue.features()) {
    const auto value = resolved.effective.find(feature->id);
    TableCell cell = value == resolved.effective.end() ? missing_cell() : text_cell(value->second);
    if (own.contains(feature->id)) cell.detail = "(set here)";
    if (resolved.held.contains(feature->id)) cell.detail = "(held by the scale)";
    table.rows.push_back({text_cell(feature->id), std::move(cell), text_cell(feature->title)});
  }
  return table;
}

void add_published(FactList& list, const ablations::PublishedFigures& published) {
  list.add("published_step_ms", "published step ms", fixed_cell(published.step_avg_ms, 2));
  list.add("published_steps", "published steps", count_cell(published.steps));
  list.add("published_val_loss", "published val loss", loss_cell(published));
  list.add("published_minutes", "published minutes", fixed_cell(published.minutes, 2));
  list.add("published_train_s", "published clock s", fixed_cell(published.train_seconds, 1));
  list.add("published_tokens_per_step", "tokens per step", count_cell(published.tokens_per_step));
  list.add("published_peak_mib", "published peak MiB", fixed_cell(published.peak_mib, 0));
  list.add("published_source", "log folder", published.source);
}

Section size_section(const core::TrainConfig& config, const std::string& scale) {
  Section section{.title = "At scale " + scale};
  FactList list;
  list.add("scale", "scale", scale);
  list.add("layers", "layers", count_cell(config.model.num_layers));
  list.add("model_dim", "width", count_cell(config.model.model_dim));
  list.add("num_heads", "heads", count_cell(config.model.num_heads));
  list.add("vocab_size", "vocabulary", count_cell(config.model.vocab_size));
  list.add("sequence_length", "sequence",
           value_cell(std::to_string(config.data.sequence_length) + " tokens", config.data.sequence_length));
  list.add("tokens_per_step", "tokens a step", count_cell(config.data.tokens_per_step()));
  list.add("num_steps", "steps", count_cell(config.schedule.num_steps));
  list.add("config_digest", "digest", config.digest());
  section.facts = std::move(list.facts);
  return section;
}

TableCell settings_cell(const ablations::FeatureSettings& settings) {
  std::vector<std::string> texts;
  OrderedJson value = OrderedJson::object();
  for (const auto& [id, setting] : settings) {
    texts.push_back(id + "=" + setting);
    value[id] = setting;
  }
  return value_cell(joined(texts), std::move(value));
}

TableCell divisor_cell(std::int64_t divisor) {
  return value_cell(divisor == 1 ? "unchanged" : "1/" + std::to_string(divisor), divisor);
}

}  // namespace

Document features_report(const Catalogue& catalogue) {
  Document document{.kind = "features", .title = "Features: documented changes and their values"};
  Table table{
      .id = "features",
      .columns = {text_column("feature", "feature"), number_column("record", "record"),
                  text_column("before", "before", 1), text_column("after", "after", 1), text_column("kind", "kind", 2),
                  text_column("not_applicable", "can be set"), wide_column("title", "what it is")}};
  for (const Feature* feature : catalogue.all_features()) {
    table.rows.push_back({text_cell(feature->id), count_cell(feature->introduced_record),
                          text_or_missing(feature->before), text_or_missing(feature->after),
                          text_cell(enum_name(feature->kind)), toggle_cell(*feature), text_cell(feature->title)});
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  document.next = {{.command = "show rotary", .gain = "one of them: its values, why, and which records use it"},
                   {.command = "ablate --base record:17 --design leave_one_out --features rotary --dry-run",
                    .gain = "the cells that would measure it; trains nothing"}};
  return document;
}

Document records_report(const Catalogue& catalogue) {
  Document document{.kind = "records", .title = "Records of the speedrun"};
  Table table{
      .id = "records",
      .columns = {text_column("record", "record"), text_column("date", "date", 2), wide_column("title", "title"),
                  number_column("published_minutes", "minutes"), number_column("published_step_ms", "step ms"),
                  number_column("published_val_loss", "val loss", 1), number_column("published_steps", "steps", 1)}};
  for (const Record* record : catalogue.records()) {
    const ablations::PublishedFigures& published = record->published;
    table.rows.push_back({text_cell(record->id), text_cell(record->date), text_cell(record->title),
                          fixed_cell(published.minutes, 2), fixed_cell(published.step_avg_ms, 1), loss_cell(published),
                          count_cell(published.steps)});
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  document.notes.push_back("All figures are published ones, of the official model on 8 H100.");
  const std::string newest = catalogue.records().back()->id;
  document.next = {
      {.command = "show " + newest, .gain = "one of them: what it changed, and the value of every feature"},
      {.command = "plan speedrun_history", .gain = "what measuring records 12 to 18 here would take"}};
  return document;
}

Document scales_report(const Catalogue& catalogue) {
  Document document{.kind = "scales", .title = "Scales: the official configuration shrunk to hardware"};
  Table table{.id = "scales",
              .columns = {text_column("scale", "scale"), text_column("model_dim", "width"),
                          text_column("context", "context"), text_column("tokens_per_step", "tokens a step"),
                          text_column("steps", "steps"), wide_column("title", "what it is for")}};
  for (const Scale* scale : catalogue.scales()) {
    table.rows.push_back({text_cell(scale->id), divisor_cell(scale->model_dim_divisor),
                          divisor_cell(scale->context_divisor), divisor_cell(scale->tokens_per_step_divisor),
                          divisor_cell(scale->steps_divisor), text_cell(scale->title)});
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  document.next = {{.command = "show nano", .gain = "one of them: what it keeps and what it cannot keep"}};
  return document;
}

namespace {

constexpr const char* kOfferedScale = "nano";  ///< of a suite that names none
constexpr int kOfferedSeeds = 3;               ///< enough for a first measurement

/// A command that measures something, without --seeds, and the suite that it runs.
struct OfferedAblation {
  std::string command;
  suites::Suite suite;
};

/// The command with seeds, and what it gives after its price.
NextStep measured_step(const OfferedAblation& offered, const Catalogue& catalogue, const results::Store* store,
                       const std::string& gain) {
  suites::Suite suite = offered.suite;
  suite.scale = kOfferedScale;
  suite.seeds.clear();
  for (int seed = 1; seed <= kOfferedSeeds; ++seed) suite.seeds.push_back(static_cast<std::uint64_t>(seed));
  const suites::Matrix matrix = suites::make_matrix(suite, catalogue);
  const auto runs = static_cast<std::int64_t>(matrix.cells.size() * suite.seeds.size());
  return {
      .command = offered.command + " --seeds " + std::to_string(kOfferedSeeds),
      .gain = suite_price(store, suite, matrix) + gain + ": " + counted(runs, "run") + " at scale " + kOfferedScale};
}

/// The command that measures the feature alone, from the record that it names as its base; nullopt if it does not act
/// there at scale nano.
std::optional<OfferedAblation> ablation_of(const Catalogue& catalogue, const Feature& feature) {
  ablations::ResolveRequest request{.record = feature.base, .scale = kOfferedScale};
  std::string options;
  const auto add = [&](std::int64_t need, const char* option, std::optional<std::int64_t>& member) {
    if (need <= 1) return;
    member = need;
    options += std::string(" ") + option + " " + std::to_string(need);
  };
  add(feature.needs.ranks, "--ranks", request.ranks);
  add(feature.needs.processes, "--processes", request.processes);
  if (feature.needs.gpu) options += " --device cuda";
  request.device = core::DeviceChoice{.is_gpu = feature.needs.gpu};
  try {
    const ablations::Resolved base = ablations::resolve(catalogue, request);
    const auto now = base.effective.find(feature.id);
    if (now == base.effective.end()) return std::nullopt;
    const bool is_there = now->second == feature.after;
    request.settings[feature.id] = is_there ? feature.before : feature.after;
    if (ablations::resolve(catalogue, request).config.digest() == base.config.digest()) return std::nullopt;
    if (!is_there && now->second != feature.before) return std::nullopt;
    OfferedAblation offered{.command = "ablate --base " + feature.base + " --design " +
                                       (is_there ? "leave_one_out" : "add_one_in") + " --features " + feature.id +
                                       options,
                            .suite = {}};
    offered.suite.name = "ablate";
    offered.suite.design = is_there ? suites::Design::kLeaveOneOut : suites::Design::kAddOneIn;
    offered.suite.base_record = feature.base;
    offered.suite.features = {{.id = feature.id, .value = std::nullopt, .values = {}}};
    offered.suite.ranks = request.ranks;
    offered.suite.processes = request.processes;
    offered.suite.device = *request.device;
    return offered;
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return std::nullopt;
  }
}

}  // namespace

Document feature_report(const Catalogue& catalogue, const std::string& id, const results::Store* store) {
  const Feature& feature = catalogue.feature(id);
  Document document{.kind = "feature", .title = feature.id + ": " + feature.title};
  Section& head = document.sections.emplace_back();
  if (!feature.text.empty()) head.paragraphs.push_back(feature.text);
  FactList list;
  list.add("feature", "feature", feature.id);
  const bool is_system = feature.kind == ablations::FeatureKind::kSystems;
  list.add("kind", "kind",
           value_cell(is_system ? "systems: the losses must stay bit-identical" : "numerics: the losses change",
                      enum_name(feature.kind)));
  list.add("introduced_record", "introduced in record", count_cell(feature.introduced_record));
  if (!feature.analyses.empty()) list.add("analyses", "change analyses", joined(feature.analyses));
  if (!feature.changes.empty()) list.add("changes", "documented changes", changes_cell(feature.changes));
  if (!feature.is_applicable()) {
    list.add("not_applicable", "cannot be set", *feature.not_applicable);
    list.add("source", "file", feature.source);
    head.facts = std::move(list.facts);
    document.next = {{.command = "list features", .gain = "the others, most of which can be set"}};
    return document;
  }
  list.add("before", "before", feature.before);
  list.add("after", "after", feature.after);
  if (const std::string needs = needs_text(feature.needs); !needs.empty()) list.add("needs", "acts only with", needs);
  for (std::size_t i = 0; i < feature.requirements.size(); ++i) {
    list.add("requires_" + std::to_string(i), "requires", relation_text(feature.requirements[i], "requires"));
  }
  for (std::size_t i = 0; i < feature.conflicts.size(); ++i) {
    list.add("conflicts_" + std::to_string(i), "conflicts", relation_text(feature.conflicts[i], "excludes"));
  }
  list.add("source", "file", feature.source);
  head.facts = std::move(list.facts);
  head.tables.push_back(values_table(feature));
  head.tables.push_back(use_table(catalogue, feature));
  if (const std::optional<OfferedAblation> ablation = ablation_of(catalogue, feature)) {
    document.next = {
        {.command = ablation->command + " --dry-run", .gain = "the cells that would measure it; trains nothing"},
        measured_step(*ablation, catalogue, store, "measures it")};
  } else {
    document.next = {{.command = "show " + feature.base, .gain = "a record where it applies"}};
  }
  return document;
}

Document record_report(const Catalogue& catalogue, const ablations::ResolveRequest& request,
                       const results::Store* store) {
  const Record& record = catalogue.record(request.record);
  const ablations::Resolved resolved = ablations::resolve(catalogue, request);
  Document document{.kind = "record", .title = record.id + ": " + record.title};
  Section& head = document.sections.emplace_back();
  FactList list;
  list.add("record", "record", record.id);
  list.add("date", "date", record.date);
  list.add("parent", "parent", record.parent ? text_cell(*record.parent) : missing_cell());
  list.add("changes", "changed", joined(record.changes, "; "));
  list.add_if("note", "note", record.note);
  add_published(list, record.published);
  list.add("source", "file", record.source);
  head.facts = std::move(list.facts);
  document.sections.push_back(size_section(resolved.config, request.scale));
  document.sections.back().tables.push_back(memory_table(core::memory_counts(resolved.config)));
  document.sections.emplace_back().tables.push_back(
      settings_table(catalogue, resolved, request.settings.empty() ? record.features : resolved.settings));
  document.notes = core::texts_of(resolved.messages);
  document.notes.insert(document.notes.end(), resolved.scale_notes.begin(), resolved.scale_notes.end());
  document.next = {
      {.command = "show " + record.id + " --config", .gain = "every setting, ready for `nanobench train`"}};
  if (record.parent) {
    document.next.push_back(
        {.command = "diff " + *record.parent + " " + record.id, .gain = "what it changed, setting by setting"});
    OfferedAblation offered{.command = "ablate --design history --records " + *record.parent + "," + record.id,
                            .suite = {}};
    offered.suite.name = "ablate";
    offered.suite.records = {*record.parent, record.id};
    document.next.push_back(measured_step(offered, catalogue, store, "measures that step here"));
  }
  return document;
}

Document scale_report(const Catalogue& catalogue, const std::string& id) {
  const Scale& scale = catalogue.scale(id);
  Document document{.kind = "scale", .title = scale.id + ": " + scale.title};
  Section& head = document.sections.emplace_back();
  if (!scale.text.empty()) head.paragraphs.push_back(scale.text);
  FactList list;
  list.add("scale", "scale", scale.id);
  list.add("model_dim_divisor", "width", divisor_cell(scale.model_dim_divisor));
  list.add("num_heads_divisor", "heads", divisor_cell(scale.num_heads_divisor));
  list.add("context_divisor", "context", divisor_cell(scale.context_divisor));
  list.add("tokens_per_step_divisor", "tokens a step", divisor_cell(scale.tokens_per_step_divisor));
  list.add("steps_divisor", "steps", divisor_cell(scale.steps_divisor));
  list.add("vocab_size", "vocabulary", count_cell(scale.vocab_size));
  list.add("ranks", "ranks", count_cell(scale.ranks));
  list.add("val_tokens", "validation tokens", count_cell(scale.val_tokens));
  list.add("val_every", "validation every", count_cell(scale.val_every));
  list.add("untimed_steps", "untimed steps", count_cell(scale.untimed_steps));
  list.add("holds", "holds", settings_cell(scale.holds));
  list.add("source", "file", scale.source);
  head.facts = std::move(list.facts);
  const ablations::Resolved example = ablations::resolve(catalogue, {.record = "record17", .scale = id});
  document.sections.push_back(size_section(example.config, id + " (record17)"));
  document.notes = example.scale_notes;
  document.next = {{.command = "plan speedrun_history --scale " + id, .gain = "what a suite would take at this scale"}};
  return document;
}

namespace {

TableCell setting_cell(const core::Json& value) {
  if (value.is_null()) return missing_cell();
  TableCell cell = json_cell(value);
  if (value.is_string()) cell.text = value.get<std::string>();
  return cell;
}

Table differing_features(const ablations::Catalogue& catalogue, const std::string& a, const std::string& b,
                         const std::vector<ablations::FeatureDifference>& features) {
  Table table{.id = "features",
              .title = "Features",
              .columns = {text_column("feature", "feature"), text_column("a", a), text_column("b", b),
                          wide_column("title", "what it is", 1)}};
  for (const ablations::FeatureDifference& item : features) {
    table.rows.push_back({text_cell(item.feature), text_or_missing(item.a.value_or("")),
                          text_or_missing(item.b.value_or("")), text_cell(catalogue.feature(item.feature).title)});
  }
  return table;
}

Table unexplained_settings(const std::string& a, const std::string& b,
                           const std::vector<ablations::SettingDifference>& settings) {
  Table table{.id = "settings",
              .title = "Settings that no feature explains",
              .columns = {text_column("setting", "setting"), wide_column("a", a), wide_column("b", b)}};
  for (const ablations::SettingDifference& item : settings) {
    table.rows.push_back({text_cell(item.pointer), setting_cell(item.a), setting_cell(item.b)});
  }
  return table;
}

Table circumstances_table(const std::string& a, const std::string& b, const std::vector<Circumstance>& all) {
  Table table{.id = "circumstances",
              .title = "Circumstances",
              .columns = {text_column("what", "what"), wide_column("a", a), wide_column("b", b)}};
  for (const Circumstance& item : all) {
    if (item.a == item.b) continue;
    table.rows.push_back({value_cell(item.title, item.key), text_cell(item.a), text_cell(item.b)});
  }
  return table;
}

}  // namespace

Document difference_report(const ablations::Catalogue& catalogue, const std::string& a, const std::string& b,
                           const ablations::ConfigDifference& difference,
                           const std::vector<Circumstance>& circumstances) {
  Document document{.kind = "difference", .title = a + " against " + b};
  Section& section = document.sections.emplace_back();
  section.facts = {{.key = "a", .title = "A", .cell = text_cell(a)}, {.key = "b", .title = "B", .cell = text_cell(b)}};
  section.tables = {differing_features(catalogue, a, b, difference.features),
                    unexplained_settings(a, b, difference.settings)};
  if (!circumstances.empty()) section.tables.push_back(circumstances_table(a, b, circumstances));
  if (difference.settings.empty()) {
    document.notes.emplace_back(difference.features.empty() ? "The two configurations compute the same."
                                                            : "The features explain every setting that differs.");
  }
  if (!difference.features.empty()) {
    document.next = {{.command = "show " + difference.features.front().feature, .gain = "what such a feature is"}};
  }
  return document;
}

}  // namespace nanobench::reports

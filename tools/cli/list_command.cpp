// `nanobench list KIND`: names with one line about each.
#include <CLI/CLI.hpp>
#include <memory>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/config/settings_reference.h"
#include "reports/kinds/kinds.h"
#include "results/store.h"
#include "suites/design/suite.h"
#include "tools/cli/list_kinds.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

struct ListOptions {
  std::string kind = "all";
  std::string database;
  std::string catalogue;
  std::string suite;
  std::optional<std::int64_t> limit;
  DocumentOptions output;
};

constexpr const char* kListFooter =
    "Examples:\n"
    "  nanobench list                      features, records, scales and suites\n"
    "  nanobench list features\n"
    "  nanobench list settings             every field of a configuration: type, unit, range, default, meaning\n"
    "  nanobench list settings --out settings.md\n"
    "  nanobench list claims               the claims of published analyses, and what would decide each\n"
    "  nanobench list plans                what was run, and how much of it is done\n"
    "  nanobench list runs --limit 20\n"
    "  nanobench list runs --json | jq '.tables.runs[].final_val_loss'";

reports::Document suites_report() {
  reports::Document document{.kind = "suites", .title = "Suites"};
  reports::Table table{.id = "suites",
                       .columns = {{.key = "suite", .title = "suite"},
                                   {.key = "design", .title = "design"},
                                   {.key = "scale", .title = "scale"},
                                   {.key = "title", .title = "title", .wraps = true},
                                   {.key = "file", .title = "file", .priority = 1}}};
  for (const std::filesystem::path& file : suite_files()) {
    try {
      const suites::Suite suite = suites::read_suite_file(file);
      table.rows.push_back({reports::text_cell(suite.name), reports::text_cell(enum_name(suite.design)),
                            reports::text_cell(suite.scale), reports::text_cell(suite.title),
                            reports::text_cell(file.string())});
    } catch (const core::Error& error) {  // one broken file must not hide the others
      rethrow_internal(error);
      document.warnings.emplace_back(error.what());
    }
  }
  if (table.rows.empty()) {
    document.notes.push_back("This installation has no suites; name a suite by its file.");
  } else {
    document.next = {{.command = "show speedrun_history", .gain = "one of them: its cells"},
                     {.command = "plan speedrun_history", .gain = "what it will take and can show; trains nothing"}};
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

std::string range_text(const core::SettingReference& setting) {
  if (!setting.values.empty()) return joined(setting.values);
  if (!setting.range) return "";
  const char* end = setting.range->includes_high ? " to " : " to below ";
  return setting.range->low.dump() + end + setting.range->high.dump() + (setting.is_optional ? ", or null" : "");
}

reports::TableCell range_cell(const core::SettingReference& setting) {
  core::OrderedJson value;
  if (!setting.values.empty()) value = setting.values;
  if (setting.range) value = {setting.range->low, setting.range->high};
  return {.text = range_text(setting), .detail = "", .value = std::move(value)};
}

reports::TableCell conditions_cell(const std::vector<core::SettingCondition>& conditions) {
  reports::TableCell cell{.text = "", .detail = "", .value = core::OrderedJson::array()};
  for (const core::SettingCondition& condition : conditions) {
    cell.text += (cell.text.empty() ? "" : ", ") + condition.pointer + " = " + condition.value;
    cell.value.push_back({{"setting", condition.pointer}, {"value", condition.value}});
  }
  return cell;
}

std::vector<reports::TableCell> setting_row(const core::SettingReference& setting) {
  const bool is_group = setting.type == core::SettingType::kGroup;
  const std::string standard = is_group ? "" : setting.default_value.dump();
  return {reports::text_cell(setting.pointer),
          reports::text_cell(enum_name(setting.type)),
          reports::text_cell(setting.unit),
          range_cell(setting),
          {.text = standard, .detail = "", .value = setting.default_value},
          conditions_cell(setting.conditions),
          reports::text_cell(setting.meaning)};
}

/// Every setting of a training configuration; docs/settings.md is this document.
reports::Document settings_report() {
  reports::Document document{.kind = "settings", .title = "Settings of a training configuration"};
  for (const core::SettingReference& setting : core::settings_reference()) {
    const std::string name = setting.pointer.substr(1);
    const bool is_top = name.find('/') == std::string::npos;
    if (is_top) {
      reports::Section& section = document.sections.emplace_back();
      section.title = name;
      if (setting.type == core::SettingType::kGroup) section.paragraphs = {setting.meaning};
      section.tables.push_back(
          {.id = name,
           .columns = {{.key = "setting", .title = "setting"},
                       {.key = "type", .title = "type"},
                       {.key = "unit", .title = "unit", .priority = 3},
                       {.key = "range", .title = "range or values", .wraps = true},
                       {.key = "default", .title = "default", .wraps = true},
                       {.key = "active_when", .title = "active when", .wraps = true, .priority = 2},
                       {.key = "meaning", .title = "meaning", .wraps = true, .priority = 1}}});
    }
    if (!is_top || setting.type != core::SettingType::kGroup)
      document.sections.back().tables.back().rows.push_back(setting_row(setting));
  }
  document.next = {{.command = "show record17 --scale nano --config", .gain = "a record's value of each of them"},
                   {.command = "diff record16 record17", .gain = "those that two records differ in"}};
  return document;
}

/// Merges the parts of several documents into one.
reports::Document merged(const std::vector<reports::Document>& parts) {
  reports::Document whole{.kind = "all", .title = ""};
  for (const reports::Document& part : parts) {
    for (reports::Section section : part.sections) {
      section.title = part.title;
      whole.sections.push_back(std::move(section));
    }
    whole.warnings.insert(whole.warnings.end(), part.warnings.begin(), part.warnings.end());
  }
  whole.next = {{.command = "show attention_skip", .gain = "a feature, record, scale or suite by its name"}};
  whole.notes.push_back(
      "`nanobench show NAME` prints one of them. `nanobench list settings`, `list claims`, `list plans` and `list "
      "runs` "
      "print the settings, the claims, and what is stored.");
  return whole;
}

reports::Document overview(const ListOptions& options) {
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue);
  return merged({reports::features_report(catalogue), reports::records_report(catalogue),
                 reports::scales_report(catalogue), suites_report()});
}

results::Store store_of(const ListOptions& options) {
  return results::Store(database_file(options.database), results::OpenMode::kReadOnly);
}

reports::Document runs_report(const ListOptions& options) {
  results::RunFilter filter;
  if (!options.suite.empty()) filter.suite = options.suite;
  filter.limit = options.limit;
  return reports::runs_report(store_of(options), filter);
}

struct ListKind {
  const char* name;
  reports::Document (*document)(const ListOptions& options);
};

/// What KIND may be; help, completion and refusals show these names.
constexpr ListKind kListKinds[] = {
    {"features", [](const ListOptions& o) { return reports::features_report(load_catalogue(o.catalogue)); }},
    {"settings", [](const ListOptions& /*options*/) { return settings_report(); }},
    {"records", [](const ListOptions& o) { return reports::records_report(load_catalogue(o.catalogue)); }},
    {"scales", [](const ListOptions& o) { return reports::scales_report(load_catalogue(o.catalogue)); }},
    {"claims",
     [](const ListOptions& o) {
       return reports::claims_report(load_catalogue(o.catalogue, ablations::CatalogueParts::kAll));
     }},
    {"suites", [](const ListOptions& /*options*/) { return suites_report(); }},
    {"plans",
     [](const ListOptions& o) {
       return reports::plans_report(store_of(o), o.suite.empty() ? std::nullopt : std::optional(o.suite), o.limit);
     }},
    {"runs", runs_report}};

reports::Document document_of(const ListOptions& options) {
  if (options.kind == "all") return overview(options);
  for (const ListKind& kind : kListKinds) {
    if (options.kind == kind.name) return kind.document(options);
  }
  const std::vector<std::string> kinds = list_kinds();
  throw core::Error(core::ErrorCode::kInvalidArgument, "list " + options.kind + ": expected " + listed(kinds, "or") +
                                                           core::suggestion(options.kind, kinds));
}

}  // namespace

std::vector<std::string> list_kinds() {
  std::vector<std::string> names;
  for (const ListKind& kind : kListKinds) names.emplace_back(kind.name);
  return names;
}

void add_list_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command =
      app.add_subcommand("list", "List features, settings, records, scales, claims, suites, stored plans or runs");
  const auto options = std::make_shared<ListOptions>();
  command->add_option("KIND", options->kind,
                      listed(list_kinds(), "or") + " (default: features, records, scales and suites)");
  command->add_option("--suite", options->suite, "Only plans or runs of this suite")->type_name("NAME");
  command->add_option("--limit", options->limit, "Only the newest N plans or runs")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""));
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_file_options(*command, options->output);
  add_json_option(*command, options->output.is_json);
  command->footer(kListFooter);
  command->callback([options] { write(document_of(*options), chosen_format(options->output), options->output); });
}

}  // namespace nanobench::tools

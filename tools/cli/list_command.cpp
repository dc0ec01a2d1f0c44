// `nanobench list KIND`: what there is.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "core/base/error.h"
#include "reports/kinds/kinds.h"
#include "results/store.h"
#include "suites/design/suite.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/session.h"

namespace nanobench::tools {
namespace {

struct ListOptions {
  std::string kind = "all";
  std::string database;
  std::string catalogue;
  std::string suite;
  std::optional<std::int64_t> limit;
  bool is_json = false;
};

constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench list                      features, records, scales and suites\n"
    "  nanobench list features\n"
    "  nanobench list claims               what analyses say of the records, and what would decide it\n"
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
      table.rows.push_back({reports::text_cell(suite.name), reports::text_cell(to_string(suite.design)),
                            reports::text_cell(suite.scale), reports::text_cell(suite.title),
                            reports::text_cell(file.string())});
    } catch (const core::Error& error) {  // one broken file must not hide the others
      document.warnings.emplace_back(error.what());
    }
  }
  if (table.rows.empty()) {
    document.notes.push_back("No suites come along with this installation; name a suite by its file.");
  }
  document.sections.emplace_back().tables.push_back(std::move(table));
  return document;
}

/// The parts of several documents as one.
reports::Document joined(const std::vector<reports::Document>& parts) {
  reports::Document whole{.kind = "all", .title = ""};
  for (const reports::Document& part : parts) {
    for (reports::Section section : part.sections) {
      section.title = part.title;
      whole.sections.push_back(std::move(section));
    }
    whole.warnings.insert(whole.warnings.end(), part.warnings.begin(), part.warnings.end());
  }
  whole.notes.push_back(
      "`nanobench show NAME` prints one of them; `nanobench list claims` the claims, `nanobench list runs` the stored "
      "runs.");
  return whole;
}

reports::Document document_of(const ListOptions& options) {
  if (options.kind == "runs") {
    const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
    results::RunFilter filter;
    if (!options.suite.empty()) filter.suite = options.suite;
    filter.limit = options.limit;
    return reports::runs_report(store, filter);
  }
  if (options.kind == "suites") return suites_report();
  if (options.kind == "claims") {
    return reports::claims_report(load_catalogue(options.catalogue, ablations::CatalogueParts::kAll));
  }
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue);
  if (options.kind == "features") return reports::features_report(catalogue);
  if (options.kind == "records") return reports::records_report(catalogue);
  if (options.kind == "scales") return reports::scales_report(catalogue);
  return joined({reports::features_report(catalogue), reports::records_report(catalogue),
                 reports::scales_report(catalogue), suites_report()});
}

void check_kind(const std::string& kind) {
  const std::vector<std::string> kinds = {"all", "features", "records", "scales", "claims", "suites", "runs"};
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  throw core::Error(
      core::ErrorCode::kInvalidArgument,
      "list " + kind + ": expected features, records, scales, claims, suites or runs" + core::suggestion(kind, kinds));
}

}  // namespace

void add_list_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("list", "List features, records, scales, claims, suites or stored runs");
  const auto options = std::make_shared<ListOptions>();
  command->add_option("KIND", options->kind,
                      "features, records, scales, claims, suites, runs; without: all but claims and runs");
  command->add_option("--suite", options->suite, "Only this suite's runs")->type_name("NAME");
  command->add_option("--limit", options->limit, "Only the newest so many runs")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40).description(""));
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_json_option(*command, options->is_json);
  command->footer(kFooter);
  command->callback([options] {
    check_kind(options->kind);
    print(document_of(*options), options->is_json);
  });
}

}  // namespace nanobench::tools

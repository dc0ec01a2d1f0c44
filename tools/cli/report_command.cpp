// `nanobench report`: the stored results of a suite in the form that is asked for.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/process/command.h"
#include "reports/claims/ledger.h"
#include "reports/comparison/comparison.h"
#include "reports/kinds/kinds.h"
#include "tools/cli/chart_files.h"
#include "tools/cli/claim_ledger.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/session.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct ReportOptions {
  std::string suite;
  std::optional<std::int64_t> plan;
  std::optional<double> target;
  std::string charts;
  bool opens = false;
  std::string database;
  std::string catalogue;
  DocumentOptions document;
};

constexpr double kOpenSeconds = 20.0;
constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench report                                   the newest suite, as a table\n"
    "  nanobench report --suite speedrun_history --format md >>\"$GITHUB_STEP_SUMMARY\"\n"
    "  nanobench report --out report.html                 the name's end chooses the format\n"
    "  nanobench report --out report.md --charts charts   Markdown that links to pictures in charts/\n"
    "  nanobench report --open                            the page in a browser\n"
    "  nanobench report --target 3.28 --json";

results::PlanRecord find_plan(const results::Store& store, const ReportOptions& options) {
  if (options.plan) return store.plan(*options.plan);
  const std::optional<std::string> suite =
      options.suite.empty() ? std::nullopt : std::optional<std::string>(options.suite);
  if (std::optional<results::PlanRecord> plan = store.newest_plan(suite)) return *plan;
  if (!suite) {
    throw Error(ErrorCode::kNotFound,
                store.file().string() + " holds no results yet; `nanobench run SUITE` makes some");
  }
  std::vector<std::string> known;
  for (const results::PlanRecord& plan : store.plans()) known.push_back(plan.suite);
  throw Error(ErrorCode::kNotFound, store.file().string() + " holds no results of the suite " + *suite +
                                        core::suggestion(*suite, known) +
                                        "; `nanobench list runs` shows what it holds");
}

void open_in_browser(const std::filesystem::path& file) {
  // The browser that it may start stays when we go.
  const core::CommandResult result =
      core::run_command({"xdg-open", file.string()}, {.seconds = kOpenSeconds, .group = core::ChildGroup::kOurs});
  if (result.start_error == 0 && result.exit.is_success()) return;
  throw Error(ErrorCode::kNotFound, "xdg-open could not open a browser; the page is " + file.string());
}

/// Where the page is written that a browser opens.
std::filesystem::path page_file(const ReportOptions& options) {
  if (!options.document.out.empty()) return std::filesystem::absolute(options.document.out);
  std::filesystem::create_directories(cache_folder());
  return cache_folder() / "report.html";
}

/// What was claimed of the records that the plan has, beside what is known now.
void add_ledger(reports::Document& document, const results::Store& store, const results::PlanRecord& plan,
                const ReportOptions& options) {
  const ClaimLedger ledger =
      claim_ledger(&store, options.catalogue, {.ids = {}, .analysis = {}, .records = records_of(plan)}, std::nullopt);
  if (ledger.entries.empty()) return;
  reports::add_ledger_section(document, ledger.entries, ledger.scale);
}

reports::Document document_of(const results::Store& store, const results::PlanRecord& plan,
                              const ReportOptions& options, Format format) {
  const bool has_provenance = format != Format::kTable && format != Format::kCsv;
  if (is_of_claims(plan)) return ledger_of_plan(store, plan, options.catalogue, has_provenance);
  const reports::ComparisonOptions comparison{
      .published_step_ms = reports::published_step_ms(load_catalogue(options.catalogue)),
      .target = options.target,
      .has_charts = format == Format::kHtml || !options.charts.empty(),
      .has_provenance = has_provenance};
  reports::Document document = reports::comparison_report(store, plan, comparison);
  if (comparison.has_charts) add_ledger(document, store, plan, options);
  return document;
}

void report(const ReportOptions& options) {
  Format format = chosen_format(options.document);
  if (options.opens && format == Format::kTable) format = Format::kHtml;
  if (options.opens && format != Format::kHtml)
    throw Error(ErrorCode::kInvalidArgument, "--open shows HTML; leave --json, --format and other names of --out out");
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  const results::PlanRecord plan = find_plan(store, options);
  reports::Document document = document_of(store, plan, options, format);
  if (!options.charts.empty()) {
    const std::string problem = write_chart_files(document, options.charts, options.charts);
    if (!problem.empty()) std::cerr << "nanobench: " << problem << "\n";
  }
  DocumentOptions form = options.document;
  if (options.opens) form.out = page_file(options).string();
  write(document, format, form);
  if (options.opens) open_in_browser(form.out);
}

}  // namespace

void add_report_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("report", "Report stored results: table, Markdown, HTML, JSON, CSV");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("--suite", options->suite, "The newest results of this suite (default: of any)")
      ->type_name("NAME");
  command->add_option("--plan", options->plan, "This stored plan")->type_name("N");
  command->add_option("--target", options->target, "Validation loss of \"time to target\"")->type_name("LOSS");
  command
      ->add_option("--charts", options->charts,
                   "Also write the charts there, as Vega-Lite and SVG; Markdown links to them")
      ->type_name("DIR");
  command->add_flag("--open", options->opens, "Show the page in a browser");
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_document_options(*command, options->document);
  command->footer(kFooter);
  command->callback([options] { report(*options); });
}

}  // namespace nanobench::tools

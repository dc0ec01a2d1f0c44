// `nanobench report`: the stored results of a suite in the form that is asked for.
#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <string_view>

#include "core/base/error.h"
#include "core/data/atomic_write.h"
#include "reports/kinds/comparison_report.h"
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
  std::string format;
  std::string out;
  std::string database;
  std::string catalogue;
  bool is_json = false;
};

constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench report                                   the newest suite, as a table\n"
    "  nanobench report --suite speedrun_history --format md >>\"$GITHUB_STEP_SUMMARY\"\n"
    "  nanobench report --out report.html                 the name's end chooses the format\n"
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

void report(const ReportOptions& options) {
  const Format format = chosen_format(options.is_json, options.format, options.out);
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  const results::PlanRecord plan = find_plan(store, options);
  const reports::ComparisonOptions comparison{
      .published_step_ms = reports::published_step_ms(load_catalogue(options.catalogue)),
      .target = options.target,
      .has_charts = format == Format::kHtml};
  const std::string text = render(reports::comparison_report(store, plan, comparison), format);
  if (options.out.empty()) {
    std::cout << text;
    return;
  }
  const std::array<std::string_view, 1> pieces = {text};
  core::write_file_atomically(options.out, pieces);
}

}  // namespace

void add_report_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("report", "Report stored results: table, Markdown, HTML, JSON, CSV");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("--suite", options->suite, "The newest results of this suite (default: of any)")
      ->type_name("NAME");
  command->add_option("--plan", options->plan, "This stored plan")->type_name("N");
  command->add_option("--target", options->target, "Validation loss of \"time to target\"")->type_name("LOSS");
  command->add_option("--format", options->format, "table, md, html, json, csv")->type_name("FORMAT");
  command->add_option("--out", options->out, "Write to a file (complete or not at all)")->type_name("FILE");
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_json_option(*command, options->is_json);
  command->footer(kFooter);
  command->callback([options] { report(*options); });
}

}  // namespace nanobench::tools

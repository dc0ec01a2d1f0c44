// `nanobench trend SUITE`: the results of a suite over the revisions of a program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/charts/charts.h"
#include "reports/kinds/kinds.h"
#include "reports/trend/trend.h"
#include "suites/design/suite.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kMaxTableRows = 100;  // on a terminal or in a log; the other formats have all

struct TrendOptions {
  std::string suite;
  std::vector<std::string> cells;
  std::vector<std::string> metrics;
  std::optional<std::int64_t> last;
  std::string host;
  double alpha = reports::TrendSettings{}.alpha;
  std::string database;
  DocumentOptions document;
};

constexpr const char* kTrendFooter =
    "Examples:\n"
    "  nanobench trend leave_one_out                                loss, step time, memory of every cell\n"
    "  nanobench trend smoke_gate --cell record17 --metric step_time --last 30\n"
    "  nanobench trend smoke_gate --out trend.html                  the extension chooses the format\n"
    "  nanobench trend speedrun_history --json\n"
    "\n"
    "Compares runs of one cell over the revisions of the engine, or of an external trainer's files. The runs must "
    "agree in\n"
    "configuration, data, machine and threads, and for times in the host; others are named and left out. trend prints\n"
    "where a series changed and by how much, and whether the newest revision fits those before.\n"
    "Exit codes: 0 answered, changed or not; 2 usage; 3 too few runs for an answer.";

/// A suite's name, or the name in a suite file.
std::string suite_name(const results::Store& store, const std::string& text) {
  results::RunFilter filter;
  filter.suite = text;
  filter.limit = 1;
  if (!store.runs(filter).empty() || store.newest_plan(text)) return text;
  if (text.ends_with(".json")) return suites::read_suite_file(find_suite(text)).name;
  std::set<std::string> known;
  for (const results::RunRecord& run : store.runs()) known.insert(run.suite);
  throw Error(ErrorCode::kNotFound, store.file().string() + " holds no results of the suite " + text +
                                        core::suggestion(text, {known.begin(), known.end()}) +
                                        "; `nanobench list runs" + typed_database() + "` lists its runs");
}

void check_cells(const std::vector<reports::TrendRun>& runs, const TrendOptions& options) {
  std::set<std::string> cells;
  std::set<std::string> hosts;
  for (const reports::TrendRun& run : runs) {
    cells.insert(run.cell);
    hosts.insert(run.conditions.host);
  }
  const auto check = [](const std::set<std::string>& known, const std::string& name, const char* option) {
    if (known.contains(name)) return;
    throw Error(ErrorCode::kNotFound, std::string(option) + " " + name + ": the suite has no runs of it" +
                                          core::suggestion(name, {known.begin(), known.end()}));
  };
  for (const std::string& cell : options.cells) check(cells, cell, "--cell");
  if (!options.host.empty()) check(hosts, options.host, "--host");
}

reports::SeriesChoice choice_of(const TrendOptions& options) {
  reports::SeriesChoice choice{.cells = options.cells};
  if (options.metrics.empty())
    choice.metrics = {reports::TrendMetric::kLoss, reports::TrendMetric::kStepTime, reports::TrendMetric::kPeakMemory};
  for (const std::string& name : options.metrics) {
    const reports::TrendMetric metric = reports::parse_trend_metric(name);
    if (std::find(choice.metrics.begin(), choice.metrics.end(), metric) == choice.metrics.end())
      choice.metrics.push_back(metric);
  }
  if (!options.host.empty()) choice.host = options.host;
  if (options.last) {
    if (*options.last < 1) throw Error(ErrorCode::kInvalidArgument, "--last: expected a number of revisions above 0");
    choice.last_revisions = static_cast<std::size_t>(*options.last);
  }
  return choice;
}

int trend(const TrendOptions& options) {
  const Format format = chosen_format(options.document);
  const reports::SeriesChoice choice = choice_of(options);
  const results::Store store(database_file(options.database), results::OpenMode::kReadOnly);
  const std::string suite = suite_name(store, options.suite);
  const std::vector<reports::TrendRun> runs = reports::read_trend_runs(store, suite);
  check_cells(runs, options);
  const reports::Trend result = reports::analyse_trend(reports::make_series(runs, choice), {.alpha = options.alpha});
  const std::size_t max_rows = format == Format::kTable ? kMaxTableRows : std::numeric_limits<std::size_t>::max();
  reports::Document document = reports::trend_report(suite, result, max_rows);
  if (format == Format::kHtml) {
    reports::Section pictures{.title = "Charts"};
    pictures.charts = reports::trend_charts(result);
    if (!pictures.charts.empty()) document.sections.insert(document.sections.begin() + 1, std::move(pictures));
  }
  document.next = {
      {.command = "trend " + shell_words({suite}) + " --out trend.html", .gain = "the page with every series"}};
  write(document, format, options.document);
  return result.has_answer() ? core::kExitSuccess : core::kExitInconclusive;
}

}  // namespace

void add_trend_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("trend", "Find when the results of a suite changed over revisions");
  const auto options = std::make_shared<TrendOptions>();
  command->add_option("SUITE", options->suite, "Name or file of a suite with stored results")->required();
  command->add_option("--cell", options->cells, "Only this cell; may be repeated")
      ->type_name("LABEL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--metric", options->metrics,
                   "loss, step_time, train_time, peak_memory; may be repeated (default: all but train_time)")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--last", options->last, "Only the newest N revisions")->type_name("N");
  command->add_option("--host", options->host, "Only runs of this host")->type_name("NAME");
  add_share_option(*command, "--alpha", [options](double share) { options->alpha = share; },
                   "Chance of a false change over all series (default: 5%)", {0.0001, 0.5});
  add_database_option(*command, options->database);
  add_document_options(*command, options->document);
  command->footer(kTrendFooter);
  command->callback([options, &session] { session.exit_code = trend(*options); });
}

}  // namespace nanobench::tools

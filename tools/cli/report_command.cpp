// `nanobench report`: the stored results of a suite in any format.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/process/command.h"
#include "reports/claims/ledger.h"
#include "reports/comparison/comparison.h"
#include "reports/document/document.h"
#include "reports/kinds/kinds.h"
#include "reports/render/render.h"
#include "tools/cli/claim_ledger.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

struct ReportOptions {
  std::string suite;
  std::optional<std::int64_t> plan;
  std::optional<double> target;
  std::optional<double> divergence_loss;
  std::string charts;
  bool opens = false;
  bool uses_earlier_spread = false;
  std::string database;
  std::string catalogue;
  DocumentOptions document;
};

constexpr double kOpenSeconds = 20.0;
constexpr const char* kReportFooter =
    "Examples:\n"
    "  nanobench report                                   the newest suite, as a table\n"
    "  nanobench report --suite speedrun_history --format md >>\"$GITHUB_STEP_SUMMARY\"\n"
    "  nanobench report --out report.html                 the extension chooses the format\n"
    "  nanobench report --out report.md --charts charts   Markdown that links to pictures in charts/\n"
    "  nanobench report --open                            the page in a browser\n"
    "  nanobench report --target 3.28 --json";

constexpr int kChartWidth = 720;  // pixels, for charts that would fill the page
constexpr double kDrawSeconds = 120.0;
constexpr const char* kVegaLite = "5.21";  // as the pages have it (tools/setup/vl_convert.json)

// The colours of the pages' light theme, by Okabe and Ito.
constexpr const char* kConfig = R"({"background": "#ffffff", "font": "sans-serif",
  "mark": {"color": "#0072b2"},
  "legend": {"orient": "bottom", "columns": 5, "labelLimit": 260},
  "axis": {"labelLimit": 220, "gridColor": "#d1d9e0"},
  "range": {"category": ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3a98d0", "#5a3e99", "#444444"]}})";

constexpr const char* kDraw = R"(
import pathlib, sys, vl_convert
for name in sys.argv[2:]:
    file = pathlib.Path(name)
    svg = vl_convert.vegalite_to_svg(file.read_text(encoding="utf-8"), vl_version=sys.argv[1])
    part = file.with_name(file.name + ".part")
    part.write_text(svg, encoding="utf-8")
    part.replace(file.with_name(file.name.removesuffix(".vl.json") + ".svg"))
)";

/// The specification of a stand-alone chart.
core::OrderedJson still_spec(const reports::Chart& chart) {
  core::OrderedJson spec = reports::complete_spec(chart);
  if (spec.contains("width") && spec["width"] == "container") spec["width"] = kChartWidth;
  spec["config"] = core::parse_ordered_json(kConfig, "chart");
  return spec;
}

/// Draws the charts. Returns why there are no pictures, or "".
std::string draw(const std::vector<std::string>& files) {
  std::vector<std::string> words = {"/usr/bin/env"};
  if (const auto root = source_root()) words.push_back("PYTHONPATH=" + (*root / ".deps/vl_convert").string());
  words.insert(words.end(), {"python3", "-B", "-c", kDraw, kVegaLite});
  words.insert(words.end(), files.begin(), files.end());
  if (core::run_command(words, {.seconds = kDrawSeconds}).is_success()) return "";
  return "no pictures were drawn: Python's vl-convert is missing or failed (`./nanobench setup` installs it); the "
         "charts' "
         "Vega-Lite specifications were written";
}

/// Creates `folder` and writes NAME.vl.json for each chart, and NAME.svg if Python's vl_convert is found (in
/// .deps/vl_convert of the source tree, else on Python's path). `link` is the folder as named in the document. Returns
/// why no pictures were drawn, or "". Throws Error{kIo} if a file cannot be written.
std::string write_chart_files(reports::Document& document, const std::filesystem::path& folder,
                              const std::string& link) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<reports::Chart*> charts;
  std::vector<std::string> files;
  for (reports::Section& section : document.sections) {
    for (reports::Chart& chart : section.charts) {
      const std::filesystem::path file = folder / (chart.id + ".vl.json");
      core::write_file_atomically(file, core::safe_dump(still_spec(chart), 1) + "\n");
      charts.push_back(&chart);
      files.push_back(file.string());
    }
  }
  if (charts.empty()) return "";
  std::string problem = draw(files);
  if (problem.empty()) {
    for (reports::Chart* chart : charts) chart->file = (std::filesystem::path(link) / (chart->id + ".svg")).string();
  }
  return problem;
}

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
                                        core::suggestion(*suite, known) + "; `nanobench list runs" + typed_database() +
                                        "` shows what it holds");
}

void open_in_browser(const std::filesystem::path& file) {
  // A browser that it starts outlives this process.
  const core::CommandResult result =
      core::run_command({"xdg-open", file.string()}, {.seconds = kOpenSeconds, .group = core::ChildGroup::kOurs});
  if (result.start_error == 0 && result.exit.is_success()) return;
  throw Error(ErrorCode::kNotFound, "xdg-open could not open a browser; the page is " + file.string());
}

/// The page that a browser opens.
std::filesystem::path page_file(const ReportOptions& options) {
  if (!options.document.out.empty()) return std::filesystem::absolute(options.document.out);
  std::filesystem::create_directories(cache_folder());
  return cache_folder() / "report.html";
}

/// Adds the claims about the plan's records, judged by the current contents of the store. A page has them on a page of
/// their own beside it, PAGE_claims.html, if it is written to a file.
void add_ledger(reports::Document& document, const results::Store& store, const results::PlanRecord& plan,
                const ReportOptions& options, const std::filesystem::path& page) {
  const ClaimLedger ledger =
      claim_ledger(&store, options.catalogue, {.ids = {}, .analysis = {}, .records = records_of(plan)}, std::nullopt);
  if (ledger.entries.empty()) return;
  if (page.empty()) return reports::add_ledger_section(document, ledger.entries, ledger.scale);
  std::filesystem::path claims = page;
  claims.replace_filename(page.stem().string() + "_claims.html");
  reports::Document ledger_page = document_of(ledger);
  ledger_page.sections.push_back(
      {.links = {{.title = "Back to: " + document.title, .target = page.filename().string()}}});
  core::write_file_atomically(claims, reports::render_html(ledger_page));
  reports::add_ledger_link(document, ledger.entries, claims.filename().string());
}

/// The file that the page will be in; empty for other formats, standard output, and devices, which have no place beside
/// them.
std::filesystem::path page_of(const ReportOptions& options, Format format) {
  if (format != Format::kHtml) return {};
  const std::filesystem::path page = options.opens ? page_file(options) : std::filesystem::path(options.document.out);
  return page.extension() == ".html" || page.extension() == ".htm" ? page : std::filesystem::path();
}

reports::Document document_of(const results::Store& store, const results::PlanRecord& plan,
                              const ReportOptions& options, Format format) {
  const bool has_provenance = format != Format::kTable && format != Format::kCsv;
  if (is_of_claims(plan)) return ledger_of_plan(store, plan, options.catalogue, has_provenance);
  if (reports::is_of_bench(plan))
    return reports::bench_report(store, plan, format == Format::kJson || format == Format::kCsv);
  const ablations::Catalogue catalogue = load_catalogue(options.catalogue);
  const reports::ComparisonOptions comparison{.published_step_ms = reports::published_step_ms(catalogue),
                                              .target = options.target,
                                              .divergence_loss = options.divergence_loss,
                                              .uses_earlier_spread = options.uses_earlier_spread,
                                              .has_charts = format == Format::kHtml || !options.charts.empty(),
                                              .has_provenance = has_provenance,
                                              .records = reports::record_facts(catalogue)};
  reports::Document document = reports::comparison_report(store, plan, comparison);
  if (comparison.has_charts) add_ledger(document, store, plan, options, page_of(options, format));
  return document;
}

void report(const ReportOptions& options) {
  Format format = chosen_format(options.document);
  if (options.opens && format == Format::kTable) format = Format::kHtml;
  if (options.opens && format != Format::kHtml)
    throw Error(ErrorCode::kInvalidArgument,
                "--open shows HTML; leave out --json, --format, and a name for --out that does not end in .html");
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
  command->add_option("--suite", options->suite, "Report the newest results of this suite (default: of any suite)")
      ->type_name("NAME");
  command->add_option("--plan", options->plan, "Report this stored plan")->type_name("N");
  add_loss_option(*command, "--target", options->target, "Validation loss of \"time to target\"");
  add_loss_option(*command, "--diverged-above", options->divergence_loss,
                  "In a sweep of all rates, validation loss from which a run counts as diverged (default: its first)");
  command
      ->add_option("--charts", options->charts,
                   "Also write the charts into this folder, as Vega-Lite and SVG; Markdown links to them")
      ->type_name("DIR");
  command->add_flag("--earlier-spread", options->uses_earlier_spread,
                    "Judge losses also by the spread that earlier plans of the suite show");
  command->add_flag("--open", options->opens, "Open the page in a browser");
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_document_options(*command, options->document);
  command->footer(kReportFooter);
  command->callback([options] { report(*options); });
}

}  // namespace nanobench::tools

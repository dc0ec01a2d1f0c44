// `nanobench claims`: what analyses claim, beside what was published and what was measured here.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <string_view>

#include "core/base/error.h"
#include "core/base/exit_codes.h"
#include "core/data/atomic_write.h"
#include "reports/kinds/ledger_report.h"
#include "tools/cli/claim_ledger.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/session.h"
#include "tools/cli/suite_run.h"

namespace nanobench::tools {
namespace {

using ablations::Claim;
using core::Error;
using core::ErrorCode;

constexpr const char* kSuite = "seed_claims";
constexpr const char* kFooter =
    "Examples:\n"
    "  nanobench claims                                   what is known without a run, and from stored ones\n"
    "  nanobench claims --measure                         trains and times what is missing, at scale nano\n"
    "  nanobench claims --analysis 003 --verdict contradicted\n"
    "  nanobench claims seed000_newton_schulz_optimized --measure --seeds 5\n"
    "  nanobench claims --out claims.html\n"
    "\n"
    "A claim is settled by its configuration, by counting, by published figures, by timing one operation or by "
    "training\n"
    "runs: its file says which (`nanobench show CLAIM`). Runs are stored as suite seed_claims and reused.";

struct ClaimsOptions {
  std::vector<std::string> claims;
  std::string analysis;
  std::vector<std::string> verdicts;
  bool measures = false;
  SuiteSettings settings;
  SuiteRunOptions run;
  std::string format;
  std::string out;
};

std::vector<reports::LedgerVerdict> chosen_verdicts(const ClaimsOptions& options) {
  using reports::LedgerVerdict;
  constexpr std::array<LedgerVerdict, 5> kAll = {LedgerVerdict::kSupported, LedgerVerdict::kContradicted,
                                                 LedgerVerdict::kInconclusive, LedgerVerdict::kNotMeasured,
                                                 LedgerVerdict::kNotMeasurable};
  std::vector<std::string> known;
  for (const LedgerVerdict verdict : kAll) {
    known.emplace_back(to_string(verdict));
    std::replace(known.back().begin(), known.back().end(), ' ', '_');
  }
  std::vector<LedgerVerdict> chosen;
  for (const std::string& name : options.verdicts) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw Error(ErrorCode::kInvalidArgument, "--verdict " + name + ": there is no such verdict" +
                                                   core::suggestion(name, known) +
                                                   "; supported, contradicted, inconclusive, not_measured and "
                                                   "not_measurable_here are");
    chosen.push_back(kAll[static_cast<std::size_t>(found - known.begin())]);
  }
  return chosen;
}

/// The suite of the claims that need runs; nullopt when none does.
std::optional<suites::Suite> suite_of(const std::vector<const Claim*>& claims, const ClaimsOptions& options) {
  suites::Suite suite =
      suites::with_overrides(suites::read_suite_file(find_suite(kSuite)), overrides_of(options.settings));
  suite.claims.clear();
  for (const Claim* claim : claims) {
    if (ablations::needs_runs(*claim)) suite.claims.push_back(claim->id);
  }
  return suite.claims.empty() ? std::nullopt : std::optional(std::move(suite));
}

/// Runs what is missing. Returns the exit code.
int measure(const ClaimChoice& choice, const ClaimsOptions& options, const Session& session) {
  const ablations::Catalogue catalogue = load_catalogue(options.run.catalogue, ablations::CatalogueParts::kAll);
  const std::optional<suites::Suite> suite = suite_of(chosen_claims(catalogue, choice), options);
  if (!suite) return core::kExitSuccess;
  const suites::Plan plan = plan_suite(*suite, options.run);
  results::Store store(database_file(options.run.database));
  const suites::SuiteRunResult result =
      run_plans({&plan}, store, {.is_fresh = options.run.is_fresh, .argv = session.argv}, options.run).front();
  return result.is_interrupted ? core::kExitInterrupted : core::kExitSuccess;  // a failed cell is a row with a reason
}

void write(const reports::Document& document, Format format, const std::string& out, Notes notes) {
  const std::string text = render(document, format, notes);
  if (out.empty()) {
    std::cout << text;
    return;
  }
  const std::array<std::string_view, 1> pieces = {text};
  core::write_file_atomically(out, pieces);
}

int claims_ledger(const ClaimsOptions& options, const Session& session) {
  const Format format = chosen_format(options.run.is_json, options.format, options.out);
  const std::vector<reports::LedgerVerdict> verdicts = chosen_verdicts(options);
  const ClaimChoice choice{.ids = options.claims, .analysis = options.analysis, .records = std::nullopt};
  const std::optional<std::string> scale =
      options.settings.scale.empty() ? std::nullopt : std::optional(options.settings.scale);
  const int exit_code = options.measures ? measure(choice, options, session) : core::kExitSuccess;
  std::optional<results::Store> store;
  const std::filesystem::path file = database_file(options.run.database);
  std::error_code ignored;
  if (!options.run.database.empty() || std::filesystem::exists(file, ignored))
    store.emplace(file, results::OpenMode::kReadOnly);
  ClaimLedger ledger = claim_ledger(store ? &*store : nullptr, options.run.catalogue, choice, scale);
  if (scale) ledger.catalogue.scale(*scale);  // a misspelt one is no scale without results
  std::vector<reports::LedgerEntry>& entries = ledger.entries;
  std::erase_if(entries, [&](const reports::LedgerEntry& entry) {
    return !verdicts.empty() && std::find(verdicts.begin(), verdicts.end(), entry.verdict) == verdicts.end();
  });
  write(reports::ledger_report(entries, ledger.scale), format, options.out, notes_of(options.run));
  return exit_code;
}

}  // namespace

void add_claims_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("claims", "What analyses claim, beside what was published and measured: verdicts");
  const auto options = std::make_shared<ClaimsOptions>();
  command->add_option("CLAIM", options->claims, "Only these (default: all)");
  command->add_option("--analysis", options->analysis, "Only the claims of one analysis, 000 to 004")->type_name("NNN");
  command
      ->add_option("--verdict", options->verdicts,
                   "Only supported, contradicted, inconclusive, not_measured or not_measurable_here; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--measure", options->measures, "First run what is missing");
  add_suite_settings(*command, options->settings);
  add_suite_run_options(*command, options->run);
  command->add_option("--format", options->format, "table, md, html, json, csv")->type_name("FORMAT");
  command->add_option("--out", options->out, "Write to a file (complete or not at all)")->type_name("FILE");
  command->footer(kFooter);
  command->callback([options, &session] { session.exit_code = claims_ledger(*options, session); });
}

}  // namespace nanobench::tools

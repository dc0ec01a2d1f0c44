// `nanobench claims`: the claims of published analyses beside published and measured figures.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/forecast/run_cost.h"
#include "tools/cli/claim_ledger.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"
#include "tools/cli/suite_run.h"

namespace nanobench::tools {
namespace {

using ablations::Claim;
using core::Error;
using core::ErrorCode;
using reports::LedgerVerdict;

constexpr const char* kSuite = "seed_claims";
constexpr const char* kClaimsFooter =
    "Examples:\n"
    "  nanobench claims                                   verdicts that need no run, and those of stored runs\n"
    "  nanobench claims --measure                         trains and times what is missing, at scale nano\n"
    "  nanobench claims --analysis 003 --verdict contradicted\n"
    "  nanobench claims seed000_newton_schulz_optimized --measure --seeds 5\n"
    "  nanobench claims --out claims.html\n"
    "\n"
    "Configurations, counts, published figures, the time of one operation, or training runs decide a claim; its file\n"
    "names which (`nanobench show CLAIM`). Runs are stored under the suite seed_claims and reused.";

struct ClaimsOptions {
  std::vector<std::string> claims;
  std::string analysis;
  std::vector<std::string> verdicts;
  bool measures = false;
  SuiteSettings settings;
  SuiteRunOptions run;
  DocumentOptions document;
};

std::vector<std::string> verdict_words() {
  std::vector<std::string> words;
  for (const LedgerVerdict verdict : reports::kLedgerVerdicts) words.push_back(word_of(verdict));
  return words;
}

std::vector<LedgerVerdict> chosen_verdicts(const ClaimsOptions& options) {
  const std::vector<std::string> known = verdict_words();
  std::vector<LedgerVerdict> chosen;
  for (const std::string& name : options.verdicts) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw Error(ErrorCode::kInvalidArgument,
                  "--verdict " + name + ": expected " + listed(known, "or") + core::suggestion(name, known));
    chosen.push_back(reports::kLedgerVerdicts[static_cast<std::size_t>(found - known.begin())]);
  }
  return chosen;
}

/// The suite of the claims that need runs; nullopt if none does.
std::optional<suites::Suite> suite_of(const std::vector<const Claim*>& claims, const SuiteSettings& settings) {
  suites::Suite suite = load_suite(kSuite, settings);
  suite.claims.clear();
  for (const Claim* claim : claims) {
    if (ablations::needs_runs(*claim)) suite.claims.push_back(claim->id);
  }
  return suite.claims.empty() ? std::nullopt : std::optional(std::move(suite));
}

/// Makes the missing runs. Returns the exit code.
int measure(const ClaimChoice& choice, const ClaimsOptions& options, const Session& session) {
  const ablations::Catalogue catalogue = load_catalogue(options.run.catalogue, ablations::CatalogueParts::kAll);
  const std::optional<suites::Suite> suite = suite_of(chosen_claims(catalogue, choice), options.settings);
  if (!suite) return core::kExitSuccess;
  const suites::Plan plan = plan_suite(*suite, options.run);
  results::Store store(database_file(options.run.database));
  const suites::SuiteRunResult result =
      run_plan(plan, store, {.is_fresh = options.run.is_fresh, .argv = session.argv}, options.run);
  if (result.is_interrupted) return report_interruption(store, {result.plan_id}, session.argv);
  return core::kExitSuccess;  // a failed cell is a row with a reason
}

/// The price of `claims --measure`, which makes the runs that the ledger lacks.
std::string price_of(const ClaimLedger& ledger, const results::Store* store) {
  std::vector<const Claim*> unmeasured;
  for (const reports::LedgerEntry& entry : ledger.entries) {
    if (entry.verdict == reports::LedgerVerdict::kNotMeasured) unmeasured.push_back(entry.claim);
  }
  if (store == nullptr || unmeasured.empty()) return "";
  const std::optional<suites::Suite> suite = suite_of(unmeasured, {});
  return suite ? reports::suite_price(store, *suite, suites::make_matrix(*suite, ledger.catalogue)) : "";
}

int claims_ledger(const ClaimsOptions& options, const Session& session) {
  DocumentOptions form = options.document;
  form.is_json = options.run.is_json;
  form.has_notes = options.run.has_notes;
  const Format format = chosen_format(form);
  const ClaimChoice choice{.ids = options.claims,
                           .analysis = options.analysis,
                           .records = std::nullopt,
                           .verdicts = chosen_verdicts(options)};
  const std::optional<std::string> scale =
      options.settings.scale.empty() ? std::nullopt : std::optional(options.settings.scale);
  if (const int exit_code = options.measures ? measure(choice, options, session) : core::kExitSuccess;
      exit_code != core::kExitSuccess)
    return exit_code;
  std::optional<results::Store> store;
  const std::filesystem::path file = database_file(options.run.database);
  std::error_code ignored;
  if (!options.run.database.empty() || std::filesystem::exists(file, ignored))
    store.emplace(file, results::OpenMode::kReadOnly);
  const ClaimLedger ledger = claim_ledger(store ? &*store : nullptr, options.run.catalogue, choice, scale);
  if (scale) ledger.catalogue.scale(*scale);  // a misspelt scale is an error, not a scale without results
  const std::string price = format == Format::kTable ? price_of(ledger, store ? &*store : nullptr) : "";
  write(document_of(ledger, price), format, form);
  return core::kExitSuccess;
}

}  // namespace

void add_claims_command(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("claims", "Judge the claims of published analyses by published and measured figures");
  const auto options = std::make_shared<ClaimsOptions>();
  command->add_option("CLAIM", options->claims, "Claims to judge (default: all)");
  command->add_option("--analysis", options->analysis, "Only the claims of one analysis, 000 to 004")->type_name("NNN");
  command->add_option("--verdict", options->verdicts, "Only " + listed(verdict_words(), "or") + "; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--measure", options->measures, "Run what is missing first");
  add_suite_settings(*command, options->settings);
  add_suite_run_options(*command, options->run);
  add_file_options(*command, options->document);
  command->footer(kClaimsFooter);
  command->callback([options, &session] { session.exit_code = claims_ledger(*options, session); });
}

}  // namespace nanobench::tools

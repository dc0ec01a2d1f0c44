// `nanobench transfer`: how far a small scale predicts a larger one.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "reports/charts/charts.h"
#include "reports/kinds/kinds.h"
#include "reports/transfer/transfer.h"
#include "tools/cli/options.h"
#include "tools/cli/places.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

using core::Error;
using core::ErrorCode;

constexpr std::size_t kMaxSharedRows = 40;  // on a terminal or in a log; the other formats have all

struct TransferOptions {
  std::vector<std::string> suites;
  std::vector<std::string> plans;
  std::vector<std::string> others;
  std::string database;
  std::string catalogue;
  DocumentOptions document;
};

constexpr const char* kTransferFooter =
    "Examples:\n"
    "  nanobench run leave_one_out --scale smoke && nanobench run leave_one_out --scale nano\n"
    "  nanobench transfer                                  every change that two scales or the record table share\n"
    "  nanobench transfer --suite leave_one_out --out transfer.html\n"
    "  nanobench transfer --with server.db --json          scales that were measured elsewhere\n"
    "\n"
    "Takes the effects of single changes (leave_one_out, add_one_in, pairs, factorials, sweeps, steps of a history), "
    "of\n"
    "each scale and change from the newest plan, and compares the scales in pairs, and with the published times: do\n"
    "signs and order agree, and what does noise allow?\n"
    "Exit codes: 0 answered, whatever the answer; 2 usage; 3 no change was measured at two scales.";

std::vector<std::int64_t> plan_numbers(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> numbers;
  for (const std::string& text : texts) {
    const std::optional<std::int64_t> number = parse_count(text);
    if (!number) throw Error(ErrorCode::kInvalidArgument, "--plan " + text + ": expected the number of a stored plan");
    numbers.push_back(*number);
  }
  return numbers;
}

/// The database, and those of --with. Throws Error{kInvalidArgument} for a file that is named twice.
std::vector<std::unique_ptr<results::Store>> open_stores(const TransferOptions& options) {
  std::vector<std::filesystem::path> files = {database_file(options.database)};
  files.insert(files.end(), options.others.begin(), options.others.end());
  std::vector<std::unique_ptr<results::Store>> stores;
  for (const std::filesystem::path& file : files) {
    for (const auto& store : stores) {
      std::error_code ignored;
      if (std::filesystem::equivalent(store->file(), file, ignored))
        throw Error(ErrorCode::kInvalidArgument, "--with " + file.string() + ": this database is read already");
    }
    stores.push_back(std::make_unique<results::Store>(file, results::OpenMode::kReadOnly));
  }
  return stores;
}

reports::Transfer read_transfer(const TransferOptions& options) {
  const reports::ChangeSelection selection{.suites = options.suites, .plans = plan_numbers(options.plans)};
  const std::vector<std::unique_ptr<results::Store>> stores = open_stores(options);
  std::vector<const results::Store*> all;
  for (const auto& store : stores) all.push_back(store.get());
  return reports::analyse_transfer(reports::read_measured_changes(all, selection), load_catalogue(options.catalogue));
}

int transfer(const TransferOptions& options) {
  const Format format = chosen_format(options.document);
  const reports::Transfer result = read_transfer(options);
  const std::size_t max_rows = format == Format::kTable ? kMaxSharedRows : std::numeric_limits<std::size_t>::max();
  reports::Document document = reports::transfer_report(result, max_rows);
  if (format == Format::kHtml) {
    reports::Section pictures{.title = "Charts"};
    pictures.charts = reports::transfer_charts(result);
    if (!pictures.charts.empty()) document.sections.insert(document.sections.begin() + 1, std::move(pictures));
  }
  if (result.pairs.empty()) {
    document.next.push_back(
        {.command = "run leave_one_out --scale smoke", .gain = "the same changes at another scale, for a pair"});
  } else {
    document.next.push_back(
        {.command = "transfer --out transfer.html", .gain = "the page, with each pair as a scatter plot"});
  }
  write(document, format, options.document);
  return result.pairs.empty() ? core::kExitInconclusive : core::kExitSuccess;
}

}  // namespace

void add_transfer_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("transfer", "Compare the effects of changes between scales: signs and order");
  const auto options = std::make_shared<TransferOptions>();
  command->add_option("--suite", options->suites, "Only plans of this suite; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--plan", options->plans, "Only this plan of the database; may be repeated")
      ->type_name("N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--with", options->others, "Another database whose plans are read too; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_database_option(*command, options->database);
  add_catalogue_option(*command, options->catalogue);
  add_document_options(*command, options->document);
  command->footer(kTransferFooter);
  command->callback([options, &session] { session.exit_code = transfer(*options); });
}

}  // namespace nanobench::tools

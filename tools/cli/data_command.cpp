// `nanobench data prepare` and `nanobench data info`: text to token shards, and the contents of a data set.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/data/data_set.h"
#include "core/data/text_corpus.h"
#include "core/data/token_shard.h"
#include "tools/cli/options.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;

struct PrepareOptions {
  std::vector<std::string> texts;
  std::string out;
  std::string documents = "auto";
  double val_fraction = 0.1;
  bool is_json = false;
};

struct InfoOptions {
  std::string path;
  bool is_json = false;
};

constexpr const char* kDataFooter =
    "Examples:\n"
    "  nanobench data prepare --text book.txt --out data/book\n"
    "  nanobench data prepare --text chapters/*.txt --documents file --out data/chapters\n"
    "  nanobench data info data/book\n"
    "  nanobench run speedrun_history --data shards:data/book";
constexpr const char* kPrepareFooter =
    "Examples:\n"
    "  nanobench data prepare --text book.txt --out data/book\n"
    "  nanobench data prepare --text a.txt b.txt --documents blank-line --val-fraction 0.05 --out data/two\n"
    "\n"
    "Bytes are tokens 0 to 255; token 256 opens each document. Documents: file (each file is one), blank-line, "
    "heading\n"
    "(\"= Title =\" or \"# Title\"), auto (heading if a file has two or more, else blank-line). The last documents "
    "become\n"
    "the validation split. The folder appears complete or not at all.";
constexpr const char* kInfoFooter =
    "Examples:\n"
    "  nanobench data info data/book\n"
    "  nanobench data info fineweb_train_000001.bin --json";

/// "blank-line" and "auto" as typed on the command line.
core::DocumentRule rule_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return core::document_rule(name == "auto" ? "automatic" : name);
}

reports::TableCell tokens_cell(std::int64_t tokens) {
  return {.text = format_count(tokens), .detail = "", .value = tokens};
}

reports::TableCell nats_cell(double nats) {
  return {.text = format_fixed(nats, 4) + " nats/token", .detail = "", .value = nats};
}

reports::Document data_set_report(const core::DataSet& data) {
  reports::Document document{.kind = "data_set", .title = "Data set " + data.name};
  reports::Section& head = document.sections.emplace_back();
  const auto add = [&](const char* key, const char* title, reports::TableCell cell) {
    head.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  add("name", "name", reports::text_cell(data.name));
  add("vocab_size", "vocabulary", reports::count_cell(data.vocab_size));
  add("separator", "separator", reports::count_cell(data.separator));
  add("train_tokens", "train tokens", tokens_cell(data.train_tokens));
  add("val_tokens", "val tokens", tokens_cell(data.val_tokens));
  if (data.floor_nats) add("floor_nats", "entropy floor", nats_cell(*data.floor_nats));
  add("digest", "digest", reports::text_cell(data.digest));
  reports::Table files{.id = "shards",
                       .title = "Shards",
                       .columns = {{.key = "split", .title = "split"},
                                   {.key = "tokens", .title = "tokens", .is_number = true},
                                   {.key = "file", .title = "file", .wraps = true}}};
  for (const bool is_train : {true, false}) {
    for (const fs::path& file : is_train ? data.train : data.val) {
      files.rows.push_back({reports::text_cell(is_train ? "train" : "val"), tokens_cell(core::TokenShard(file).size()),
                            reports::text_cell(file.string())});
    }
  }
  head.tables.push_back(std::move(files));
  return document;
}

reports::Document shard_report(const fs::path& file) {
  const core::TokenShard shard(file);
  reports::Document document{.kind = "shard", .title = "Token shard " + file.filename().string()};
  reports::Section& head = document.sections.emplace_back();
  const auto tokens = shard.tokens();
  const std::int64_t largest = *std::max_element(tokens.begin(), tokens.end());
  const std::int64_t separator = largest <= core::kTextSeparator ? core::kTextSeparator : 50256;
  const std::int64_t documents = std::count(tokens.begin(), tokens.end(), static_cast<std::uint16_t>(separator));
  const auto add = [&](const char* key, const char* title, reports::TableCell cell) {
    head.facts.push_back({.key = key, .title = title, .cell = std::move(cell)});
  };
  add("file", "file", reports::text_cell(file.string()));
  add("tokens", "tokens", tokens_cell(shard.size()));
  add("largest_token", "largest token", reports::count_cell(largest));
  add("documents", "documents",
      {.text = format_count(documents), .detail = "(token " + std::to_string(separator) + ")", .value = documents});
  add("unigram_nats", "entropy of one token", nats_cell(core::unigram_entropy(tokens)));
  return document;
}

reports::NextStep training_on(const std::string& folder) {
  return {.command = "run speedrun_history --data " + shell_words({"shards:" + folder}),
          .gain = "the history, trained on these tokens"};
}

void prepare(const PrepareOptions& options) {
  const std::vector<fs::path> files(options.texts.begin(), options.texts.end());
  reports::Document document =
      data_set_report(core::prepare_text(files, rule_of(options.documents), options.val_fraction, options.out));
  document.next = {training_on(options.out)};
  print(document, options.is_json);
}

void info(const InfoOptions& options) {
  std::error_code ignored;
  const fs::path path = options.path;
  const bool is_folder = fs::is_directory(path, ignored);
  reports::Document document = is_folder ? data_set_report(core::load_data_set(path)) : shard_report(path);
  const fs::path folder = is_folder ? path : path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!is_folder)
    document.next = {{.command = shell_words({"data", "info", folder.string()}), .gain = "the shards beside it"}};
  document.next.push_back(training_on(folder.string()));
  print(document, options.is_json);
}

}  // namespace

void add_data_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("data", "Turn text into token shards, or describe a data set");
  command->require_subcommand(1);
  command->footer(kDataFooter);

  CLI::App* prepare_command = command->add_subcommand("prepare", "Turn text files into token shards");
  const auto prepare_options = std::make_shared<PrepareOptions>();
  prepare_command->add_option("--text", prepare_options->texts, "Text files, in order")->required()->type_name("FILE");
  prepare_command->add_option("--out", prepare_options->out, "New folder for the shards")->required()->type_name("DIR");
  prepare_command->add_option("--documents", prepare_options->documents, "Rule for where a document begins")
      ->type_name("RULE")
      ->capture_default_str();
  add_share_option(*prepare_command, "--val-fraction",
                   [prepare_options](double share) { prepare_options->val_fraction = share; },
                   "Share of the bytes kept for validation (default: 10%)", {0.0, 1.0});
  add_json_option(*prepare_command, prepare_options->is_json);
  prepare_command->footer(kPrepareFooter);
  prepare_command->callback([prepare_options] { prepare(*prepare_options); });

  CLI::App* info_command = command->add_subcommand("info", "Describe a folder of shards or a single shard");
  const auto info_options = std::make_shared<InfoOptions>();
  info_command->add_option("PATH", info_options->path, "Folder of a data set, or a shard")->required();
  add_json_option(*info_command, info_options->is_json);
  info_command->footer(kInfoFooter);
  info_command->callback([info_options] { info(*info_options); });
}

}  // namespace nanobench::tools

#include "tools/cli/complete_values.h"
#include "suites/run/runner.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "ablations/catalogue.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/protocol/run_choices.h"
#include "reports/claims/ledger.h"
#include "results/store.h"
#include "tools/cli/help_topics.h"
#include "tools/cli/list_kinds.h"
#include "tools/cli/places.h"

namespace nanobench::tools {
namespace {

namespace fs = std::filesystem;
using core::Json;

constexpr std::int64_t kMaxPlanNames = 200;  ///< newest of the store; more are no help
constexpr std::int64_t kMaxRunNames = 200;

/// A value that is being typed.
struct ValueRequest {
  const TypedLine& line;
  std::string text;

  std::string value(const std::string& name) const {
    const auto found = line.values.find(name);
    return found == line.values.end() ? "" : found->second;
  }
};

using Candidates = std::vector<Candidate>;
using Source = std::function<Candidates(const ValueRequest&)>;

// --- catalogue: the name of an entry is the stem of its file ---

constexpr std::size_t kMaxEntryBytes = std::size_t{1} << 20;

struct EntryFile {
  std::string id;
  std::string text;  ///< JSON
};

/// Entries of "features/" and so on: the embedded ones and those of --catalogue. Claims are many, so their texts are
/// left out.
std::vector<EntryFile> entries(const std::string& folder, const ValueRequest& request) {
  std::vector<EntryFile> found;
  const bool has_text = folder != "claims";
  for (const core::EmbeddedFile& file : ablations::embedded_files()) {
    if (!file.path.starts_with(folder + "/")) continue;
    found.push_back({fs::path(file.path).stem().string(), has_text ? std::string(file.text) : ""});
  }
  const std::string own = request.value("--catalogue");
  if (own.empty()) return found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(own) / folder, ignored)) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = has_text ? core::read_beginning(entry.path(), kMaxEntryBytes).value_or("") : "";
    found.push_back({entry.path().stem().string(), text});
  }
  return found;
}

std::string title_in(const std::string& text) {
  const Json json = core::json_or_null(text);
  const auto title = json.is_object() ? json.find("title") : json.end();
  return title != json.end() && title->is_string() ? title->get<std::string>() : "";
}

Source catalogue_names(const std::string& folder) {
  return [folder](const ValueRequest& request) {
    Candidates names;
    for (const EntryFile& entry : entries(folder, request)) {
      if (entry.id.starts_with(request.text)) names.push_back({entry.id, title_in(entry.text)});
    }
    return names;
  };
}

/// The values of a feature, without its name.
Candidates feature_values(const ValueRequest& request, const std::string& feature) {
  Candidates values;
  for (const EntryFile& entry : entries("features", request)) {
    if (entry.id != feature) continue;
    const Json json = core::json_or_null(entry.text);
    const auto known = json.is_object() ? json.find("values") : json.end();
    if (known == json.end() || !known->is_object()) continue;
    for (const auto& value : known->items()) values.push_back({value.key(), ""});
  }
  return values;
}

Candidates features_to_set(const ValueRequest& request) {
  Candidates names = catalogue_names("features")(request);
  for (Candidate& name : names) name.word += "=";
  return names;
}

// --- suites and the store ---

Candidates suite_names(const ValueRequest& /*request*/) {
  Candidates names;
  for (const fs::path& file : suite_files()) names.push_back({file.stem().string(), "suite"});
  return names;
}

/// What `read` finds in the database that the line means.
Candidates from_store(const ValueRequest& request, const std::function<Candidates(const results::Store&)>& read) {
  try {
    return read(results::Store(database_file(request.value("--db")), results::OpenMode::kGlance));
  } catch (const core::Error& error) {
    rethrow_internal(error);
    return {};
  }
}

Candidates stored_suites(const ValueRequest& request) {
  return from_store(request, [](const results::Store& store) {
    Candidates names;
    for (const results::PlanName& plan : store.newest_plan_names(kMaxPlanNames)) names.push_back({plan.suite, "suite"});
    for (const results::RunName& run : store.newest_run_names(kMaxRunNames)) names.push_back({run.suite, "suite"});
    return names;
  });
}

Source stored_plans(const std::string& prefix) {
  return [prefix](const ValueRequest& request) {
    return from_store(request, [&](const results::Store& store) {
      Candidates names;
      for (const results::PlanName& plan : store.newest_plan_names(kMaxPlanNames))
        names.push_back({prefix + std::to_string(plan.id), "plan of " + plan.suite + ", " + plan.created_at});
      return names;
    });
  };
}

Candidates stored_runs(const ValueRequest& request) {
  return from_store(request, [](const results::Store& store) {
    Candidates names;
    for (const results::RunName& run : store.newest_run_names(kMaxRunNames))
      names.push_back({std::to_string(run.id), run.suite + ": " + run.cell + ", seed " + std::to_string(run.seed)});
    return names;
  });
}

/// Cells of the newest plan, of --suite if it is given.
Candidates stored_cells(const ValueRequest& request) {
  return from_store(request, [&](const results::Store& store) {
    const std::string suite = request.value("--suite");
    const auto plan = store.newest_plan(suite.empty() ? std::nullopt : std::optional(suite));
    Candidates names;
    if (!plan) return names;
    for (const results::PlanCell& cell : plan->cells) names.push_back({cell.label, "cell of " + plan->suite});
    return names;
  });
}

Candidates stored_baselines(const ValueRequest& request) {
  return from_store(request, [](const results::Store& store) {
    Candidates names;
    for (const results::BaselineRecord& baseline : store.baselines())
      names.push_back({baseline.name, "baseline of " + baseline.suite});
    return names;
  });
}

// --- how values are put together ---

Source choices(std::vector<std::string> names) {
  return [names = std::move(names)](const ValueRequest& /*request*/) {
    Candidates candidates;
    for (const std::string& name : names) candidates.push_back({name, ""});
    return candidates;
  };
}

Source any_of(std::vector<Source> sources) {
  return [sources = std::move(sources)](const ValueRequest& request) {
    Candidates all;
    for (const Source& source : sources) {
      for (Candidate& candidate : source(request)) all.push_back(std::move(candidate));
    }
    return all;
  };
}

/// FEATURE=VALUE: first the features, then the values of one.
Candidates one_setting(const ValueRequest& request) {
  const std::size_t equals = request.text.find('=');
  if (equals == std::string::npos) return features_to_set(request);
  Candidates values = feature_values(request, request.text.substr(0, equals));
  for (Candidate& value : values) value.word = request.text.substr(0, equals + 1) + value.word;
  return values;
}

/// A,B,C: candidates for the last item, without those that are there.
Source list_of(Source source) {
  return [source = std::move(source)](const ValueRequest& request) {
    const std::size_t comma = request.text.rfind(',');
    const std::string before = comma == std::string::npos ? "" : request.text.substr(0, comma + 1);
    Candidates items;
    for (Candidate& item : source({request.line, request.text.substr(before.size())})) {
      if (("," + before).find("," + item.word + ",") != std::string::npos) continue;
      items.push_back({before + item.word, std::move(item.meaning)});
    }
    return items;
  };
}

/// FEATURE=A,B,C
Candidates one_axis(const ValueRequest& request) {
  const std::size_t equals = request.text.find('=');
  if (equals == std::string::npos) return features_to_set(request);
  const std::string name = request.text.substr(0, equals);
  const Source values = [&](const ValueRequest& item) { return feature_values(item, name); };
  Candidates lists = list_of(values)({request.line, request.text.substr(equals + 1)});
  for (Candidate& list : lists) list.word = name + "=" + list.word;
  return lists;
}

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  for (const reports::LedgerVerdict verdict : reports::kLedgerVerdicts) names.push_back(word_of(verdict));
  return names;
}

/// Topics of `nanobench help`, and the commands.
Candidates help_names(const ValueRequest& request) {
  Candidates names;
  for (const HelpTopic& topic : help_topics()) names.push_back({topic.name, topic.question});
  if (request.line.program == nullptr) return names;
  for (const CLI::App* command : request.line.program->get_subcommands(nullptr))
    names.push_back({command->get_name(), command->get_description()});
  return names;
}

// --- which value is which ---

struct CompletionRule {
  ValueRule where;
  Source source;
  Completion::Files files = Completion::Files::kNone;
};

constexpr Completion::Files kFiles = Completion::Files::kFiles;
constexpr Completion::Files kFolders = Completion::Files::kFolders;

std::vector<CompletionRule> catalogue_rules() {
  const Source features = catalogue_names("features");
  const Source records = catalogue_names("records");
  return {{{"", "--scale"}, catalogue_names("scales")},
          {{"", "--base"}, records},
          {{"", "--records"}, list_of(records)},
          {{"", "--features"}, list_of(any_of({choices({"all"}), features}))},
          {{"", "--set"}, one_setting},
          {{"", "--values"}, list_of(one_setting)},
          {{"", "--axis"}, one_axis},
          {{"profile", "RECORD|CONFIG"}, records, kFiles},
          {{"hunt", "BASE"}, any_of({records, suite_names}), kFiles},
          {{"claims", "CLAIM"}, catalogue_names("claims")},
          {{"show", "NAME"},
           any_of({features, records, catalogue_names("scales"), catalogue_names("claims"), suite_names, stored_runs})},
          {{"diff", "A"}, any_of({records, stored_runs})},
          {{"diff", "B"}, any_of({records, stored_runs})}};
}

std::vector<CompletionRule> store_rules() {
  const Source comparable = any_of({stored_cells, stored_runs, stored_plans("plan:")});
  const Source any_suite = any_of({suite_names, stored_suites});
  return {{{"", "--suite"}, stored_suites},
          {{"", "--plan"}, stored_plans("")},
          {{"", "--run"}, stored_runs},
          {{"", "--cell"}, stored_cells},
          {{"", "--baseline"}, stored_baselines, kFiles},
          {{"", "--baseline-suite"}, suite_names, kFiles},
          {{"baseline save", "NAME"}, stored_baselines},
          {{"baseline accept", "NAME"}, stored_baselines},
          {{"trend", "SUITE"}, any_suite, kFiles},
          {{"watch", "SUITE"}, any_suite, kFiles},
          {{"", "SUITE"}, suite_names, kFiles},
          {{"evaluate", "MODEL"}, stored_cells, kFiles},
          {{"reproduce", "RUN"}, stored_runs},
          {{"compare", "A"}, comparable, kFiles},
          {{"compare", "B"}, comparable, kFiles}};
}

std::vector<CompletionRule> choice_rules() {
  const Source gate_metrics = choices({"loss", "time", "memory", "training_memory", "cost"});
  return {{{"", "--device"}, choices({"cpu", "cuda", "cuda:0"})},
          {{"bench", "--budget"}, choices({"3s", "30s"})},
          {{"bench", "--timeout"}, choices({"30s", "10min"})},
          {{"bench", "--margin"}, choices({"1%", "5%"})},
          {{"bench", "--metric"}, choices({})},
          {{"bench", "--export"}, choices({"json", "csv", "md", "html"})},
          {{"", "--budget"}, choices({"10min", "1h"})},
          {{"", "--jobs"}, choices({"auto", "1", "2", "4"})},
          {{"", "--times"}, choices(enum_names<suites::TimesChoice>())},
          {{"", "--keep-weights"}, choices(enum_names<results::KeepWeights>())},
          {{"", "--kernels"}, choices(enum_names<core::KernelChoice>())},
          {{"evaluate", "--task"}, choices({"generated", "generated:100"}), kFiles},
          {{"evaluate", "--name"}, choices({})},
          {{"", "--metrics"}, list_of(choices(enum_names<core::AskedMetric>()))},
          {{"", "--data"}, choices({"synthetic", "text:", "shards:"}), kFiles},
          {{"", "--design"}, choices(enum_names<results::Design>())},
          {{"", "--engine"}, choices({"native", "mock"})},
          {{"", "--resolution"}, choices({"3", "4", "5"})},
          {{"", "--track"}, choices({"1", "2", "3"})},
          {{"", "--rule"}, choices({"t", "z"})},
          {{"", "--analysis"}, choices({"000", "001", "002", "003", "004"})},
          {{"", "--verdict"}, choices(verdict_names())},
          {{"", "--executor"}, choices({"local", "slurm"})},
          {{"", "--chunk"}, choices({"seed", "run"})},
          {{"", "--dtype"}, choices({"float32", "float64"})},
          {{"", "--documents"}, choices({"auto", "heading", "blank-line", "file"})},
          {{"", "--metric"}, choices({"loss", "step_time", "train_time", "peak_memory"})},
          {{"", "--only"}, list_of(gate_metrics)},
          {{"", "--margin"}, choices({"loss=", "time=", "memory=", "cost=", "instructions="})},
          {{"export", "--format"}, choices({"csv", "json", "google-benchmark", "tensorboard"})},
          {{"", "--format"}, choices({"table", "md", "html", "json", "csv"})},
          {{"list", "KIND"}, choices(list_kinds())},
          {{"completion", "SHELL"}, choices({"bash", "zsh", "fish"})},
          {{"help", "TOPIC"}, help_names}};
}

std::vector<CompletionRule> file_rules() {
  const Source nothing = choices({});
  return {{{"", "--baseline-engine"}, nothing, kFiles},
          {{"", "--control"}, nothing, kFolders},
          {{"", "--scratch"}, nothing, kFolders},
          {{"train", "CONFIG"}, nothing, kFiles},
          {{"data info", "PATH"}, nothing, kFiles},
          {{"", "FILE"}, nothing, kFiles},
          {{"", "INTO"}, nothing, kFiles},
          {{"", "FROM"}, nothing, kFiles},
          {{"", "--trainer"}, nothing, kFolders},
          {{"", "--patches"}, nothing, kFolders},
          {{"", "--out"}, nothing, kFiles}};
}

/// A rule of one command stands before the one of every command.
const std::vector<CompletionRule>& rules() {
  static const std::vector<CompletionRule> kRules = [] {
    std::vector<CompletionRule> all;
    for (const std::vector<CompletionRule>& part : {catalogue_rules(), store_rules(), choice_rules(), file_rules()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return kRules;
}

const CompletionRule* rule_of(const CLI::Option& option, const std::string& command) {
  for (const CompletionRule& rule : rules()) {
    const bool is_named = option.check_name(std::string(rule.where.option));
    if (is_named && (rule.where.command.empty() || rule.where.command == command)) return &rule;
  }
  return nullptr;
}

/// By its type's name; nullopt if that says nothing.
std::optional<Completion::Files> files_of_type(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "DIR") return kFolders;
  if (type == "FILE" || type == "FILE|DIR") return kFiles;
  return std::nullopt;
}

}  // namespace

Completion values_of(const CLI::Option& option, const TypedLine& line, const std::string& text) {
  Completion completion;
  if (const CompletionRule* rule = rule_of(option, line.command)) {
    completion.candidates = rule->source({line, text});
    completion.files = rule->files;
  }
  if (completion.files == Completion::Files::kNone) completion.files = files_of_type(option).value_or(completion.files);
  return completion;
}

std::vector<ValueRule> value_rules() {
  std::vector<ValueRule> all;
  for (const CompletionRule& rule : rules()) all.push_back(rule.where);
  return all;
}

bool has_values(const CLI::Option& option, const std::string& command) {
  return rule_of(option, command) != nullptr || files_of_type(option);
}

}  // namespace nanobench::tools

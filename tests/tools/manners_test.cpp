// What the program says beside its results: what to do next, what an interruption keeps, where things are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/base/error.h"
#include "core/base/text.h"
#include "results/store.h"
#include "results/weights.h"
#include "suites/bench/command_words.h"
#include "tests/reports/trend/trend_store.h"
#include "tests/reports/trend/trend_support.h"
#include "tests/results/import/log_texts.h"
#include "tests/tools/refusals.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

std::string suite(const std::string& mock = "{}") {
  return R"({"name": "tiny", "design": "history", "records": ["record12", "record13"], "scale": "smoke",
             "seeds": [1, 2, 3], "engine": {"mock": )" +
         mock + "}}";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

/// The commands under "Next:", without the program's name.
std::vector<std::string> next_commands(const std::string& text) {
  std::vector<std::string> commands;
  const std::vector<std::string> lines = lines_of(text);
  auto line = std::find(lines.begin(), lines.end(), "Next:");
  for (; line != lines.end(); ++line) {
    if (!line->starts_with("  ") || line->starts_with("      ")) continue;
    commands.push_back(line->substr(line->find("nanobench ") + 10));
  }
  return commands;
}

std::vector<std::string> words_of(const std::string& command) {
  return suites::command_words(command);
}

/// Whether the command takes long, or needs a name in place of a word in capitals.
bool trains(const std::vector<std::string>& words) {
  const auto has = [&](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (has("NAME") || has("SUITE") || has("--measure")) return true;
  const bool is_training = words[0] == "run" || words[0] == "ablate" || words[0] == "plan";
  return is_training && !has("--dry-run") && !has("s.json");
}

/// Each result ends with one to three commands; those that do not train can be given as they are.
void expect_offers(const CommandLine& shell, const std::vector<std::vector<std::string>>& results) {
  for (const std::vector<std::string>& arguments : results) {
    const ProgramResult result = shell.run(arguments);
    const std::vector<std::string> commands = next_commands(result.out);
    EXPECT_GE(commands.size(), 1U) << joined(arguments, " ") << ": " << result.out << result.err;
    EXPECT_LE(commands.size(), 3U) << joined(arguments, " ");
    for (const std::string& command : commands) {
      std::vector<std::string> words = words_of(command);
      EXPECT_EQ(shell.run({words[0], "--help"}).exit_code, 0) << command;
      std::erase(words, "--open");
      if (trains(words)) continue;
      if (words[0] == "gate") words.emplace_back("--forecast");  // which runs nothing
      const ProgramResult followed = shell.run(words);
      EXPECT_EQ(followed.exit_code, 0) << command << ", offered after " << joined(arguments, " ") << ": "
                                       << followed.err;
    }
  }
}

TEST(Next, EveryKindOfResultEndsWithACommandThatRuns) {
  const CommandLine shell("next");
  shell.write("s.json", suite());
  std::string text;
  for (int i = 0; i < 100; ++i) text += "Line " + std::to_string(i) + " of a text.\n\n";
  shell.write("a.txt", text);
  const std::vector<std::vector<std::string>> results = {
      {"run", "s.json"},
      {"compare", "record12", "record13"},
      {"plan", "s.json"},
      {"show", "s.json"},
      {"report"},
      {"show", "1"},
      {"list"},
      {"list", "features"},
      {"list", "records"},
      {"list", "scales"},
      {"list", "suites"},
      {"list", "claims"},
      {"list", "plans"},
      {"list", "runs"},
      {"show", "attention_skip"},
      {"show", "record17"},
      {"show", "nano"},
      {"diff", "record16", "record17"},
      {"reproduce", "1", "--quiet"},
      {"claims"},
      {"doctor"},
      {"baseline", "list"},
      {"ablate", "--base", "record17", "--design", "leave_one_out", "--features", "rotary", "--dry-run", "--engine",
       "{}"},
      {"new", "suite", "fresh.json"},
      {"new", "feature", "fresh_idea"},
      {"list", "settings"},
      {"db", "check"},
      {"db", "vacuum"},
      {"db", "merge", "all.db", shell.database().string()},
      {"data", "prepare", "--text", "a.txt", "--out", "set", "--documents", "blank-line"},
      {"data", "info", "set"},
      {"data", "info", "set/train_000000.bin"},
      {"bench", "--quiet", "--runs", "2", "true", "ls"},
  };
  expect_offers(shell, results);
}

TEST(Next, TheDatabaseThatWasNamedIsReadAgain) {
  const CommandLine shell("next_database");
  shell.write("s.json", suite());
  const std::vector<std::string> named = {"--db", "other place/o.db"};
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet", named[0], named[1]}).exit_code, 0);
  expect_offers(shell, {{"report", named[0], named[1]}, {"list", "plans", named[0], named[1]}});
  EXPECT_FALSE(std::filesystem::exists(shell.database())) << "it is the only one there is";
  for (const std::string& command : next_commands(shell.run({"report", named[0], named[1]}).out))
    EXPECT_NE(command.find("--db 'other place/o.db'"), std::string::npos) << command;
}

TEST(Next, GatesAndWhatPreparesThem) {
  const CommandLine shell("next_gates");
  const std::vector<std::string> gate = {"gate", "s.json", "--baseline-suite", "s.json", "--quiet"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), gate.begin(), gate.end());
    return words;
  };
  shell.write("s.json", suite(R"({"loss_sigma": 0.0002, "step_cv": 0.0001})"));
  expect_offers(shell, {with({"--forecast"}), gate, {"calibrate", "s.json", "--pairs", "3", "--quiet"}});
  ASSERT_EQ(shell.run(gate).exit_code, 0);
  shell.write("s.json", suite(R"({"steps": 10, "loss_sigma": 0.02, "sleep_ms": 5})"));
  // One in a thousand such draws alarms; which one this is changes with every new setting of a run.
  const std::vector<std::string> unsure = {"--margin", "loss=0.0001", "--only", "loss", "--alpha", "0.001"};
  const std::vector<std::string> narrow = with(unsure);
  const ProgramResult inconclusive = shell.run(narrow);
  ASSERT_EQ(inconclusive.exit_code, core::kExitInconclusive) << inconclusive.err;
  EXPECT_NE(inconclusive.out.find("about 0.2 s a seed; adds"), std::string::npos)
      << "two cells on two sides: " << inconclusive.out;
  std::vector<std::string> forecast = narrow;
  forecast.emplace_back("--forecast");
  expect_offers(shell, {narrow, forecast});
}

TEST(Next, AStoredBaselineIsOfferedNoMoreSeedsOfBothSides) {
  const CommandLine shell("next_stored");
  shell.write("s.json", suite(R"({"loss_sigma": 0.02})"));
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  ASSERT_EQ(shell.run({"baseline", "save", "main"}).exit_code, 0);
  const std::vector<std::string> gate = {"gate",     "s.json",      "--baseline", "main", "--seeds", "7,8,9", "--quiet",
                                         "--margin", "loss=0.0001", "--only",     "loss", "--alpha", "0.001"};
  ASSERT_EQ(shell.run(gate).exit_code, core::kExitInconclusive);
  expect_offers(shell, {gate});
}

TEST(Next, LogsOffersOfPagesAndReports) {
  const CommandLine shell("next_logs");
  for (const std::string folder : {"old", "new"}) {
    std::filesystem::create_directories(shell.work() / folder);
    for (int run = 0; run < 4; ++run) {
      const std::string loss = (folder == "old" ? "3.277" : "3.275") + std::to_string(run);
      shell.write(folder + "/run" + std::to_string(run) + ".txt",
                  results::log_text("step:0/3 val_loss:10." + std::to_string(1000 + run) +
                                    " train_time:0ms step_avg:nanms\nstep:3/3 val_loss:" + loss +
                                    " train_time:300ms step_avg:100.00ms\n"));
    }
  }
  expect_offers(shell, {{"audit", "old"}, {"compare", "old", "new"}, {"import", "old", "new"}});
}

TEST(Next, HuntsTransfersAndTrends) {
  const CommandLine shell("next_searches");
  for (const char* scale : {"smoke", "nano"}) {
    shell.write("s.json", R"({"name": "loo", "design": "leave_one_out", "base": {"record": "record17"}, "scale": ")" +
                              std::string(scale) +
                              R"(", "features": ["rotary", "attention_skip", "qk_norm", "embedding_norm"],
                              "seeds": [1, 2, 3], "engine": {"mock": {"steps": 6}}})");
    ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  }
  expect_offers(shell, {{"transfer"}, {"hunt", "s.json", "--quiet"}});
  std::vector<reports::StoredRun> weekly;
  for (int week = 0; week < 8; ++week) {
    for (const std::uint64_t seed : {1, 2}) {
      weekly.push_back({.revision = reports::revision_name(week),
                        .at = reports::time_at(7 * week, static_cast<int>(seed)),
                        .seed = seed});
    }
  }
  const CommandLine trend("next_trend");
  reports::fill_trend_store(trend.database(), weekly);
  expect_offers(trend, {{"trend", "weekly"}});
}

/// The mock engine's time is known; of ours, only where the database has runs like those that are offered.
TEST(Next, SaysWhatItCosts) {
  const CommandLine shell("next_price");
  shell.write("s.json", suite(R"({"steps": 10, "sleep_ms": 3})"));
  const auto out = [&](const std::vector<std::string>& words) { return shell.run(words).out; };
  EXPECT_NE(out({"show", "record17"}).find("      measures that step here: 6 runs"), std::string::npos)
      << "there is no database, and no price";
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  EXPECT_NE(out({"show", "s.json"}).find("up to 0.2 s; trains"), std::string::npos) << "two cells, three seeds";
  EXPECT_NE(out({"show", "rotary"}).find("      measures it: 6 runs"), std::string::npos)
      << "the mock engine's times are none of ours";
  const ProgramResult dry =
      shell.run({"ablate", "--base", "record17", "--design", "leave_one_out", "--features", "rotary", "--seeds", "2",
                 "--engine", R"({"steps": 10, "sleep_ms": 3})", "--dry-run"});
  EXPECT_NE(dry.out.find("up to 0.1 s; makes these 4 runs"), std::string::npos) << dry.out << dry.err;
  shell.write("broken.db", "not a database");
  EXPECT_EQ(shell.run({"show", "rotary", "--db", "broken.db"}).exit_code, 0) << "a price is no reason to fail";
}

/// Features that a base has, that it lacks, that need processes, and that the scale holds.
TEST(Next, AFeatureIsOfferedADesignInWhichItActs) {
  const CommandLine shell("next_feature");
  for (const char* feature : {"attention_skip", "scalar_pause", "logit_softcap", "gather_buffer", "mlp_up_precision",
                              "gradient_buckets", "table_precision", "batch_order"}) {
    const ProgramResult result = shell.run({"show", feature});
    for (const std::string& command : next_commands(result.out)) {
      std::vector<std::string> words = words_of(command);
      if (words[0] == "ablate" && words.back() != "--dry-run") words.emplace_back("--dry-run");
      EXPECT_EQ(shell.run(words).exit_code, 0) << feature << ": " << command << "\n" << shell.run(words).err;
    }
  }
}

TEST(Next, IsNoPartOfMachineReadableOutput) {
  const CommandLine shell("next_json");
  shell.write("s.json", suite());
  EXPECT_NO_THROW(json_of(shell.run({"run", "s.json", "--json"})));
  EXPECT_EQ(shell.run({"report", "--format", "csv"}).out.find("Next"), std::string::npos);
}

/// What a variable that is not set leaves: a gate of chosen metrics must not become one of all.
TEST(EmptyValue, OfAnOptionIsRefused) {
  const CommandLine shell("empty_value");
  const std::vector<std::vector<std::string>> commands = {{"gate", "mock_gate", "--only", ""},
                                                          {"run", "mock_gate", "--seeds="},
                                                          {"run", "mock_gate", "--seeds", "", "--quiet"},
                                                          {"baseline", "accept", "--reason", ""}};
  for (const std::vector<std::string>& command : commands) {
    const ProgramResult result = shell.run(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(": the value is empty"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(shell.database()));
  }
  EXPECT_EQ(shell.run({"bench", "--runs", "1", "--prepare", "", "--quiet", "true"}).exit_code, 0);
}

TEST(Interruption, SaysInThreeLinesWhatIsKeptAndHowItContinues) {
  const CommandLine shell("interruption");
  shell.write("s.json", suite(R"({"steps": 10, "sleep_ms": 30})"));
  std::size_t finished = 0;
  for (const char* seconds : {"0.8", "1.5", "3", "6"}) {  // a busy machine may not come to a first run before
    std::filesystem::remove(shell.database());
    std::filesystem::create_directories(results::weights_folder(shell.database(), 999));
    const ProgramResult stopped = shell.run({"run", "s.json", "--times", "runs", "--quiet"},
                                            std::string("timeout --preserve-status -s INT ") + seconds);
    ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
    if (stopped.err.empty()) continue;  // a slow program has not begun yet
    EXPECT_EQ(stopped.out, "") << "no empty tables";
    const std::vector<std::string> lines = lines_of(stopped.err);
    ASSERT_EQ(lines.size(), 3U) << stopped.err;
    finished = results::Store(shell.database()).runs({.outcome = core::RunOutcome::kCompleted}).size();
    EXPECT_TRUE(lines[0].starts_with("interrupted: " + std::to_string(finished) + " of 6 runs are finished"))
        << lines[0];
    EXPECT_TRUE(lines[1].starts_with("continue: ")) << lines[1];
    EXPECT_TRUE(lines[1].ends_with(" run s.json --times runs --quiet")) << lines[1];
    EXPECT_TRUE(lines[2].ends_with(" report --plan 1")) << lines[2];
    EXPECT_TRUE(lines[0].ends_with(" is made again")) << "weights of other runs are no checkpoints of these";
    if (finished > 0) break;
  }
  EXPECT_GT(finished, 0U);
  const ProgramResult again =
      shell.run({"run", "s.json", "--times", "runs", "--quiet", "--notes"}, "timeout --preserve-status -s INT 0.8");
  if (again.exit_code == 130 && !again.err.empty()) {
    EXPECT_NE(again.err.find(" run s.json --times runs --quiet --notes\n"), std::string::npos)
        << "the command that was interrupted, not the one that made the plan: " << again.err;
  }
  EXPECT_EQ(shell.run({"run", "s.json", "--times", "runs", "--quiet"}).exit_code, 0);
  EXPECT_EQ(results::Store(shell.database()).runs({.outcome = core::RunOutcome::kCompleted}).size(), 6U);
}

TEST(FailedRun, ItsOutputIsKeptInFilesThatAreNamed) {
  const CommandLine shell("failed_run");
  shell.write("s.json", suite(R"({"fault": {"kind": "exit", "step": 4}})"));
  const ProgramResult result = shell.run({"run", "s.json"});
  EXPECT_EQ(result.exit_code, 4);
  const std::string file = shell.database().string() + ".logs/run-1.err";
  EXPECT_EQ(read_text(file), "mock engine: exiting as told\n");
  EXPECT_NE(result.err.find(file), std::string::npos) << result.err;
  const std::vector<std::string> next = next_commands(result.out);
  ASSERT_FALSE(next.empty()) << result.out;
  ASSERT_TRUE(next[0].starts_with("show ")) << next[0];
  const core::Json facts = json_of(shell.run({"show", "1", "--json"})).at("facts");
  EXPECT_EQ(facts.at("stderr_file"), file);
}

TEST(NotThere, MessagesNameWhatIsThere) {
  const CommandLine shell("not_there");
  shell.write("s.json", suite());
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  const std::string database = shell.database().string();
  expect_refusals(shell,
                  {{{"show", "999"}, "it holds runs 1 to 6 (`nanobench list runs --db " + database + "`)"},
                   {{"report", "--plan", "99"}, "it holds plan 1 (`nanobench list plans --db " + database + "`)"}});
  for (const char* command : {"report", "export", "trend"}) {
    std::vector<std::string> words = {command, "--db", database};
    if (words[0] != "trend") words.emplace_back("--suite");
    words.emplace_back("other");
    expect_refusals(shell, {{words, "`nanobench list runs --db " + database + "`"}});
  }
  const core::Json plans = json_of(shell.run({"list", "plans", "--json"})).at("tables").at("plans");
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].at("plan"), 1);
  EXPECT_EQ(plans[0].at("runs").at("done"), 6);
  EXPECT_EQ(plans[0].at("runs").at("planned"), 6);
  EXPECT_EQ(json_of(shell.run({"list", "plans", "--suite", "other", "--json"})).at("tables").at("plans").size(), 0U);
}

TEST(NewTemplates, AreCommentedAndWorkAsTheyAre) {
  const CommandLine shell("new_templates");
  ASSERT_EQ(shell.run({"new", "suite", "mine.json"}).exit_code, 0);
  EXPECT_NE(read_text(shell.work() / "mine.json").find("// "), std::string::npos);
  const core::Json cells = json_of(shell.run({"show", "mine.json", "--json"})).at("tables").at("cells");
  EXPECT_EQ(cells.size(), 4U) << "the base and three features";
  ASSERT_EQ(shell.run({"new", "feature", "my_idea"}).exit_code, 0);
  const ProgramResult tried = shell.run({"ablate", "--base", "record17", "--design", "add_one_in", "--features",
                                         "my_idea", "--catalogue", "catalogue", "--dry-run", "--json"});
  ASSERT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_EQ(json_of(tried).at("tables").at("cells").size(), 2U);
  ASSERT_EQ(shell.run({"new", "suite", "own", "--own-trainer"}).exit_code, 0);
  shell.write("train.py", "print('step:1/1 val_loss:3.0 train_time:5ms')\n");
  EXPECT_EQ(json_of(shell.run({"show", "own.json", "--json"})).at("tables").at("cells").size(), 2U);
  expect_refusals(shell, {{{"new", "suite", "mine.json"}, "exists already"},
                          {{"new", "feature", "My Idea"}, "lower-case"},
                          {{"new", "feature", "rotary"}, "has a feature rotary already"}});
}

TEST(NamedFeatures, ThatCannotActAreAnError) {
  const CommandLine shell("named_features");
  const std::vector<std::string> start = {"ablate",  "--base", "record17",  "--design",  "leave_one_out",
                                          "--scale", "smoke",  "--dry-run", "--features"};
  const auto with = [&](const std::string& features) {
    std::vector<std::string> arguments = start;
    arguments.push_back(features);
    return arguments;
  };
  EXPECT_EQ(shell.run(with("rotary")).exit_code, 0);
  expect_refusals(shell, {{with("rotary,smear_gate"), "smear_gate"}});
  EXPECT_EQ(shell.run(with("all")).exit_code, 0) << "of all, those that cannot act are left out";
}

/// The same suite by every command that reads one.
TEST(NamedFeatures, OfASuiteFileThatCannotActAreAnError) {
  const CommandLine shell("named_in_a_file");
  const auto file_with = [](const std::string& features) {
    return R"({"name": "s", "design": "leave_one_out", "base": {"record": "record17"}, "scale": "smoke", "seeds": [1],
               "engine": {"mock": {}}, "features": )" +
           features + "}";
  };
  shell.write("idle.json", file_with(R"(["rotary", "smear_gate", "mudd"])"));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"show", "idle.json"}, {"plan", "idle.json"}, {"run", "idle.json"}, {"hunt", "idle.json"}}) {
    const ProgramResult result = shell.run(command);
    EXPECT_EQ(result.exit_code, 2) << command[0] << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const char* word : {"idle.json: /features: ", "smear_gate", "mudd"})
      EXPECT_NE(result.err.find(word), std::string::npos) << command[0] << ": " << result.err;
    EXPECT_EQ(result.err.find("rotary"), std::string::npos) << "rotary acts: " << result.err;
  }
  shell.write("acts.json", file_with(R"(["rotary"])"));
  EXPECT_EQ(shell.run({"show", "acts.json"}).exit_code, 0);
  shell.write("all.json", file_with("[]"));
  EXPECT_EQ(shell.run({"show", "all.json"}).exit_code, 0) << "no one has named what cannot act";
}

/// Scale nano holds the precision that the official scale leaves to the feature.
TEST(NamedFeatures, ThatTheCommandLineTakesAwayAreANote) {
  const CommandLine shell("named_and_scaled");
  const auto file_with = [](const std::string& scale, const std::string& features) {
    return R"({"name": "s", "design": "leave_one_out", "base": {"record": "record17"}, "seeds": [1], "scale": ")" +
           scale + R"(", "engine": {"mock": {}}, "features": ["rotary", )" + features + "]}";
  };
  const auto cells_of = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"show", "s.json", "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramResult result = shell.run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json_of(result).at("tables").at("cells").size();
  };
  shell.write("s.json", file_with("official", R"("activation_precision")"));
  EXPECT_EQ(cells_of({}), 3U);
  EXPECT_EQ(cells_of({"--scale", "nano"}), 2U);
  shell.write("s.json", file_with("official", R"("activation_precision", "smear_gate")"));
  expect_refusals(shell, {{{"show", "s.json", "--scale", "nano"}, "smear_gate"}});
  const std::string refused = shell.run({"show", "s.json", "--scale", "nano"}).err;
  EXPECT_EQ(refused.find("activation_precision"), std::string::npos) << "it acts at the file's own scale: " << refused;
  shell.write("s.json", file_with("nano", R"("activation_precision")"));
  expect_refusals(shell, {{{"show", "s.json"}, "activation_precision"}});
}

TEST(NamedFeatures, EveryShippedSuiteActsAtItsScale) {
  const CommandLine shell("shipped_suites");
  int suites = 0;
  for (const auto& entry : std::filesystem::directory_iterator(NANOBENCH_SOURCE_DIR "/suites")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".json") || name == "suite.schema.json") continue;
    const ProgramResult result = shell.run({"show", entry.path().string()});
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
    ++suites;
  }
  EXPECT_GT(suites, 10);
}

TEST(Units, OptionsTakeThem) {
  const CommandLine shell("units");
  shell.write("s.json", suite());
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  const auto power = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"plan", "s.json", "--json", "--quiet"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return shell.run(arguments);
  };
  EXPECT_EQ(power({"--detect", "5%"}).out, power({"--detect-time", "0.05"}).out);
  EXPECT_EQ(power({"--detect", "0.01", "--power", "90%"}).out, power({"--detect", "0.01nats", "--power", "0.9"}).out);
  EXPECT_NE(power({"--detect", "5%"}).out, power({"--detect", "0.05"}).out) << "a time, and a loss";
  const auto gate = [&](const std::string& margin, const std::string& alpha) {
    return shell.run({"gate", "s.json", "--baseline-suite", "s.json", "--forecast", "--json", "--quiet", "--margin",
                      "time=" + margin, "--margin", "loss=0.002nats", "--alpha", alpha});
  };
  EXPECT_EQ(gate("3%", "5%").exit_code, 0) << gate("3%", "5%").err;
  EXPECT_EQ(gate("3%", "5%").out, gate("0.03", "0.05").out);
  EXPECT_NE(gate("3%", "5%").out, gate("0.3%", "5%").out);
  expect_refusals(shell, {{{"plan", "s.json", "--quiet", "--detect", "5ms"}, "--detect 5ms: expected"},
                          {{"watch", "--interval", "2d"}, "--interval 2d: expected"}});
}

TEST(Database, OfARepositoryOfOnesOwnLiesAtItsTop) {
  const CommandLine shell("own_repository");
  std::filesystem::create_directories(shell.work() / ".git");
  std::filesystem::create_directories(shell.work() / "below");
  shell.write("s.json", suite());
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}, "NANOBENCH_DB=").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(shell.work() / "nanobench.db"));
  const ProgramResult below = shell.run({"list", "plans", "--json"}, "NANOBENCH_DB= env --chdir=below");
  EXPECT_EQ(json_of(below).at("tables").at("plans").size(), 1U) << below.err;
}

TEST(Version, HasAShortOption) {
  const CommandLine shell("version");
  EXPECT_EQ(shell.run({"-v"}).out, shell.run({"--version"}).out);
  EXPECT_TRUE(shell.run({"-v"}).out.starts_with("nanobench "));
}

}  // namespace
}  // namespace nanobench::tools

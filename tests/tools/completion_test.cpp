// Completion: every command, option and name is a candidate, the shells' scripts ask for them, and nothing is built.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "ablations/catalogue.h"
#include "results/store.h"
#include "tests/tools/run_command_line.h"
#include "tools/cli/complete.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

/// What `nanobench complete WORD...` offers.
struct Offered {
  std::string kind;
  std::vector<std::string> words;

  bool has(const std::string& word) const { return std::find(words.begin(), words.end(), word) != words.end(); }
  std::set<std::string> set() const { return {words.begin(), words.end()}; }
};

Offered offered(const CommandLine& shell, std::vector<std::string> words) {
  words.insert(words.begin(), "complete");
  const ProgramResult result = shell.run(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "") << "nothing may disturb the line that is being typed";
  Offered offer;
  std::istringstream lines(result.out);
  std::getline(lines, offer.kind);
  for (std::string line; std::getline(lines, line);) offer.words.push_back(line.substr(0, line.find('\t')));
  return offer;
}

/// The lines of `COMMAND --help` below "Options:" or "Subcommands:", each as its names.
std::set<std::string> names_in_help(const std::string& help, const std::string& title) {
  std::set<std::string> names;
  const std::size_t start = help.find("\n" + title + ":\n");
  if (start == std::string::npos) return names;
  std::istringstream lines(help.substr(start + title.size() + 3));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    std::smatch name;
    static const std::regex kName(R"(^  (?:-[a-z],)?((?:--)?[a-z][a-z-]*))");
    if (std::regex_search(line, name, kName)) names.insert(name[1]);
  }
  return names;
}

void check_level(const CommandLine& shell, const std::vector<std::string>& path, int& options_seen) {
  std::vector<std::string> words = path;
  words.emplace_back("--help");
  const std::string help = shell.run(words).out;
  words.back() = "--";
  const std::set<std::string> options = names_in_help(help, "Options");
  EXPECT_TRUE(options.contains("--help"));
  EXPECT_EQ(offered(shell, words).set(), options) << ::testing::PrintToString(path);
  options_seen += static_cast<int>(options.size());
  const std::set<std::string> commands = names_in_help(help, "Subcommands");
  if (commands.empty()) return;
  words.back() = "";
  EXPECT_EQ(offered(shell, words).set(), commands) << ::testing::PrintToString(path);
  for (const std::string& command : commands) {
    std::vector<std::string> below = path;
    below.push_back(command);
    check_level(shell, below, options_seen);
  }
}

TEST(Completion, EveryCommandAndOptionOfTheHelpIsACandidate) {
  const CommandLine shell("complete_all");
  int options_seen = 0;
  check_level(shell, {}, options_seen);
  EXPECT_GT(options_seen, 200) << "the walk ends early";
}

/// Types of values that nobody can list: numbers, texts, names of things outside.
const std::set<std::string> kFreeTypes = {"N",        "P",       "S",     "X",    "LOSS",    "NATS",
                                          "FRACTION", "SECONDS", "N|A,B", "TEXT", "COMMAND", "OPTION",
                                          "REF",      "REV",     "P%",    "TIME", "NATS|P%", "NAME=VALUES"};
/// Names that the user makes up, or that only another system knows.
const std::set<std::string> kFreeNames = {"ablate --name", "bench --name", "import --suite", "run --partition",
                                          "trend --host"};

void check_values(const CLI::App& level, const std::string& path, std::set<std::string>& rules_used) {
  for (const CLI::Option* option : level.get_options()) {
    if (!takes_value(*option)) continue;
    const std::string name = option->get_name(option->get_positional());
    const bool is_free = kFreeTypes.contains(option->get_type_name()) || kFreeNames.contains(path + " " + name);
    EXPECT_TRUE(is_free || has_values(*option, path)) << path << " " << name << " " << option->get_type_name();
    for (const ValueRule& rule : value_rules()) {
      const bool is_here = rule.command.empty() || rule.command == path;
      if (is_here && option->check_name(std::string(rule.option)))
        rules_used.insert(std::string(rule.command) + " " + std::string(rule.option));
    }
  }
  for (const CLI::App* command : level.get_subcommands(nullptr))
    check_values(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), rules_used);
}

TEST(Completion, EveryValueHasCandidatesOrIsFree) {
  CLI::App app("", "nanobench");
  Session session;
  add_all_commands(app, session);
  std::set<std::string> used;
  check_values(app, "", used);
  for (const ValueRule& rule : value_rules())
    EXPECT_TRUE(used.contains(std::string(rule.command) + " " + std::string(rule.option)))
        << "no option has the rule of " << rule.command << " " << rule.option;
}

TEST(Completion, NamesOfTheCatalogue) {
  const CommandLine shell("complete_catalogue");
  const ablations::Catalogue catalogue = ablations::Catalogue::embedded();
  const std::set<std::string> shown = offered(shell, {"show", ""}).set();
  for (const auto* feature : catalogue.all_features()) EXPECT_TRUE(shown.contains(feature->id)) << feature->id;
  for (const auto* record : catalogue.records()) EXPECT_TRUE(shown.contains(record->id)) << record->id;
  for (const auto* claim : catalogue.claims()) EXPECT_TRUE(shown.contains(claim->id)) << claim->id;
  EXPECT_TRUE(shown.contains("speedrun_history"));
  std::set<std::string> scales;
  for (const auto* scale : catalogue.scales()) scales.insert(scale->id);
  EXPECT_EQ(offered(shell, {"run", "speedrun_history", "--scale", ""}).set(), scales);
  EXPECT_EQ(offered(shell, {"run", "--scale=na"}).words, std::vector<std::string>{"--scale=nano"});
  EXPECT_EQ(offered(shell, {"ablate", "--base", "record1"}).words.size(), 11U) << "record1 and record10 to record19";
}

TEST(Completion, SettingsAndLists) {
  const CommandLine shell("complete_lists");
  EXPECT_EQ(offered(shell, {"show", "record17", "--set", "attention_sk"}).words,
            std::vector<std::string>{"attention_skip="});
  EXPECT_EQ(offered(shell, {"show", "record17", "--set", "rotary="}).set(),
            (std::set<std::string>{"rotary=full_10000", "rotary=half_1024"}));
  EXPECT_EQ(offered(shell, {"ablate", "--features", "rotary,attention_sk"}).words,
            std::vector<std::string>{"rotary,attention_skip"});
  EXPECT_FALSE(offered(shell, {"ablate", "--features", "rotary,"}).has("rotary,rotary")) << "each once";
  EXPECT_EQ(offered(shell, {"ablate", "--axis", "rotary=full_10000,"}).words,
            std::vector<std::string>{"rotary=full_10000,half_1024"});
  EXPECT_EQ(offered(shell, {"gate", "--only", "loss,ti"}).words, std::vector<std::string>{"loss,time"});
}

TEST(Completion, OwnCatalogueAndChoices) {
  const CommandLine shell("complete_own");
  std::filesystem::create_directories(shell.work() / "mine" / "features");
  shell.write("mine/features/my_cap.json", R"({"title": "Mine", "values": {"low": {}, "high": {}}})");
  EXPECT_TRUE(offered(shell, {"show", "--catalogue", "mine", "my_"}).has("my_cap"));
  EXPECT_EQ(offered(shell, {"show", "--catalogue", "mine", "record17", "--set", "my_cap="}).set(),
            (std::set<std::string>{"my_cap=low", "my_cap=high"}));
  const results::Store made(shell.work() / "empty.db");
  for (const std::string& kind : offered(shell, {"list", ""}).words)
    EXPECT_EQ(shell.run({"list", kind, "--db", "empty.db"}).exit_code, 0) << kind;
  const Offered formats = offered(shell, {"list", "--format", ""});
  EXPECT_EQ(formats.words.size(), 5U);
  for (const std::string& format : formats.words)
    EXPECT_EQ(shell.run({"list", "scales", "--format", format}).exit_code, 0) << format;
  for (const std::string& verdict : offered(shell, {"claims", "--verdict", ""}).words)
    EXPECT_EQ(shell.run({"claims", "--verdict", verdict}).exit_code, 0) << verdict;
  EXPECT_TRUE(offered(shell, {"export", "--format", ""}).has("tensorboard")) << "a rule of one command comes first";
}

TEST(Completion, NamesOfTheStore) {
  const CommandLine shell("complete_store");
  EXPECT_TRUE(offered(shell, {"report", "--suite", ""}).words.empty()) << "there is no database yet";
  shell.write("loo.json", R"({"name": "loo", "design": "leave_one_out", "base": {"record": "record17"},
      "features": ["attention_skip"], "scale": "smoke", "seeds": [1], "engine": {"mock": {}}})");
  ASSERT_EQ(shell.run({"run", "loo.json", "--quiet"}).exit_code, 0);
  ASSERT_EQ(shell.run({"baseline", "save", "main"}).exit_code, 0);
  EXPECT_EQ(offered(shell, {"report", "--suite", ""}).words, std::vector<std::string>{"loo"});
  EXPECT_EQ(offered(shell, {"report", "--plan", ""}).words, std::vector<std::string>{"1"});
  EXPECT_EQ(offered(shell, {"compare", ""}).set(),
            (std::set<std::string>{"record17", "without attention_skip", "1", "2", "plan:1"}));
  EXPECT_EQ(offered(shell, {"compare", "record17", "wi"}).words, std::vector<std::string>{"without attention_skip"});
  EXPECT_EQ(offered(shell, {"export", "--run", ""}).set(), (std::set<std::string>{"1", "2"}));
  EXPECT_TRUE(offered(shell, {"gate", "loo.json", "--baseline", "ma"}).has("main"));
  EXPECT_TRUE(offered(shell, {"report", "--db", "nowhere.db", "--plan", ""}).words.empty());
  shell.write("broken.db", "no database");
  EXPECT_TRUE(offered(shell, {"report", "--db", "broken.db", "--plan", ""}).words.empty());
}

TEST(Completion, FollowsTheParser) {
  const CommandLine shell("complete_parser");
  EXPECT_FALSE(offered(shell, {"run", "--quiet", "--"}).has("--quiet")) << "a flag stands once";
  EXPECT_TRUE(offered(shell, {"show", "record17", "--set", "rotary=half_1024", "--"}).has("--set"))
      << "may be repeated";
  EXPECT_EQ(offered(shell, {"run", ""}).kind, "files") << "a suite may be a file";
  EXPECT_EQ(offered(shell, {"run", "--catalogue", ""}).kind, "folders");
  EXPECT_EQ(offered(shell, {"list", ""}).kind, "words");
  EXPECT_TRUE(offered(shell, {"doctor", ""}).has("--json")) << "no other word can follow";
  EXPECT_TRUE(offered(shell, {"run", "--", "--"}).words.empty()) << "behind -- there are no options";
  EXPECT_TRUE(offered(shell, {"nonsense", "x"}).words.empty());
  EXPECT_TRUE(offered(shell, {"run", "--nonsense", "--scale=", "--nonsense=a"}).words.empty());
  EXPECT_TRUE(offered(shell, {}).has("run")) << "not even an empty word";
}

// --- the shells ---

/// What Bash would offer for the words, which it splits at '=' and ':'; the last one is being typed.
std::vector<std::string> bash_replies(const CommandLine& shell, const std::string& line,
                                      const std::vector<std::string>& words) {
  std::string script =
      "PATH=" + quoted(NANOBENCH_BIN_DIR) + ":$PATH\nsource <(nanobench completion bash)\nCOMP_WORDS=(";
  for (const std::string& word : words) script += quoted(word) + " ";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\nCOMP_LINE=" + quoted(line) +
            "\nCOMP_POINT=${#COMP_LINE}\ncomplete -p nanobench >/dev/null || exit 1\n_nanobench\n"
            "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  shell.write("complete.bash", script);
  const std::string command =
      "cd " + quoted(shell.work().string()) + " && NANOBENCH_ROOT=" + quoted(NANOBENCH_SOURCE_DIR) +
      " NANOBENCH_DB=" + quoted(shell.database().string()) + " bash complete.bash >replies 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_text(shell.work() / "replies");
  std::vector<std::string> replies;
  std::istringstream lines(read_text(shell.work() / "replies"));
  for (std::string reply; std::getline(lines, reply);) replies.push_back(reply);
  return replies;
}

using Replies = std::vector<std::string>;

TEST(BashCompletion, OffersWhatTheProgramOffers) {
  const CommandLine shell("bash");
  EXPECT_EQ(bash_replies(shell, "nanobench aud", {"nanobench", "aud"}), Replies{"audit"});
  EXPECT_EQ(bash_replies(shell, "nanobench run  --sca", {"nanobench", "run", "--sca"}), Replies{"--scale"});
  EXPECT_EQ(bash_replies(shell, "nanobench ablate --features rotary,attention_sk",
                         {"nanobench", "ablate", "--features", "rotary,attention_sk"}),
            Replies{"rotary,attention_skip"});
  const std::string program = std::string(NANOBENCH_BIN_DIR) + "/nanobench";
  EXPECT_EQ(bash_replies(shell, program + " dia", {program, "dia"}), Replies{""}) << "nothing begins with it";
  EXPECT_EQ(bash_replies(shell, program + " dif", {program, "dif"}), Replies{"diff"});
}

TEST(BashCompletion, PutsSplitWordsTogether) {
  const CommandLine shell("bash_split");
  EXPECT_EQ(bash_replies(shell, "nanobench run --scale=na", {"nanobench", "run", "--scale", "=", "na"}),
            Replies{"nano"});
  EXPECT_EQ(bash_replies(shell, "nanobench show --set rotary=", {"nanobench", "show", "--set", "rotary", "="}),
            (Replies{"full_10000", "half_1024"}));
  EXPECT_EQ(bash_replies(shell, "nanobench run x --device cuda:", {"nanobench", "run", "x", "--device", "cuda", ":"}),
            Replies{"0"});
}

TEST(BashCompletion, QuotesWordsAndAddsFiles) {
  const CommandLine shell("bash_quotes");
  shell.write("loo.json", R"({"name": "loo", "design": "leave_one_out", "base": {"record": "record17"},
      "features": ["attention_skip"], "scale": "smoke", "seeds": [1], "engine": {"mock": {}}})");
  ASSERT_EQ(shell.run({"run", "loo.json", "--quiet"}).exit_code, 0);
  EXPECT_EQ(bash_replies(shell, "nanobench compare record17 wi", {"nanobench", "compare", "record17", "wi"}),
            Replies{"without\\ attention_skip"});
  EXPECT_EQ(bash_replies(shell, "nanobench compare record17 'wi", {"nanobench", "compare", "record17", "'wi"}),
            Replies{"without attention_skip"})
      << "the shell adds the other quote";
  EXPECT_EQ(bash_replies(shell, "nanobench run lo", {"nanobench", "run", "lo"}), Replies{"loo.json"});
}

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::size_t lines_like(const std::string& text, const std::string& pattern) {
  const std::regex lines(pattern, std::regex::multiline);
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), lines), {}));
}

TEST(CompletionScript, OfEachShellParses) {
  const CommandLine shell("scripts");
  for (const std::string name : {"bash", "zsh", "fish"}) {
    const ProgramResult script = shell.run({"completion", name});
    ASSERT_EQ(script.exit_code, 0) << script.err;
    EXPECT_NE(script.out.find(" complete "), std::string::npos) << "it asks the program";
    shell.write("script", script.out);
    const std::string check = name + " -n " + quoted((shell.work() / "script").string());
    if (!is_installed(name)) continue;
    EXPECT_EQ(std::system(check.c_str()), 0) << name;
  }
}

TEST(CompletionScript, OfZshClosesItsBlocks) {
  const std::string script = CommandLine("script_zsh").run({"completion", "zsh"}).out;
  EXPECT_TRUE(script.starts_with("#compdef nanobench\n")) << "compinit looks at the first line";
  EXPECT_EQ(lines_like(script, R"(^ *if\b)"), lines_like(script, R"(\bfi$)"));
  EXPECT_EQ(lines_like(script, R"(\bdo$)"), lines_like(script, R"(^ *done$)"));
  EXPECT_EQ(lines_like(script, R"(\{$)"), lines_like(script, R"(^ *\}$)"));
}

TEST(CompletionScript, OfFishClosesItsBlocks) {
  const std::string script = CommandLine("script_fish").run({"completion", "fish"}).out;
  EXPECT_EQ(lines_like(script, R"(^ *(function|if|for|switch|while|begin)\b)"), lines_like(script, R"(^ *end$)"));
}

TEST(CompletionScript, OfAnUnknownShellIsRefused) {
  const ProgramResult result = CommandLine("script_unknown").run({"completion", "zhs"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("zsh"), std::string::npos) << result.err;
}

// --- the launcher ---

TEST(LauncherCompletion, AsksABuiltProgramAndNeverBuilds) {
  const CommandLine shell("launcher");
  const std::filesystem::path launcher = shell.work() / "nanobench";
  std::filesystem::copy_file(std::filesystem::path(NANOBENCH_SOURCE_DIR) / "nanobench", launcher);
  const std::string command = "env -u NANOBENCH_PRESET " + quoted(launcher.string()) + " complete 'a b' '' >" +
                              quoted((shell.work() / "out").string()) + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << "nothing is built yet, and nothing is offered";
  EXPECT_EQ(read_text(shell.work() / "out"), "");
  std::filesystem::create_directories(shell.work() / "build" / "release" / "bin");
  shell.write("build/release/bin/nanobench", "#!/bin/sh\nprintf '[%s]' \"$@\"\n");
  std::filesystem::permissions(shell.work() / "build/release/bin/nanobench", std::filesystem::perms::owner_all);
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_text(shell.work() / "out"), "[complete][--launcher][a b][]");
}

TEST(LauncherCompletion, HasTheLaunchersCommands) {
  const CommandLine shell("launcher_commands");
  const std::string text = read_text(std::filesystem::path(NANOBENCH_SOURCE_DIR) / "nanobench");
  std::smatch arm;
  ASSERT_TRUE(std::regex_search(text, arm, std::regex(R"(\n  ([a-z]+(?: \| [a-z]+)+)\)\n)")));
  std::set<std::string> commands;
  std::istringstream words(arm[1]);
  for (std::string word; words >> word;) {
    if (word != "|") commands.insert(word);
  }
  const std::vector<std::string>& known = launcher_commands();
  EXPECT_EQ(commands, std::set<std::string>(known.begin(), known.end()));
  EXPECT_TRUE(offered(shell, {"--launcher", "set"}).has("setup"));
  EXPECT_TRUE(offered(shell, {"set"}).words.empty()) << "the program itself does not have it";
  for (const std::string& name : known) EXPECT_EQ(shell.run({name}).exit_code, 2);
}

}  // namespace
}  // namespace nanobench::tools

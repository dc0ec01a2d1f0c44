// Which stored results `nanobench gate` compares with, and `nanobench baseline`.
#include "tests/tools/gate_command_line.h"

namespace nanobench::tools {
namespace {

/// Stored runs of base.json under the name "main".
void save_main(const CommandLine& shell, const std::string& mock = "{}") {
  shell.write("base.json", gate_suite(mock));
  ASSERT_EQ(shell.run({"run", "base.json", "--quiet"}).exit_code, 0);
  const ProgramResult saved = shell.run({"baseline", "save", "main", "--out", "main.json", "--replace"});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
}

const std::string kWorse = R"({"effect": 0.01})";

TEST(GateBaseline, AStoredOneByNameByFileAndByDatabase) {
  const CommandLine shell("gate_stored");
  save_main(shell);
  for (const std::string& baseline : {shell.database().string(), std::string("main.json"), std::string("main")}) {
    shell.write("g.json", gate_suite(kWorse));
    const std::vector<std::string> other = {"--db", "candidate.db"};
    std::vector<std::string> words = {"--json", "--baseline", baseline};
    if (baseline != "main") words.insert(words.end(), other.begin(), other.end());
    const ProgramResult worse = shell.run(gate_words(words));
    EXPECT_EQ(worse.exit_code, 1) << baseline << worse.err << worse.out;
    EXPECT_EQ(metrics_with(json_of(worse), "regressed"), std::set<std::string>{"loss"});
    EXPECT_NE(worse.out.find("Compared with"), std::string::npos);
  }
}

TEST(GateBaseline, FiveWhenThereIsNoneOrItCannotBeCompared) {
  const CommandLine shell("gate_5");
  shell.write("g.json", gate_suite());
  const ProgramResult none = shell.run(gate_words({}));
  EXPECT_EQ(none.exit_code, 5) << none.err;
  EXPECT_NE(none.err.find("no baseline of the suite g"), std::string::npos) << none.err;
  EXPECT_EQ(shell.run(gate_words({"--baseline", "mian"})).exit_code, 5);
  save_main(shell);
  const ProgramResult misspelt = shell.run(gate_words({"--baseline", "mian"}));
  EXPECT_EQ(misspelt.exit_code, 5);
  EXPECT_NE(misspelt.err.find("did you mean \"main\""), std::string::npos) << misspelt.err;
  const ProgramResult threads = shell.run(gate_words({"--baseline", "main", "--threads", "2"}));
  EXPECT_EQ(threads.exit_code, 5) << threads.out;
  EXPECT_NE(threads.out.find("the number of threads differs"), std::string::npos) << threads.out;
  for (const char* key : {"scale", "data_digest", "hardware"}) {
    core::Json other = core::read_json_file(shell.work() / "main.json");
    other[key] = "another";
    shell.write("other.json", other.dump());
    const ProgramResult result = shell.run(gate_words({"--baseline", "other.json"}));
    EXPECT_EQ(result.exit_code, 5) << key << result.out;
  }
}

TEST(GateBaseline, BadFilesAreUsageErrors) {
  const CommandLine shell("gate_bad_file");
  save_main(shell);
  shell.write("g.json", gate_suite());
  shell.write("text.json", "Dear diary");
  expect_usage_error(shell.run(gate_words({"--baseline", "text.json"})), "text.json");
  shell.write("short.db", "SQLite format 3");
  EXPECT_EQ(shell.run(gate_words({"--baseline", "short.db"})).exit_code, 2);
  core::Json newer = core::read_json_file(shell.work() / "main.json");
  newer["schema_version"] = 99;
  shell.write("newer.json", newer.dump());
  expect_usage_error(shell.run(gate_words({"--baseline", "newer.json"})), "form 99");
}

TEST(GateBaseline, TheSameRunsOnBothSidesAreSaid) {
  const CommandLine shell("gate_same");
  save_main(shell);
  shell.write("g.json", gate_suite());
  const ProgramResult same = shell.run(gate_words({"--baseline", "main", "--only", "loss"}));
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_NE(same.out.find("The candidate's runs are the baseline's"), std::string::npos) << same.out;
}

TEST(GateStored, ComparesWhatIsThereAndRunsNothing) {
  const CommandLine shell("gate_is_stored");
  shell.write("g.json", gate_suite(kWorse));
  save_main(shell);
  ASSERT_EQ(shell.run({"run", "g.json", "--quiet"}).exit_code, 0);
  const std::size_t before = results::Store(shell.database()).runs().size();
  const ProgramResult result = shell.run(gate_words({"--baseline", "main", "--stored"}));
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_EQ(results::Store(shell.database()).runs().size(), before);
  expect_usage_error(shell.run(gate_words({"--baseline", "main.json", "--stored", "--db", "empty.db"})),
                     "holds no results of the suite g");
}

TEST(BaselineCommand, SaveAcceptList) {
  const CommandLine shell("baseline");
  EXPECT_EQ(shell.run({"baseline", "save", "main"}).exit_code, 2) << "there are no results yet";
  save_main(shell);
  EXPECT_EQ(shell.run({"baseline", "accept"}).exit_code, 2) << "a reason is needed";
  ASSERT_EQ(shell.run({"baseline", "accept", "--reason", "wider, as wanted"}).exit_code, 0);
  const core::Json rows = json_of(shell.run({"baseline", "list", "--json"})).at("tables").at("baselines");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at(0).at("name"), "main");
  EXPECT_EQ(rows.at(0).at("accepted"), false);
  EXPECT_EQ(rows.at(1).at("name"), "accepted-1");
  EXPECT_EQ(rows.at(1).at("accepted"), true);
  EXPECT_EQ(rows.at(1).at("reason"), "wider, as wanted");
  EXPECT_EQ(shell.run({"baseline", "save", "x", "--plan", "99"}).exit_code, 2);
  shell.write("crash.json", gate_suite(R"({"fault": {"kind": "signal", "step": 3}})", R"(["record12"])", "crash"));
  EXPECT_EQ(shell.run({"run", "crash.json", "--quiet"}).exit_code, 4);
  expect_usage_error(shell.run({"baseline", "save", "holes", "--suite", "crash"}), "is incomplete");
}

TEST(BaselineCommand, SaveReplacesNothingUnlessAsked) {
  const CommandLine shell("baseline_force");
  save_main(shell);
  const std::string kept = read_text(shell.work() / "main.json");
  const auto plan_of_main = [&] { return results::Store(shell.database()).find_baseline("main")->plan_id; };
  const std::int64_t first = plan_of_main();
  EXPECT_EQ(shell.run({"baseline", "save", "main"}).exit_code, 0) << "it has these results already";
  expect_usage_error(shell.run({"baseline", "save", "other", "--out", "main.json"}), "main.json");
  EXPECT_FALSE(results::Store(shell.database()).find_baseline("other")) << "nothing is stored either";
  shell.write("base.json", gate_suite(kWorse));
  ASSERT_EQ(shell.run({"run", "base.json", "--quiet"}).exit_code, 0);
  expect_usage_error(shell.run({"baseline", "save", "main", "--out", "new.json"}), "--replace");
  EXPECT_EQ(plan_of_main(), first);
  EXPECT_FALSE(std::filesystem::exists(shell.work() / "new.json"));
  EXPECT_EQ(read_text(shell.work() / "main.json"), kept);
  ASSERT_EQ(shell.run({"baseline", "save", "main", "--out", "main.json", "--replace"}).exit_code, 0);
  EXPECT_NE(plan_of_main(), first);
  EXPECT_NE(read_text(shell.work() / "main.json"), kept);
}

TEST(GateBaseline, TheNewestAcceptedWhereThereIsNoRepository) {
  const CommandLine shell("gate_accepted");
  save_main(shell);
  ASSERT_EQ(shell.run({"baseline", "accept", "--reason", "first"}).exit_code, 0);
  save_main(shell, kWorse);
  ASSERT_EQ(shell.run({"baseline", "accept", "--reason", "second"}).exit_code, 0);
  shell.write("g.json", gate_suite(kWorse));
  const ProgramResult result = shell.run(gate_words({"--only", "loss"}), "GIT_CEILING_DIRECTORIES=/tmp");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("baseline accepted-2 (accepted"), std::string::npos) << result.out;
}

/// A repository in the shell's folder.
class Repository {
 public:
  explicit Repository(const CommandLine& shell) : shell_(shell) {
    git("init -q -b main .");
    git("config user.name Tester");
    git("config user.email tester@example.org");
    std::ofstream(shell.work() / ".gitignore") << "*\n";
  }
  void git(const std::string& words) const {
    const std::string command = "cd " + quoted(shell_.work().string()) + " && git " + words + " >/dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  void commit(const std::string& message) const { git("commit -q --allow-empty -m " + quoted(message)); }

 private:
  const CommandLine& shell_;
};

TEST(GateBaseline, TheMergeBasesNearestAncestorGoesBeforeTheNewestAccepted) {
  const CommandLine shell("gate_merge_base");
  const Repository repository(shell);
  const auto store_as = [&](const std::string& name, const std::string& mock, bool is_accepted) {
    shell.write("base.json", gate_suite(mock));
    ASSERT_EQ(shell.run({"run", "base.json", "--quiet"}).exit_code, 0);
    const ProgramResult result = is_accepted ? shell.run({"baseline", "accept", name, "--reason", "wanted"})
                                             : shell.run({"baseline", "save", name});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  };
  repository.commit("one");
  store_as("far", R"({"effect": 0.2})", false);
  repository.commit("two");
  store_as("near", "{}", false);
  repository.commit("three");  // no baseline is of this one, where the branch leaves
  repository.git("branch change");
  repository.commit("four");
  store_as("newest", R"({"effect": 0.3})", true);
  repository.git("checkout -q change");
  repository.commit("the change");
  shell.write("g.json", gate_suite());
  const ProgramResult result = shell.run(gate_words({"--only", "loss"}));
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_NE(result.out.find("baseline near (of the merge base's ancestor "), std::string::npos) << result.out;
  repository.git("checkout -q main");
  const ProgramResult on_main = shell.run(gate_words({"--only", "loss"}));
  EXPECT_NE(on_main.out.find("baseline newest (of the merge base "), std::string::npos) << on_main.out;
}

}  // namespace
}  // namespace nanobench::tools

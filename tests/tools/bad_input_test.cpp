// Bad input at the command line: one sentence that names the place, the right exit code, nothing left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

constexpr const char* kBadInputSuite = R"({"name": "tiny", "design": "history", "records": ["record12", "record13"],
  "scale": "smoke", "engine": {"mock": {}}})";

/// A file of the test and a command line, and what the error must say.
struct BadInput {
  const char* name;
  const char* file;  ///< name of the file to write, or ""
  std::string text;
  std::vector<std::string> arguments;
  std::vector<const char*> says;

  friend void PrintTo(const BadInput& input, std::ostream* out) { *out << input.name; }
};

std::string suite_with(const std::string& more) {
  return R"({"name": "bad", "design": "history", "records": ["record12"], "scale": "smoke", )" + more + "}";
}

std::string shard(std::int32_t magic, std::int32_t tokens, std::size_t present) {
  std::string bytes(1024, '\0');
  const std::int32_t header[3] = {magic, 1, tokens};
  std::copy_n(reinterpret_cast<const char*>(header), sizeof header, bytes.begin());
  return bytes + std::string(present * 2, '\1');
}

std::vector<BadInput> cases_of_runs() {
  return {
      {"unknown_command", "", "", {"rnu"}, {"unknown command rnu", "\"run\""}},
      {"unknown_option", "", "", {"run", "x.json", "--sed", "3"}, {"--sed", "--seeds"}},
      {"missing_argument", "", "", {"run"}, {"SUITE", "nanobench run --help"}},
      {"launcher_command", "", "", {"setup"}, {"launcher"}},
      {"no_suite", "", "", {"run", "speedrun_histroy"}, {"speedrun_histroy", "speedrun_history"}},
      {"not_json", "s.json", "{\"name\": ", {"run", "s.json"}, {"s.json", "not valid JSON"}},
      {"suite_key", "s.json", suite_with(R"("seedz": [1])"), {"run", "s.json"}, {"s.json: /seedz", "seeds"}},
      {"suite_type", "s.json", suite_with(R"("seeds": "1")"), {"run", "s.json"}, {"/seeds", "list"}},
      {"suite_record",
       "s.json",
       R"({"name": "bad", "design": "history", "records": ["record99"], "scale": "smoke"})",
       {"run", "s.json"},
       {"record99"}},
      {"suite_conflict",
       "s.json",
       R"({"name": "bad", "design": "add_one_in", "features": [], "scale": "smoke", "base": {"record": "record17",
           "features": {"muon_update_scale": "sqrt_largest_side", "muon_learning_rate": "0.04"}}})",
       {"run", "s.json"},
       {"muon_update_scale", "muon_learning_rate"}},
      {"suite_feature_value",
       "s.json",
       R"({"name": "bad", "design": "leave_one_out", "features": [], "scale": "smoke",
           "base": {"record": "record17", "features": {"activation": "gelo"}}})",
       {"run", "s.json"},
       {"gelo", "gelu"}},
      {"suite_scale", "s.json", kBadInputSuite, {"run", "s.json", "--scale", "nanoo"}, {"nanoo", "nano"}},
      {"suite_data", "s.json", kBadInputSuite, {"run", "s.json", "--data", "txt:a"}, {"txt:a", "text"}},
      {"no_text", "s.json", kBadInputSuite, {"run", "s.json", "--data", "text:none.txt"}, {"none.txt"}},
      {"empty_text", "e.txt", "", {"data", "prepare", "--text", "e.txt", "--out", "set"}, {"e.txt"}},
      {"no_seeds", "s.json", kBadInputSuite, {"run", "s.json", "--seeds", "0"}, {"--seeds"}},
      {"bad_seeds", "s.json", kBadInputSuite, {"run", "s.json", "--seeds", "1,x"}, {"--seeds", "\"x\""}},
      {"twice_seeds", "s.json", kBadInputSuite, {"run", "s.json", "--seeds", "4,4"}, {"4", "twice"}},
      {"threads", "s.json", kBadInputSuite, {"run", "s.json", "--threads", "-1"}, {"--threads"}},
      {"catalogue", "s.json", kBadInputSuite, {"run", "s.json", "--catalogue", "nowhere"}, {"nowhere"}},
      {"config_key",
       "c.json",
       R"({"model": {"num_layer": 3}})",
       {"train", "c.json"},
       {"c.json: /model/num_layer", "num_layers"}},
      {"config_range", "c.json", R"({"model": {"num_layers": 0}})", {"train", "c.json"}, {"/model/num_layers"}},
      {"config_missing", "", "", {"train", "c.json"}, {"c.json"}},
      {"ranks", "s.json", kBadInputSuite, {"run", "s.json", "--ranks", "0"}, {"--ranks"}},
      {"ranks_processes",
       "s.json",
       kBadInputSuite,
       {"run", "s.json", "--ranks", "3", "--processes", "2"},
       {"3 ranks", "2 processes"}},
  };
}

/// What JSON cannot hold, and what is no file.
std::vector<BadInput> cases_of_inputs() {
  return {
      {"json_depth",
       "s.json",
       std::string(100'000, '[') + std::string(100'000, ']'),
       {"run", "s.json"},
       {"s.json", "100 deep"}},
      {"json_depth_of_member",
       "s.json",
       suite_with("\"seeds\": " + std::string(100'000, '[') + std::string(100'000, ']')),
       {"plan", "s.json"},
       {"s.json", "100 deep"}},
      {"json_exponent",
       "s.json",
       suite_with(R"("seeds": [1e999])"),
       {"run", "s.json"},
       {"s.json", "1e999", "too large"}},
      {"json_digits",
       "s.json",
       suite_with("\"seeds\": [" + std::string(400, '9') + "]"),
       {"run", "s.json"},
       {"s.json", "the number 999", "too large"}},
      {"json_size",
       "s.json",
       suite_with("\"seeds\": [1") + std::string(17U << 20, ' '),
       {"run", "s.json"},
       {"s.json", "16 MiB"}},
      {"config_exponent", "c.json", R"({"model": {"num_layers": -1e999}})", {"train", "c.json"}, {"c.json", "-1e999"}},
      {"device", "", "", {"plan", "/dev/zero"}, {"/dev/zero", "is a device"}},
      {"text_device", "", "", {"data", "prepare", "--text", "/dev/zero", "--out", "set"}, {"/dev/zero", "is a device"}},
  };
}

std::vector<BadInput> cases_of_texts() {
  return {
      {"set_form", "", "", {"show", "record17", "--set", "logit_softcap"}, {"--set logit_softcap", "FEATURE=VALUE"}},
      {"set_twice",
       "",
       "",
       {"show", "record17", "--set", "logit_softcap=off", "--set", "logit_softcap=15"},
       {"logit_softcap", "twice"}},
      {"set_unknown", "", "", {"show", "record17", "--set", "logit_sftcap=off"}, {"logit_sftcap", "logit_softcap"}},
      {"set_of_a_scale", "", "", {"show", "nano", "--set", "logit_softcap=off"}, {"nano is a scale", "record"}},
      {"set_impossible",
       "",
       "",
       {"show", "record17", "--config", "--set", "muon_orthogonalizer=svd", "--set", "hidden_matrix_optimizer=adam"},
       {"muon_orthogonalizer=svd needs hidden_matrix_optimizer"}},
      {"suite_impossible",
       "s.json",
       R"({"name": "bad", "design": "leave_one_out", "features": ["rotary"], "scale": "smoke", "base": {"record": "record17",
           "features": {"value_embeddings": "tables_12"}, "patch": {"model": {"num_layers": 6}}}})",
       {"run", "s.json"},
       {"s.json: /base", "expected 6, got 12", "asked for by value_embeddings=tables_12"}},
      {"suite_idle",
       "s.json",
       R"({"name": "bad", "design": "leave_one_out", "features": ["rotary"], "scale": "smoke", "base": {"record": "record17",
           "patch": {"run": {"val_every": 77}}}})",
       {"run", "s.json"},
       {"/base/patch changes nothing at scale smoke", "77 -> 5"}},
      {"diff_unknown", "", "", {"diff", "record17", "recrod18"}, {"recrod18", "record18"}},
      {"diff_no_run", "", "", {"diff", "record17", "77"}, {"results.db"}},
      {"new_part", "", "", {"new", "foo"}, {"new foo: expected suite or feature"}},
      {"db_part", "", "", {"db", "chek"}, {"db chek: expected", "did you mean \"check\""}},
      {"reproduce_no_run", "", "", {"reproduce", "77"}, {"results.db"}},
      {"reproduce_no_number", "", "", {"reproduce", "record17"}, {"RUN", "record17"}},
      {"show_unknown", "", "", {"show", "muon_ortogonalizer"}, {"muon_orthogonalizer"}},
      {"show_unknown_claim", "", "", {"show", "seed000_throughput_2_times"}, {"seed000_throughput_2_1_times"}},
      {"show_no_run", "", "", {"show", "77"}, {"results.db"}},
      {"list_kind", "", "", {"list", "feature"}, {"features"}},
      {"list_claim", "", "", {"list", "claim"}, {"claims"}},
      {"report_no_database", "", "", {"report"}, {"results.db"}},
      {"report_format", "", "", {"report", "--format", "pdf"}, {"pdf", "html"}},
      {"report_name", "", "", {"report", "--out", "report.pdf"}, {"--format"}},
      {"magic", "x.bin", shard(7, 8, 8), {"data", "info", "x.bin"}, {"x.bin", "20240520"}},
      {"truncated", "x.bin", shard(20240520, 100, 8), {"data", "info", "x.bin"}, {"x.bin"}},
      {"no_shard", "", "", {"data", "info", "x.bin"}, {"x.bin"}},
      {"document_rule",
       "a.txt",
       std::string(5000, 'x'),
       {"data", "prepare", "--text", "a.txt", "--out", "set", "--documents", "blnk-line"},
       {"blank_line"}},
  };
}

std::vector<BadInput> cases() {
  std::vector<BadInput> all = cases_of_runs();
  for (const std::vector<BadInput>& others : {cases_of_inputs(), cases_of_texts()})
    all.insert(all.end(), others.begin(), others.end());
  return all;
}

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsOneSentenceAndExitCode2AndLeavesNothing) {
  const BadInput& bad = GetParam();
  const CommandLine shell(std::string("bad_") + bad.name);
  // The mock engine's program stands in where an engine must be found.
  shell.write("engine", "#!/bin/sh\nexit 99\n");
  std::filesystem::permissions(shell.work() / "engine", std::filesystem::perms::owner_all);
  if (*bad.file != '\0') shell.write(bad.file, bad.text);
  const auto count = [&] {
    return std::distance(std::filesystem::directory_iterator(shell.work()), std::filesystem::directory_iterator());
  };
  const auto files_before = count();
  const ProgramResult result =
      shell.run(bad.arguments, "NANOBENCH_ENGINE=" + quoted((shell.work() / "engine").string()));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  for (const char* part : bad.says)
    EXPECT_NE(result.err.find(part), std::string::npos) << "\"" << part << "\" in: " << result.err;
  EXPECT_NE(result.err.find("nanobench: "), std::string::npos) << result.err;
  const std::string sentence = result.err.substr(result.err.find("nanobench: "));
  EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << "one sentence: " << sentence;
  EXPECT_EQ(count(), files_before) << "something was left behind";
  EXPECT_FALSE(std::filesystem::exists(shell.database())) << "a database was made for nothing";
}

INSTANTIATE_TEST_SUITE_P(Table, BadInputTest, testing::ValuesIn(cases()),
                         [](const auto& case_info) { return std::string(case_info.param.name); });

// Nobody writes to the pipe: a program that opens it waits for ever.
TEST(BadFile, ANamedPipeIsRefusedWhereverAFileIsRead) {
  const CommandLine shell("named_pipe");
  const std::string pipe = (shell.work() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  shell.write("s.json", kBadInputSuite);
  const std::vector<std::vector<std::string>> commands = {{"plan", pipe},
                                                          {"run", pipe},
                                                          {"data", "info", pipe},
                                                          {"data", "prepare", "--text", pipe, "--out", "set"},
                                                          {"report", "--db", pipe},
                                                          {"run", "s.json", "--data", "text:" + pipe},
                                                          {"run", "s.json", "--db", pipe},
                                                          {"bench", "--input", pipe, "cat"},
                                                          {"gate", "s.json", "--policy", pipe}};
  for (const std::vector<std::string>& command : commands) {
    const ProgramResult result = shell.run(command);
    EXPECT_EQ(result.exit_code, 2) << joined(command, " ") << ": " << result.err;
    EXPECT_NE(result.err.find("pipe"), std::string::npos) << result.err;
  }
}

TEST(BadDatabase, ForeignAndCorruptFilesAreNamedAndLeftAlone) {
  const CommandLine shell("bad_database");
  shell.write("s.json", kBadInputSuite);
  const std::string garbage = "this is no database, " + std::string(5000, 'x');
  shell.write("garbage.db", garbage);
  const ProgramResult result = shell.run({"run", "s.json", "--db", "garbage.db"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("garbage.db"), std::string::npos) << result.err;
  EXPECT_EQ(read_text(shell.work() / "garbage.db"), garbage);
}

TEST(BadDatabase, ACutDatabaseIsNamedAndLeftAlone) {
  const CommandLine shell("cut_database");
  shell.write("s.json", kBadInputSuite);
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  const std::string whole = read_text(shell.database());
  const std::string cut = whole.substr(0, whole.size() / 2 + 100);
  shell.write("cut.db", cut);
  const ProgramResult result = shell.run({"report", "--db", "cut.db"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("cut.db"), std::string::npos) << result.err;
  EXPECT_EQ(read_text(shell.work() / "cut.db"), cut);
}

TEST(BadFolder, DatabaseInAFolderThatCannotBeMade) {
  const CommandLine shell("bad_database_folder");
  shell.write("s.json", kBadInputSuite);
  shell.write("a_file", "");
  const ProgramResult result = shell.run({"run", "s.json", "--db", "a_file/results.db"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("a_file"), std::string::npos) << result.err;
}

TEST(BadFolder, DataSetIntoAFolderThatHoldsSomethingElse) {
  const CommandLine shell("bad_out");
  shell.write("a.txt", std::string(3000, 'x') + "\n\n" + std::string(3000, 'y'));
  std::filesystem::create_directories(shell.work() / "set");
  shell.write("set/mine.txt", "mine");
  const ProgramResult result = shell.run({"data", "prepare", "--text", "a.txt", "--out", "set"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("set"), std::string::npos) << result.err;
  EXPECT_EQ(read_text(shell.work() / "set" / "mine.txt"), "mine");
}

TEST(FullDisk, StandardOutputThatTakesNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  const std::string command = quoted(std::string(NANOBENCH_BIN_DIR) + "/nanobench") + " list >/dev/full 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
}

TEST(BadFolder, ReportIntoAMissingFolder) {
  const CommandLine shell("bad_folder");
  shell.write("s.json", kBadInputSuite);
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  shell.write("a_file", "");
  const ProgramResult result = shell.run({"report", "--out", "a_file/r.html"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("a_file"), std::string::npos) << result.err;
}

TEST(BadFolder, TraceIntoAMissingFolderIsSaidBeforeTraining) {
  const CommandLine shell("bad_trace");
  shell.write("c.json", "{}");
  const ProgramResult result =
      shell.run({"train", "c.json", "--trace", "no/where/t.json"}, "NANOBENCH_ENGINE=/bin/true");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--trace no/where/t.json"), std::string::npos) << result.err;
}

TEST(BadEngine, IsMissing) {
  const CommandLine shell("bad_engine");
  const ProgramResult result = shell.run({"run", "speedrun_history"}, "NANOBENCH_ENGINE=/nowhere/engine");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("/nowhere/engine"), std::string::npos) << result.err;
}

TEST(BadTrain, MissingInitFileOfTheConfiguration) {
  const CommandLine shell("bad_init");
  shell.write("c.json", R"({"init": {"file": "gone.safetensors"}})");
  const ProgramResult result = shell.run({"train", "c.json"}, "NANOBENCH_ENGINE=/bin/true");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("gone.safetensors"), std::string::npos) << result.err;
}

TEST(BadTrain, ATokenOutsideTheVocabularyIsSaidWithItsShardAndPlace) {
  const CommandLine shell("bad_vocabulary");
  shell.write("c.json", R"({"model": {"vocab_size": 100}, "attention": {"document_separator": 0}})");
  shell.write("x.bin", shard(20240520, 5000, 5000));
  const ProgramResult result =
      shell.run({"train", "c.json", "--train", "x.bin", "--val", "x.bin"}, "NANOBENCH_ENGINE=/bin/true");
  EXPECT_EQ(result.exit_code, 2);
  for (const char* part : {"x.bin", "token 257 at position 0", "below the vocabulary size 100"})
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " is not in: " << result.err;
}

TEST(BadTrain, TrainAndValBelongTogether) {
  const CommandLine shell("bad_pair");
  shell.write("c.json", "{}");
  const ProgramResult result = shell.run({"train", "c.json", "--train", "x.bin"}, "NANOBENCH_ENGINE=/bin/true");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--val"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace nanobench::tools

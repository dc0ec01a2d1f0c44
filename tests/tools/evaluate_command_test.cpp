// `nanobench evaluate` with an engine whose answers are known beforehand, and a checkpoint made here.
#include <gtest/gtest.h>

#include "ablations/catalogue.h"
#include "ablations/resolve.h"
#include "core/base/json.h"
#include "core/data/checkpoint_header.h"
#include "core/data/choice_task.h"
#include "core/data/safetensors_header.h"
#include "core/protocol/run_event.h"
#include "core/protocol/run_spec.h"
#include "tests/tools/refusals.h"

namespace nanobench::tools {
namespace {

/// An engine that copies its specification and says these answers. Returns NANOBENCH_ENGINE=...
std::string engine_that_answers(const CommandLine& shell, const std::string& right) {
  std::string events =
      core::to_line(core::HelloEvent{
          .engine = "nanobench-train", .engine_version = "1", .environment = {}, .threads = 1, .parameters = 5}) +
      "\n";
  double correct = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const bool is_right = right[i] == '1';
    correct += is_right ? 1 : 0;
    events += core::to_line(core::ChoiceEvent{.evaluation = "generated",
                                              .item = static_cast<std::int64_t>(i),
                                              .is_correct = is_right,
                                              .is_correct_norm = !is_right}) +
              "\n";
  }
  const auto count = static_cast<double>(right.size());
  events += core::to_line(core::EvaluationEvent{.evaluation = "generated",
                                                .step = 8,
                                                .items = static_cast<std::int64_t>(right.size()),
                                                .accuracy = correct / count,
                                                .accuracy_norm = 1 - correct / count,
                                                .chance = 0.25,
                                                .best_accuracy = 0.875}) +
            "\n" + core::to_line(core::FinishedEvent{}) + "\n";
  shell.write("events.text", events);
  const auto script =
      shell.write("engine", "#!/bin/sh\ncp \"$2\" " + quoted((shell.work() / "spec.json").string()) + "\ncat " +
                                quoted((shell.work() / "events.text").string()) + " >&\"$4\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return "NANOBENCH_ENGINE=" + quoted(script.string());
}

core::RunSpec written_spec() {
  const ablations::ResolveRequest request{.record = "record17", .scale = "smoke"};
  core::RunSpec spec{.run_id = "run-1", .config = ablations::resolve(ablations::Catalogue::embedded(), request).config};
  spec.config.attention.document_separator = 256;
  spec.config.model.vocab_size = std::max<std::int64_t>(spec.config.model.vocab_size, 257);
  spec.seed = 3;
  return spec;
}

/// A checkpoint without tensors: its header is what the command reads.
void write_checkpoint(const CommandLine& shell, const std::string& name, const core::RunSpec& spec) {
  shell.write(name, core::safetensors_header(
                        {}, core::to_metadata({.step = 8, .engine_version = "1", .spec = core::to_json(spec)})));
}

TEST(EvaluateCommand, AsksTheEngineAndPrintsItsAnswers) {
  const CommandLine shell("evaluate");
  write_checkpoint(shell, "model.safetensors", written_spec());
  const std::string engine = engine_that_answers(shell, "1101100111");
  const ProgramResult result =
      shell.run({"evaluate", "model.safetensors", "--task", "generated:10", "--json", "--quiet"}, engine);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json json = json_of(result);
  EXPECT_EQ(json.at("kind"), "evaluation");
  EXPECT_EQ(json.at("facts").at("chance_generated"), 0.25);
  EXPECT_EQ(json.at("facts").at("best_accuracy_generated"), 0.875);
  const core::Json& row = json.at("tables").at("accuracy_generated").at(0);
  EXPECT_EQ(row.at("cell"), "model.safetensors");
  EXPECT_DOUBLE_EQ(row.at("accuracy").at("value").get<double>(), 0.7);
  EXPECT_NEAR(row.at("accuracy").at("low").get<double>(), 0.396773, 1e-5) << "Wilson's";
  EXPECT_NEAR(row.at("accuracy").at("high").get<double>(), 0.892210, 1e-5);
  EXPECT_DOUBLE_EQ(row.at("accuracy_norm").at("value").get<double>(), 0.3);
  EXPECT_EQ(row.at("items"), 10);
  const core::RunSpec spec = core::read_run_spec(core::read_json_file(shell.work() / "spec.json"), "spec");
  EXPECT_TRUE(spec.only_evaluates);
  EXPECT_EQ(spec.seed, 3U);
  EXPECT_EQ(*spec.init_file, (shell.work() / "model.safetensors").string());
  EXPECT_TRUE(spec.train_shards.empty());
  ASSERT_EQ(spec.evaluations.size(), 1U);
  const core::ChoiceTask task = core::read_choice_task(spec.evaluations[0].file);
  EXPECT_EQ(task.items.size(), 10U);
  EXPECT_EQ(digest_of(task), spec.evaluations[0].digest);
  EXPECT_GT(*spec.evaluations[0].best_accuracy, 0.5);
}

TEST(EvaluateCommand, ComparesModelsItemByItemAndSaysWhatIsNext) {
  const CommandLine shell("evaluate_two");
  write_checkpoint(shell, "a.safetensors", written_spec());
  write_checkpoint(shell, "b.safetensors", written_spec());
  const ProgramResult result =
      shell.run({"evaluate", "a.safetensors", "b.safetensors", "--task", "generated:4", "--json"},
                engine_that_answers(shell, "1010"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const core::Json changes = json_of(result).at("tables").at("accuracy_changes_generated");
  ASSERT_EQ(changes.size(), 2U) << "by sum and by mean";
  EXPECT_EQ(changes.at(0).at("reference"), "a.safetensors");
  EXPECT_EQ(changes.at(0).at("better"), 0);
  EXPECT_TRUE(changes.at(0).at("p").is_null()) << "no item differs";
  const ProgramResult text =
      shell.run({"evaluate", "a.safetensors", "--task", "generated:4", "--quiet"}, engine_that_answers(shell, "1010"));
  EXPECT_NE(text.out.find("Next:"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("50.0 %"), std::string::npos) << text.out;
}

TEST(EvaluateCommand, AnEngineThatFailsIsNoAnswer) {
  const CommandLine shell("evaluate_failing");
  write_checkpoint(shell, "a.safetensors", written_spec());
  const auto script = shell.write("engine", "#!/bin/sh\nexit 3\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const ProgramResult result =
      shell.run({"evaluate", "a.safetensors", "--task", "generated:4"}, "NANOBENCH_ENGINE=" + quoted(script.string()));
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(EvaluateCommand, RefusesWithOneSentence) {
  const CommandLine shell("evaluate_refused");
  write_checkpoint(shell, "model.safetensors", written_spec());
  core::RunSpec other = written_spec();
  other.config.attention.document_separator = 50256;
  other.config.model.vocab_size = 50257;
  write_checkpoint(shell, "other.safetensors", other);
  shell.write("plain.safetensors", core::safetensors_header({}, {}));
  shell.write("big.bin", core::choice_task_bytes(
                             {.items = {{.number = 0, .right = 0, .context = {5000}, .endings = {{1}, {2}}}}}));
  shell.write(
      "long.bin",
      core::choice_task_bytes(
          {.items = {
               {.number = 0, .right = 0, .context = {}, .endings = {std::vector<std::uint16_t>(20000, 1), {2}}}}}));
  shell.write("lines.jsonl", "{}\n");
  shell.write("s.json", R"({"name": "s", "design": "history", "records": ["record12"], "scale": "smoke", "threads": 1,
                            "engine": {"mock": {"steps": 4}}})");
  ASSERT_EQ(shell.run({"run", "s.json", "--quiet"}).exit_code, 0);
  expect_refusals(shell,
                  {{{"evaluate", "model.safetensors"}, "--task"},
                   {{"evaluate", "absent.safetensors", "--task", "generated"}, "absent.safetensors does not exist"},
                   {{"evaluate", "plain.safetensors", "--task", "generated"}, "--keep-weights"},
                   {{"evaluate", "record12", "--task", "generated"}, "--keep-weights"},
                   {{"evaluate", "recrd12", "--task", "generated"}, "did you mean \"record12\""},
                   {{"evaluate", "record12", "--suite", "t", "--task", "generated"}, "no results of the suite t"},
                   {{"evaluate", "model.safetensors", "model.safetensors", "--task", "generated"}, "named twice"},
                   {{"evaluate", "model.safetensors", "--task", "generated:0"}, "expected 1 to 65535"},
                   {{"evaluate", "model.safetensors", "--task", "absent.bin"}, "absent.bin"},
                   {{"evaluate", "model.safetensors", "--task", "model.safetensors"}, "encoder.json"},
                   {{"evaluate", "model.safetensors", "--task", "lines.jsonl"}, "encoder.json"},
                   {{"evaluate", "model.safetensors", "--task", "big.bin"}, "token 5000"},
                   {{"evaluate", "model.safetensors", "--task", "long.bin"}, "20000 tokens"},
                   {{"evaluate", "other.safetensors", "--task", "generated"}, "other data than the generated corpus"},
                   {{"evaluate", "model.safetensors", "--task", "generated", "--store"}, "--store needs cells"},
                   {{"evaluate", "model.safetensors", "--task", "generated", "--name", "A b"}, "--name"}});
}

}  // namespace
}  // namespace nanobench::tools

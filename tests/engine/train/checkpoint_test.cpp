// Checkpoints: a run that continues from one reports, to the bit, what an undisturbed run reports; and what is refused.
#include "engine/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include "ablations/resolve.h"
#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/data/token_shard.h"
#include "core/data/vocabulary.h"
#include "engine/train/checkpoint_keeper.h"
#include "tests/ablations/catalogue_support.h"
#include "tests/core/base/refusal_support.h"
#include "tests/engine/training_support.h"

namespace nanobench::core::testing {
namespace {

using ablations::embedded_catalogue;
namespace fs = std::filesystem;

/// What of a run must not depend on interruptions: everything but times.
struct Trajectory {
  std::vector<std::pair<std::int64_t, double>> training, validation;
  std::map<std::string, double> counters;
  bool operator==(const Trajectory&) const = default;
};

Trajectory trajectory_of(const EventLog& log) {
  Trajectory trajectory;
  for (const RunEvent& event : log.events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) trajectory.training.emplace_back(step->step, step->loss);
    if (const auto* eval = std::get_if<EvalEvent>(&event)) trajectory.validation.emplace_back(eval->step, eval->loss);
    const auto* counter = std::get_if<CounterEvent>(&event);
    if (counter == nullptr || counter->name.starts_with("communication/ms_per_step/")) continue;
    if (counter->name.starts_with("cost/") || counter->name.starts_with("communication/"))
      trajectory.counters[counter->name] = counter->value;
  }
  return trajectory;
}

/// Names of the tensors that only one of two checkpoints has, or that differ in them.
std::vector<std::string> differing_tensors(const std::map<std::string, std::string>& a,
                                           const std::map<std::string, std::string>& b) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second != bytes) names.push_back(name);
  }
  for (const auto& [name, bytes] : b) {
    if (!a.contains(name)) names.push_back(name);
  }
  return names;
}

bool has_finished(const EventLog& log) {
  return !log.events.empty() && std::holds_alternative<FinishedEvent>(log.events.back());
}

/// Bytes by name of all tensors of a checkpoint but times and the log of events.
std::map<std::string, std::string> content_of(const fs::path& file) {
  std::map<std::string, std::string> content;
  for (const auto& [name, tensor] : read_safetensors(file)) {
    if (name == "trainer/clock_ms" || name == "trainer/events") continue;
    // Behind its ten counts the meter of the communication has times.
    const std::size_t bytes = name.ends_with("trainer/communication") ? 10 * sizeof(double) : tensor.nbytes();
    content[name] = {static_cast<const char*>(tensor.const_data_ptr()), bytes};
  }
  return content;
}

class CheckpointRun : public ::testing::Test {
 protected:
  CheckpointRun() {
    fs::create_directories(folder_.path() / "straight");
    fs::create_directories(folder_.path() / "resumed");
  }

  /// A record at smoke, away from what starts at zero, with a checkpoint every `every` steps.
  RunSpec spec_of(const std::string& record, std::int64_t steps, std::int64_t every, std::int64_t processes = 1) {
    ablations::ResolveRequest request{.record = record, .scale = "smoke"};
    if (processes > 1) request.ranks = processes;
    RunSpec spec{.run_id = record, .config = ablations::resolve(embedded_catalogue(), request).config};
    spec.config.distributed.processes = processes;
    if (steps > 0) spec.config.run.stop_after = steps;
    spec.config.run.val_every = every;
    if (auto& length = spec.config.data.val_sequence_length) length = spec.config.attention.block_size * 2;
    spec.config.init.zero_init_std = 0.5;
    spec.config.init.scalar_std = 0.1;
    spec.threads = static_cast<int>(processes);
    write_data(spec);
    return spec;
  }

  void write_data(RunSpec& spec) {
    const fs::path file = folder_.path() / "tokens.bin";
    if (!fs::exists(file)) {
      std::vector<std::uint16_t> tokens;
      std::uint32_t state = 12345;
      for (std::int64_t i = 0; i < 400'000; ++i) {
        state = state * 1664525U + 1013904223U;
        tokens.push_back(static_cast<std::uint16_t>(i % 97 == 0 ? 256 : (state >> 24) % 251));
      }
      write_token_shard(file, tokens);
      write_file_atomically(folder_.path() / "vocab", vocabulary_text(synthetic_vocabulary(256)));
    }
    spec.train_shards = spec.val_shards = {file.string()};
    spec.vocabulary = (folder_.path() / "vocab").string();
  }

  fs::path straight(std::int64_t step) const { return file_of("straight", step); }
  fs::path resumed(std::int64_t step) const { return file_of("resumed", step); }

  EventLog train_straight(RunSpec spec) {
    spec.save_file = (folder_.path() / "straight" / "step_{step}.safetensors").string();
    return train_to_the_end(spec);
  }
  EventLog train_from(RunSpec spec, const fs::path& file) {
    spec.save_file = (folder_.path() / "resumed" / "step_{step}.safetensors").string();
    spec.resume_file = file.string();
    return train_to_the_end(spec);
  }
  /// What the refusal of the file says; "" if the run trains.
  Refused continuing(const RunSpec& spec, const fs::path& file) {
    const Refused refused = refusal_of([&] { train_from(spec, file); });
    EXPECT_TRUE(refused.is_refused && refused.code != ErrorCode::kInternal) << refused.message;
    return refused;
  }

  /// Continues from each of these steps, and compares everything with the run that nothing interrupted.
  void expect_same_from(const RunSpec& spec, const std::vector<std::int64_t>& steps) {
    const Trajectory undisturbed = trajectory_of(train_to_the_end(spec));  // and nothing was saved
    const EventLog whole = train_straight(spec);
    ASSERT_TRUE(has_finished(whole));
    ASSERT_TRUE(trajectory_of(whole) == undisturbed) << "saving changed a loss";
    const std::int64_t last = spec.config.run.stop_after;
    ASSERT_EQ(undisturbed.training.size(), static_cast<std::size_t>(last));
    for (const std::int64_t step : steps) {
      const EventLog rest = train_from(spec, straight(step));
      ASSERT_TRUE(has_finished(rest)) << step;
      EXPECT_TRUE(trajectory_of(rest) == undisturbed) << "continued from step " << step;
      if (step < last) {
        EXPECT_EQ(differing_tensors(content_of(straight(last)), content_of(resumed(last))), std::vector<std::string>{})
            << "in the last checkpoint, continued from step " << step;
      }
      fs::remove_all(folder_.path() / "resumed");
    }
  }

  TemporaryFolder folder_{"checkpoint"};

 private:
  fs::path file_of(const char* run, std::int64_t step) const {
    const std::string number = std::to_string(step);
    return folder_.path() / run / ("step_" + std::string(6 - number.size(), '0') + number + ".safetensors");
  }
};

class CheckpointContract : public CheckpointRun, public ::testing::WithParamInterface<std::string> {};

TEST_P(CheckpointContract, AContinuedRunIsTheUndisturbedOne) {
  expect_same_from(spec_of(GetParam(), 6, 1), {3});  // odd: an Adam of every second step holds a gradient
}

std::vector<std::string> record_names() {
  std::vector<std::string> ids;
  for (const ablations::Record* record : embedded_catalogue().records()) ids.push_back(record->id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CheckpointContract, ::testing::ValuesIn(record_names()),
                         [](const auto& test) { return test.param; });

/// Whole schedules: warm-ups, cooldowns, windows, stages of batch and rate, pauses, the head that is untied.
class CheckpointSchedule : public CheckpointRun, public ::testing::WithParamInterface<std::string> {};

TEST_P(CheckpointSchedule, AnyStepOfItCanBeContinued) {
  const RunSpec spec = spec_of(GetParam(), 0, 1);
  const std::int64_t last = spec.config.run.stop_after;
  std::vector<std::int64_t> steps = {1, last / 3, last / 2 + 1, last - 1, last};
  if (const auto untied = spec.config.model.untie_step; untied && *untied < last)
    steps.insert(steps.end(), {*untied, *untied + 1});
  expect_same_from(spec, steps);
}

INSTANTIATE_TEST_SUITE_P(Records, CheckpointSchedule, ::testing::Values("record12", "record21", "record41", "record89"),
                         [](const auto& test) { return test.param; });

TEST_F(CheckpointRun, SeveralProcessesContinueTogether) {
  for (const char* record : {"record17", "record41"}) {
    SCOPED_TRACE(record);
    expect_same_from(spec_of(record, 6, 1, 2), {3});
    fs::remove_all(folder_.path() / "straight");
  }
}

/// The comparison above would notice if any of this were not saved.
TEST_F(CheckpointRun, EveryOptimiserAndTheLoaderMatter) {
  const RunSpec spec = spec_of("record41", 6, 1);
  const Trajectory undisturbed = trajectory_of(train_straight(spec));
  const NamedTensors tensors = read_safetensors(straight(3));
  const Checkpoint whole = read_checkpoint(straight(3), CheckpointPart::kWhole);
  std::set<std::string> parts = {"loader/cursors"};
  for (const auto& [name, tensor] : whole.state) {
    if (name.starts_with("optimizer/")) parts.insert(name.substr(0, name.rfind('/') + 1));
  }
  ASSERT_GE(parts.size(), 5U);  // several Adams, a Muon, held gradients
  for (const std::string& part : parts) {
    Checkpoint changed = whole;
    for (auto& [name, tensor] : changed.state) {
      const bool is_part = part.ends_with("/") ? name.substr(0, name.rfind('/') + 1) == part : name == part;
      if (!is_part) continue;
      if (tensor.is_floating_point())
        tensor = tensor * 2 + 0.01;
      else
        tensor = name.starts_with("loader/") ? at::zeros_like(tensor) : tensor + 1;
    }
    write_checkpoint(folder_.path() / "changed.safetensors", changed);
    EXPECT_FALSE(trajectory_of(train_from(spec, folder_.path() / "changed.safetensors")) == undisturbed) << part;
  }
}

TEST_F(CheckpointRun, ParametersAloneStartAnotherRun) {
  RunSpec spec = spec_of("record12", 4, 2);
  train_straight(spec);
  RunSpec next = spec;
  next.init_file = straight(2).string();
  next.config.run.stop_after = 1;
  const double at_two = trajectory_of(train_to_the_end(spec)).validation.at(1).second;
  EXPECT_EQ(trajectory_of(train_to_the_end(next)).validation.front().second, at_two);
  const Checkpoint weights = read_checkpoint(straight(2));
  EXPECT_EQ(weights.step, 2);
  EXPECT_TRUE(weights.state.empty());
  EXPECT_EQ(to_json(weights.spec.config), to_json(spec.config));
}

TEST_F(CheckpointRun, WithoutAPlaceForTheStepTheNewestStays) {
  RunSpec spec = spec_of("record12", 4, 2);
  spec.save_file = (folder_.path() / "new folder" / "last.safetensors").string();
  const EventLog log = train_to_the_end(spec);
  std::vector<std::int64_t> steps;
  for (const RunEvent& event : log.events) {
    if (const auto* checkpoint = std::get_if<CheckpointEvent>(&event)) steps.push_back(checkpoint->step);
  }
  EXPECT_EQ(steps, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(read_checkpoint(*spec.save_file).step, 4);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() / "new folder"), fs::directory_iterator()), 1);
}

TEST_F(CheckpointRun, AnotherRunAndABrokenFileAreRefused) {
  const RunSpec spec = spec_of("record12", 2, 1);
  train_straight(spec);
  RunSpec other = spec;
  other.seed = 7;
  const Refused of_other_seed = continuing(other, straight(1));
  EXPECT_REFUSED(of_other_seed, Reason::kOtherRun, "/seed");
  EXPECT_TRUE(of_other_seed.names("/seed") && of_other_seed.names(" 1 ") && of_other_seed.names(" 7 "))
      << of_other_seed.message;
  other = spec;
  other.config.optimizer.hidden_matrices.lr *= 2;
  EXPECT_REFUSED(continuing(other, straight(1)), Reason::kOtherRun, "/config/optimizer/hidden_matrices/lr");
  const fs::path cut = folder_.path() / "cut.safetensors";
  fs::copy_file(straight(1), cut);
  fs::resize_file(cut, fs::file_size(cut) - 8);
  EXPECT_EQ(continuing(spec, cut).code, ErrorCode::kDataLoss);
  EXPECT_EQ(continuing(spec, cut).reason, Reason::kOutOfRange) << "the last tensor";
  Checkpoint part = read_checkpoint(straight(1), CheckpointPart::kWhole);
  part.state.erase("optimizer/updates");
  write_checkpoint(cut, part);
  EXPECT_REFUSED(continuing(spec, cut), Reason::kMissingKey, "optimizer/updates");
  part = read_checkpoint(straight(1), CheckpointPart::kWhole);
  part.state["optimizer/more"] = at::zeros({2});
  write_checkpoint(cut, part);
  EXPECT_REFUSED(continuing(spec, cut), Reason::kUnknownKey, "optimizer/more");
  write_safetensors(cut, part.parameters, {});
  EXPECT_REFUSED(continuing(spec, cut), Reason::kOtherFormat, cut.string());
  std::map<std::string, std::string> newer = to_metadata({.step = 1, .engine_version = "9", .spec = to_json(spec)});
  newer["version"] = "2";
  write_safetensors(cut, part.parameters, newer);
  EXPECT_EQ(continuing(spec, cut).reason, Reason::kOtherVersion);
  EXPECT_TRUE(continuing(spec, cut).names(" 2,")) << continuing(spec, cut).message;
}

TEST_F(CheckpointRun, AStopSavesWhereItStops) {
  RunSpec spec = spec_of("record12", 6, 100);
  const Trajectory undisturbed = trajectory_of(train_to_the_end(spec));
  spec.save_file = (folder_.path() / "last.safetensors").string();
  std::atomic<bool> stop{false};
  class StopAfter final : public MetricSink {
   public:
    explicit StopAfter(std::atomic<bool>& stop) : stop_(stop) {}
    void report(const RunEvent& event) override {
      if (const auto* step = std::get_if<StepEvent>(&event); step != nullptr && step->step == 2) stop_ = true;
    }

   private:
    std::atomic<bool>& stop_;
  } sink(stop);
  CpuTrainer(spec, sink, stop).run();
  EXPECT_EQ(read_checkpoint(*spec.save_file).step, 3);
  EXPECT_TRUE(trajectory_of(train_from(spec, *spec.save_file)) == undisturbed);
}

/// As on a full disk: the system refuses to let a file grow.
TEST_F(CheckpointRun, AFullDiskEndsNoRun) {
  RunSpec spec = spec_of("record12", 4, 2);
  const Trajectory undisturbed = trajectory_of(train_to_the_end(spec));
  spec.save_file = (folder_.path() / "last.safetensors").string();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const EventLog log = train_to_the_end(spec);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(has_finished(log));
  EXPECT_TRUE(trajectory_of(log) == undisturbed);
  int warnings = 0;
  for (const RunEvent& event : log.events) {
    const auto* warning = std::get_if<WarningEvent>(&event);
    if (warning != nullptr) {
      EXPECT_TRUE(warning->message.starts_with(unwritten_checkpoint(2 + 2 * warnings))) << warning->message;
      ++warnings;
    }
  }
  EXPECT_EQ(warnings, 2);
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos) << entry.path();
}

}  // namespace
}  // namespace nanobench::core::testing

// The losses of single tokens against the ordinary loss: of every golden model, in both types.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/config/schedule.h"
#include "engine/nn/gpt.h"
#include "engine/train/batch_source.h"
#include "engine/train/safetensors.h"
#include "tests/engine/golden_training.h"
#include "tests/engine/late_golden_config.h"

namespace nanobench::core::testing {
namespace {

std::vector<std::filesystem::path> model_folders() {
  std::vector<std::filesystem::path> folders;
  for (const std::string& name : golden_cases()) folders.push_back(golden_case(name));
  for (const auto& entry : std::filesystem::directory_iterator(golden_data("golden_42_89"))) {
    if (std::filesystem::exists(entry.path() / "expected.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

RunSpec model_spec(const std::filesystem::path& folder, const std::string& dtype) {
  if (folder.parent_path().filename() != "golden_42_89") return golden_spec(folder, dtype);
  const std::string source = (folder / "config.json").string();
  RunSpec spec{.run_id = folder.filename().string(), .config = late_golden_config(read_json_file(source), source)};
  spec.dtype = enum_value<Dtype>(dtype).value();
  spec.threads = 1;
  spec.train_shards = {(folder / "train.bin").string()};
  spec.val_shards = {(folder / "val.bin").string()};
  spec.init_file = (folder / "init.safetensors").string();
  return spec;
}

/// Two blocks are a sequence, so that all models are tried in seconds.
RunSpec with_short_validation(RunSpec spec) {
  spec.config.data.val_sequence_length = 2 * spec.config.attention.block_size;
  return spec;
}

/// A model with its first validation sequence.
struct Model {
  explicit Model(const RunSpec& from)
      : spec(with_short_validation(from)),
        gpt(spec.config, spec.dtype == Dtype::kFloat64 ? at::kDouble : at::kFloat),
        batches(spec, gpt.dtype(), RankShare(spec.config.data.ranks, 0, 1)) {
    gpt.parameters().assign(read_safetensors(*spec.init_file), *spec.init_file);
    const StepWindows windows = step_windows(spec.config.attention, spec.config.schedule, 0);
    if (window_changes_attention(spec.config.model))
      gpt.follow_windows(window_history(spec.config.attention, spec.config.schedule, 0));
    input = batches.make_input(batches.validation_sequence(batches.validation_places().front()), windows);
  }
  RunSpec spec;  ///< the others keep references to it
  GPT gpt;
  BatchSource batches;
  SequenceInput input;
};

TEST(TokenLosses, HaveTheOrdinaryLossAsTheirMean) {
  ASSERT_FALSE(model_folders().empty());
  for (const std::filesystem::path& folder : model_folders()) {
    for (const std::string dtype : {"float64", "float32"}) {
      Model model(model_spec(folder, dtype));
      for (const Pass pass : {Pass::kValidation, Pass::kTraining}) {
        SCOPED_TRACE(folder.filename().string() + " " + dtype + (pass == Pass::kTraining ? " training" : ""));
        model.gpt.forget_passes();
        const GPT::Losses losses = model.gpt.losses(model.input, pass);
        model.gpt.forget_passes();
        ASSERT_EQ(losses.tokens.numel(), model.input.tokens.numel());
        EXPECT_FALSE(losses.tokens.requires_grad());
        EXPECT_TRUE(at::equal(losses.mean, model.gpt.loss(model.input, pass))) << "bit for bit";
        const double tolerance = dtype == "float64" ? 1e-14 : 3e-6;
        EXPECT_LE(relative_error(losses.tokens.to(at::kDouble).mean(), losses.mean), tolerance);
      }
    }
  }
}

/// What follows a token changes no loss before it: the losses are in the order of the tokens.
TEST(TokenLosses, BelongToTheirTokens) {
  Model model(model_spec(golden_folder() / "record17", "float64"));
  const at::Tensor before = model.gpt.losses(model.input).tokens;
  const std::int64_t place = before.numel() / 2;
  model.input.targets = model.input.targets.clone();
  model.input.targets[place] = (model.input.targets[place].item<std::int64_t>() + 1) % 7;
  const at::Tensor changed = model.gpt.losses(model.input).tokens.ne(before);
  EXPECT_EQ(changed.sum().item<std::int64_t>(), 1);
  EXPECT_TRUE(changed[place].item<bool>());
}

}  // namespace
}  // namespace nanobench::core::testing

#include "suites/design/run_data.h"

#include "core/data/data_loader.h"

namespace nanobench::suites {

TokenNeed need_of(const core::TrainConfig& config) {
  const core::DataConfig& data = config.data;
  return {.train_tokens = core::tokens_of_steps(data, config.run.stop_after),
          .val_tokens = data.val_length() * (data.val_sequences + 1) + 1};
}

void use_data(core::RunSpec& spec, const core::DataSet& data) {
  for (const auto& file : data.train) spec.train_shards.push_back(file.string());
  for (const auto& file : data.val) spec.val_shards.push_back(file.string());
  if (!spec.config.loss.prefix.empty() && data.vocabulary) spec.vocabulary = data.vocabulary->string();
}

}  // namespace nanobench::suites

/// What a run reads of a data set. Pure; thread-safe.
#pragma once

#include "core/config/train_config.h"
#include "core/data/data_set.h"
#include "core/protocol/run_spec.h"
#include "suites/design/data_source.h"

namespace nanobench::suites {

/// What the run needs of data that can be made in any size.
TokenNeed need_of(const core::TrainConfig& config);

/// Adds the shards, and their vocabulary where the loss needs it.
void use_data(core::RunSpec& spec, const core::DataSet& data);

}  // namespace nanobench::suites

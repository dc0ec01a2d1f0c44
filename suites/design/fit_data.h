/// Fits the cells of a matrix to the data that they will read (internal to suites).
#pragma once

#include "core/data/data_set.h"
#include "suites/design/plan.h"

namespace nanobench::suites {

/// Changes the cells as prepare_data says, with a message for each change. `is_foreign`: shards that nobody has read as
/// a whole yet, so every token is looked at. Throws as prepare_data does.
void fit_to_data(Matrix& matrix, const core::DataSet& data, bool is_foreign);

}  // namespace nanobench::suites

/// Visits the fields of a TrainConfig: their one list is in train_config_fields.cpp and model_config_fields.cpp. A
/// visitor reads, writes or describes them.
#pragma once

#include "core/config/field_visitor.h"
#include "core/config/train_config.h"

namespace nanobench::core {

void visit_fields(FieldVisitor& v, TrainConfig& c);
/// Those of its parts that are visited on their own too.
void visit_fields(FieldVisitor& v, ModelConfig& c);
void visit_fields(FieldVisitor& v, OptimizerGroupConfig& c);

}  // namespace nanobench::core

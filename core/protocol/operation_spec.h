/// A request to an engine process to measure one operation alone instead of training, in one setting or in two settings
/// that are compared. Plain values. The file format is in FORMAT.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/config/train_config.h"

namespace nanobench::core {

/// One setting of the operation.
struct OperationArm {
  std::string name;                            ///< "before", "after"
  std::map<std::string, std::int64_t> shapes;  ///< "T", "H", "rows", ...; the operation defines which
  TrainConfig config;                          ///< the operation uses the settings that affect it

  /// Throws Error{kInvalidArgument} when the shape is not given.
  std::int64_t size(const std::string& shape) const;
  std::int64_t size_or(const std::string& shape, std::int64_t fallback) const;
};

struct OperationSpec {
  std::string op;                  ///< "attention", "orthogonalize", ...
  std::string metric;              ///< "time_ms", "bytes", ...
  std::vector<OperationArm> arms;  ///< one or two, with distinct names
};

/// Names of all operations and metrics that the reader accepts.
const std::vector<std::string>& operation_names();
const std::vector<std::string>& operation_metrics();

/// "operation/before/time_ms": the counter that reports an arm's metric, once per repetition.
std::string operation_counter(const std::string& arm, const std::string& metric);

/// For readers and for the store: complete configurations.
Json to_json(const OperationSpec& spec);
/// For an engine and for the digest: the configurations hold only their changed settings.
Json changed_settings(const OperationSpec& spec);

/// Throws Error{kInvalidArgument} with `source` and the JSON pointer.
OperationSpec read_operation_spec(const Json& value, const std::string& source);

}  // namespace nanobench::core

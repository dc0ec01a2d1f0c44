/// How relations between TrainConfig's fields are checked (train_config_checks.cpp, late_config_checks.cpp).
/// Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/config/train_config.h"

namespace nanobench::core {

class ConfigChecker {
 public:
  /// The reported place, then the other fields of the relation.
  using Pointers = std::initializer_list<const char*>;

  explicit ConfigChecker(const std::string& source) : source_(source) {}

  /// Throws LocatedError{kInvalidArgument, Reason::kUnmet} with the message unless it holds.
  void require(bool holds, Pointers pointers, const std::string& message) const {
    if (!holds) fail(ErrorCode::kInvalidArgument, Reason::kUnmet, pointers, message);
  }
  /// Throws LocatedError{kConflict, Reason::kExcluded} with the message if it holds.
  void exclude(bool clash, Pointers pointers, const std::string& message) const {
    if (clash) fail(ErrorCode::kConflict, Reason::kExcluded, pointers, message);
  }

 private:
  [[noreturn]] void fail(ErrorCode code, Reason reason, Pointers pointers, const std::string& message) const {
    throw LocatedError(code, reason, source_, {pointers.begin(), pointers.end()}, message);
  }

  const std::string& source_;
};

/// The relations of settings of records #42 on. Each throws like check_train_config.
void check_late_model(const ConfigChecker& check, const ModelConfig& model);
void check_late_training(const ConfigChecker& check, const TrainConfig& config);

}  // namespace nanobench::core

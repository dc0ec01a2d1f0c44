/// A suite file from what was said on the command line. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "suites/design/suite.h"

namespace nanobench::tools {

/// As typed; empty: not given.
struct SuiteRequest {
  std::string base;  ///< "record:17" or "record17"
  std::string design;
  std::string features;               ///< "a,b,c" or "all"
  std::string values;                 ///< "a=x,b=y,b=z"
  std::vector<std::string> settings;  ///< "a=x"
  std::vector<std::string> axes;      ///< "a=x,y" or "/path=1,2"
  std::string records;
  std::optional<std::int64_t> runs;
  std::optional<std::int64_t> resolution;
  std::optional<std::int64_t> arms;
  std::string name;
  std::string engine;
};

/// Complete: read_suite of it, and of a file that holds it, is the same suite. `file` is where it is saved, or empty.
/// Throws Error{kInvalidArgument} that names the option.
core::OrderedJson suite_json(const SuiteRequest& request, const suites::SuiteOverrides& overrides,
                             const std::string& file);

}  // namespace nanobench::tools

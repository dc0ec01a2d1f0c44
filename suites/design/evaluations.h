/// A suite's evaluations: multiple choice that its models answer after training. The items come from llm.c's files,
/// from HellaSwag's lines, or from the process behind the generated corpus, and reach the engine as a file of the
/// cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/data/choice_task.h"
#include "core/protocol/evaluation_spec.h"
#include "suites/design/data_source.h"

namespace nanobench::suites {

/// What is asked for.
struct EvaluationRequest {
  std::string name;                  ///< tag of its metrics
  std::filesystem::path file;        ///< empty: generated items
  std::size_t items = 0;             ///< the first so many; 0: all of the file
  std::filesystem::path vocabulary;  ///< folder with vocab.bpe and encoder.json, for lines; empty: beside the file

  bool operator==(const EvaluationRequest&) const = default;
};

/// "generated", "generated:N" or a file. Throws Error{kInvalidArgument} naming `source`.
EvaluationRequest parse_evaluation(const std::string& task, const std::string& source);

/// A list of tasks, each as text or as {"task", "name", "limit", "vocabulary"}. Throws LocatedError.
std::vector<EvaluationRequest> read_evaluation_requests(const core::Json& value, const std::string& source,
                                                        const std::string& pointer);

/// The same with files relative to `folder`.
EvaluationRequest relative_to(EvaluationRequest request, const std::filesystem::path& folder);

/// Reads or makes the items. Throws Error as the readers of core/data do.
core::ChoiceTask read_task(const EvaluationRequest& request);

/// The items as a file of `cache`, for the engine.
core::EvaluationSpec cached_evaluation(const EvaluationRequest& request, const core::ChoiceTask& task,
                                       const std::filesystem::path& cache);

}  // namespace nanobench::suites

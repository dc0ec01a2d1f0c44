#include "suites/design/evaluations.h"

#include <algorithm>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/text.h"
#include "core/data/byte_pair.h"
#include "core/data/choice_lines.h"
#include "core/data/generated_items.h"

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;
using core::Error;
using core::ErrorCode;
using core::Json;
using core::JsonObject;

constexpr const char* kGenerated = "generated";
constexpr std::size_t kGeneratedItems = 400;

/// Letters and digits of the file's name: "HellaSwag-val.jsonl" is "hellaswag_val".
std::string name_of_file(const fs::path& file) {
  std::string name;
  for (const char c : file.stem().string()) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9' && !name.empty());
    if (fits)
      name.push_back(lower);
    else if (!name.empty() && name.back() != '_')
      name.push_back('_');
  }
  name = name.substr(0, 40);
  while (name.ends_with('_')) name.pop_back();
  return name.empty() ? "task" : name;
}

std::size_t generated_count(const std::string& text, const std::string& source) {
  const std::optional<std::int64_t> count = parse_count(text);
  if (!count || *count < 1 || static_cast<std::size_t>(*count) > core::kMaxGeneratedItems)
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kOutOfRange,
                        source + ": expected 1 to " + std::to_string(core::kMaxGeneratedItems) +
                            " items after \"generated:\", got \"" + text + "\"",
                        text);
  return static_cast<std::size_t>(*count);
}

EvaluationRequest read_request(const Json& value, const std::string& source, const std::string& pointer) {
  const std::string place = core::json_location(source, pointer);
  if (value.is_string()) return parse_evaluation(value.get<std::string>(), place);
  JsonObject object(value, source, pointer);
  EvaluationRequest request = parse_evaluation(object.string("task"), core::json_location(source, pointer + "/task"));
  request.name = object.string_or("name", request.name);
  if (!core::is_evaluation_name(request.name))
    object.fail("name", "expected at most 40 letters a to z, digits and \"_\", the first a letter, got \"" +
                            request.name + "\"");
  const auto limit = object.integer_or("limit", 0, 1, static_cast<std::int64_t>(core::kMaxGeneratedItems));
  if (limit > 0) request.items = static_cast<std::size_t>(limit);
  request.vocabulary = object.string_or("vocabulary", "");
  object.finish();
  return request;
}

}  // namespace

EvaluationRequest parse_evaluation(const std::string& task, const std::string& source) {
  if (task.empty())
    throw core::Refusal(ErrorCode::kInvalidArgument, core::Reason::kEmpty,
                        source + ": expected \"generated\", \"generated:N\" or a file, got \"\"");
  const std::string prefix = std::string(kGenerated) + ":";
  if (task == kGenerated) return {.name = kGenerated, .items = kGeneratedItems};
  if (task.starts_with(prefix))
    return {.name = kGenerated, .items = generated_count(task.substr(prefix.size()), source)};
  return {.name = name_of_file(task), .file = task};
}

std::vector<EvaluationRequest> read_evaluation_requests(const Json& value, const std::string& source,
                                                        const std::string& pointer) {
  if (!value.is_array())
    throw core::LocatedError(ErrorCode::kInvalidArgument, core::Reason::kWrongType, source, {pointer},
                             "expected a list of tasks, got " + std::string(value.type_name()));
  std::vector<EvaluationRequest> requests;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string place = pointer + "/" + std::to_string(i);
    requests.push_back(read_request(value[i], source, place));
    const auto is_same = [&](const EvaluationRequest& other) { return other.name == requests.back().name; };
    if (std::count_if(requests.begin(), requests.end(), is_same) > 1)
      throw core::LocatedError(
          ErrorCode::kInvalidArgument, core::Reason::kRepeated, source, {place},
          "the name " + requests.back().name + " appears twice; give one of them another \"name\"");
  }
  return requests;
}

EvaluationRequest relative_to(EvaluationRequest request, const fs::path& folder) {
  if (!request.file.empty()) request.file = (folder / request.file).lexically_normal();
  if (!request.vocabulary.empty()) request.vocabulary = (folder / request.vocabulary).lexically_normal();
  return request;
}

core::ChoiceTask read_task(const EvaluationRequest& request) {
  if (request.file.empty()) return core::generated_items(core::CorpusModel(core::CorpusConfig{}), request.items);
  if (request.file.extension() == ".bin" || core::is_choice_file(request.file)) {
    core::ChoiceTask task = core::read_choice_task(request.file);
    if (request.items > 0 && request.items < task.items.size()) task.items.resize(request.items);
    return task;
  }
  core::InputFile exists(request.file);  // says what is wrong with the task before the vocabulary is missed
  const fs::path folder = request.vocabulary.empty() ? request.file.parent_path() : request.vocabulary;
  std::error_code ignored;
  for (const char* name : {"encoder.json", "vocab.bpe"}) {
    if (fs::exists(folder / name, ignored)) continue;
    throw Error(ErrorCode::kNotFound, request.file.string() +
                                          " is text, whose tokens follow from GPT-2's encoder.json and "
                                          "vocab.bpe, and " +
                                          (folder / name).string() +
                                          " does not exist; name the folder of both as the vocabulary (nothing is "
                                          "downloaded)");
  }
  core::BytePairEncoder encoder(folder);
  return core::read_choice_lines(request.file, encoder, request.items);
}

core::EvaluationSpec cached_evaluation(const EvaluationRequest& request, const core::ChoiceTask& task,
                                       const fs::path& cache) {
  const std::string digest = digest_of(task);
  const fs::path folder = cache / "evaluations", file = folder / (digest + ".bin");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorCode::kIo, "cannot make the folder " + folder.string() + ": " + error.message());
  core::write_file_atomically(file, std::string_view(choice_task_bytes(task)));
  return {
      .name = request.name, .file = fs::absolute(file).string(), .digest = digest, .best_accuracy = task.best_accuracy};
}

}  // namespace nanobench::suites

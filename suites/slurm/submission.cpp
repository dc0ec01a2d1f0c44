#include "suites/slurm/submission.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "suites/slurm/shared_folder.h"

namespace nanobench::suites {
namespace {

using core::Error;
using core::ErrorCode;
using core::Json;
using core::JsonObject;

constexpr int kStateFormat = 1;
constexpr std::int64_t kMaxSubmissions = 1'000'000;

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw Error(ErrorCode::kDataLoss, source + ": " + what +
                                        "; the file is damaged: cancel the plan's jobs with scancel, move the folder "
                                        "away, and run again");
}

/// Runs `read`; any error means that the file is damaged.
template <class Read>
auto checked(const std::string& source, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    rethrow_internal(error);
    if (error.code() == ErrorCode::kDataLoss) throw;
    fail(source, error.what());
  } catch (const Json::exception&) {
    fail(source, "a value has another type than expected");
  }
}

std::vector<std::vector<std::size_t>> read_positions(const Json& value, const std::string& source, std::size_t runs) {
  std::vector<std::vector<std::size_t>> tasks;
  std::set<std::size_t> seen;
  if (!value.is_array() || value.empty()) fail(source, "the tasks are no list, or an empty one");
  for (const Json& task : value) {
    if (!task.is_array() || task.empty()) fail(source, "a task has no runs");
    tasks.emplace_back();
    for (const Json& position : task) {
      const bool is_number = position.is_number_unsigned() && position.get<std::uint64_t>() < runs;
      if (!is_number || !seen.insert(position.get<std::size_t>()).second)
        fail(source, "a task names a run that the plan does not have, or one twice");
      tasks.back().push_back(position.get<std::size_t>());
    }
  }
  return tasks;
}

bool is_job_name(const std::string& text) {
  return !text.empty() && text.size() < 100 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

Submission read_submission(const Json& value, const std::string& source, const std::string& pointer, std::size_t runs) {
  JsonObject object(value, source, pointer);
  Submission submission;
  submission.number = static_cast<int>(object.integer("number", 1, kMaxSubmissions));
  submission.name = object.string("name");
  if (!is_job_name(submission.name)) object.fail("name", "no name of ours");
  if (object.has("job_id")) {
    submission.job_id = object.string("job_id");
    if (!is_job_id(*submission.job_id)) object.fail("job_id", "expected a number");
  }
  submission.is_abandoned = object.boolean_or("is_abandoned", false);
  submission.tasks = read_positions(object.at("tasks"), source, runs);
  object.finish();
  return submission;
}

}  // namespace

bool is_job_id(const std::string& text) {
  return !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
}

int SlurmState::times_submitted(std::size_t position) const {
  int count = 0;
  for (const Submission& submission : submissions) {
    if (submission.is_abandoned) continue;
    for (const auto& task : submission.tasks) count += static_cast<int>(std::count(task.begin(), task.end(), position));
  }
  return count;
}

Json to_json(const SlurmState& state) {
  Json json = {{"format", kStateFormat},
               {"plan", state.plan_digest},
               {"plan_made_at", state.plan_made_at},
               {"is_fresh", state.is_fresh},
               {"submissions", Json::array()}};
  if (state.kept_seeds > 0) json["kept_seeds"] = state.kept_seeds;
  for (const Submission& submission : state.submissions) {
    Json item = {{"number", submission.number}, {"name", submission.name}, {"tasks", submission.tasks}};
    if (submission.job_id) item["job_id"] = *submission.job_id;
    if (submission.is_abandoned) item["is_abandoned"] = true;
    json["submissions"].push_back(std::move(item));
  }
  return json;
}

SlurmState read_state(const Json& value, const std::string& source, std::size_t runs) {
  return checked(source, [&] {
    JsonObject object(value, source);
    SlurmState state;
    if (object.integer("format", 0, 1'000'000) != kStateFormat) object.fail("format", "another version's");
    state.plan_digest = object.string("plan");
    state.plan_made_at = object.string("plan_made_at");
    state.is_fresh = object.boolean_or("is_fresh", false);
    if (object.find("kept_seeds") != nullptr) state.kept_seeds = object.integer("kept_seeds", 1, 1'000'000);
    const Json& submissions = object.at("submissions");
    if (!submissions.is_array()) object.fail("submissions", "expected a list");
    for (std::size_t i = 0; i < submissions.size(); ++i) {
      state.submissions.push_back(read_submission(submissions[i], source, "/submissions/" + std::to_string(i), runs));
      if (state.submissions.back().number != static_cast<int>(i) + 1) object.fail("submissions", "not in order");
    }
    object.finish();
    return state;
  });
}

void SubmissionFolder::make() const {
  for (const char* name : {"log", "started", "progress", "results"}) make_shared_folder(folder_ / name);
}

Json tasks_json(const std::vector<std::vector<std::size_t>>& tasks) {
  return {{"tasks", tasks}};
}

std::vector<std::vector<std::size_t>> read_tasks(const Json& value, const std::string& source, std::size_t runs) {
  return checked(source, [&] {
    JsonObject object(value, source);
    return read_positions(object.at("tasks"), source, runs);
  });
}

}  // namespace nanobench::suites

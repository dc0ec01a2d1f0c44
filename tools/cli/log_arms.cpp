#include "tools/cli/log_arms.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "reports/audit/arm_runs.h"
#include "reports/audit/audit_text.h"
#include "tools/cli/quantity.h"

namespace nanobench::tools {
namespace fs = std::filesystem;
namespace {

using core::Error;
using core::ErrorCode;

struct ArmFolder {
  std::string name;
  std::string path;
};

std::string folder_name(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// The sub-folders of a folder that hold a log, by name.
std::vector<std::string> folders_with_logs(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !results::find_log_files({entry->path()}).files.empty())
      paths.push_back(entry->path().string());
  }
  if (error) throw Error(ErrorCode::kIo, folder + " cannot be looked into: " + error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Named by their last parts, or by their paths where these are equal.
std::vector<ArmFolder> named_folders(const std::vector<std::string>& paths) {
  std::vector<ArmFolder> folders;
  for (const std::string& path : paths) folders.push_back({.name = folder_name(path), .path = path});
  for (ArmFolder& folder : folders) {
    const auto has_name = [&](const std::string& path) { return folder_name(path) == folder.name; };
    if (std::count_if(paths.begin(), paths.end(), has_name) > 1) folder.name = folder.path;
  }
  return folders;
}

std::vector<ArmFolder> arm_folders(const std::vector<std::string>& paths, const std::string& control) {
  if (paths.size() > 1) return named_folders(paths);
  if (!fs::is_directory(paths.front()))
    throw Error(ErrorCode::kInvalidArgument,
                paths.front() + " is one log; name two logs or folders of logs, or more, to compare them");
  std::vector<ArmFolder> arms = named_folders(folders_with_logs(paths.front()));
  if (arms.size() < 2)
    throw Error(ErrorCode::kInvalidArgument, paths.front() + " holds " +
                                                 counted(static_cast<std::int64_t>(arms.size()), "folder", "folders") +
                                                 " of logs; name two folders or more to compare them");
  if (control.empty())
    throw Error(ErrorCode::kInvalidArgument, "--control: expected one of the folders in " + paths.front());
  return arms;
}

std::size_t control_of(const std::vector<ArmFolder>& arms, const std::string& control) {
  if (control.empty()) return 0;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (arms[i].name == control || fs::path(arms[i].path).lexically_normal() == fs::path(control).lexically_normal())
      return i;
    names.push_back(arms[i].name);
  }
  throw Error(ErrorCode::kInvalidArgument,
              "--control " + control + " is none of the arms: " + joined(names) + core::suggestion(control, names));
}

}  // namespace

void add_log_rule_options(CLI::App& command, LogRuleOptions& options) {
  add_loss_option(command, "--target", options.target, "Target of the validation loss of logs (default: the track's)");
  command.add_option("--track", options.track, "Track of the logs, 1 to 3 (default: as their path says, else 1)")
      ->type_name("N");
}

reports::AuditOptions audit_options(const LogRuleOptions& options) {
  if (options.track) reports::rule_of_track(*options.track);
  return {.track = options.track, .target = options.target, .rule = std::nullopt, .step = std::nullopt};
}

reports::Audit audit_logs(const std::vector<std::string>& paths, const reports::AuditOptions& options) {
  reports::Auditor auditor(options);
  const results::LogFiles found = results::find_log_files(std::vector<fs::path>(paths.begin(), paths.end()));
  auditor.set_named_steps(results::find_named_steps(found.files));
  for (const std::string& problem : found.problems) auditor.add_problem(problem);
  for (const fs::path& folder : found.readme_only) auditor.add_readme_only(folder);
  for (const results::LogFile& file : found.files) {
    const results::LogReading reading = results::read_log_file(file.path);
    if (reading.problem) {
      auditor.add_problem(file.path.string() + " " + *reading.problem);
    } else {
      auditor.add(file, reading.log);
    }
  }
  return auditor.finish();
}

bool is_log_path(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || (results::is_log_name(path) && fs::is_regular_file(path, ignored));
}

reports::ArmComparison compare_logs(const std::vector<std::string>& paths, const std::string& control,
                                    const reports::AuditOptions& options) {
  const std::vector<ArmFolder> places = arm_folders(paths, control);
  const std::size_t first = control_of(places, control);
  std::vector<reports::NamedAudit> audits;
  std::vector<std::string> problems;
  for (const ArmFolder& place : places) {
    audits.push_back({.name = place.name, .audit = audit_logs({place.path}, options)});
    const std::vector<std::string>& found = audits.back().audit.problems;
    problems.insert(problems.end(), found.begin(), found.end());
  }
  std::vector<reports::LogArm> arms = reports::arms_of_audits(audits);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (!arms[i].losses.empty()) continue;
    throw Error(ErrorCode::kNotFound,
                places[i].path + " holds no run with a final loss" +
                    (arms[i].flags.empty() ? "" : ": " + joined(reports::texts_of(arms[i].flags), "; ")));
  }
  const reports::TrackRule rule = audits[first].audit.groups.front().rule;
  reports::ArmComparison comparison = reports::compare_arms(std::move(arms), first, rule);
  comparison.problems = std::move(problems);
  return comparison;
}

}  // namespace nanobench::tools

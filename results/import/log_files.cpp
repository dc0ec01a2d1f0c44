#include "results/import/log_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

#include "core/base/input_file.h"
#include "core/base/json.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"

namespace nanobench::results {
namespace fs = std::filesystem;
namespace {

using core::Error;
using core::ErrorCode;

constexpr core::InputLimit kLogLimit{std::uint64_t{4} << 30, "no log of a run is larger"};  // public ones: 2 MB
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

/// "2025-01-04_SoftCap", "20250104_soft_cap"
bool begins_with_date(const std::string& name) {
  const auto fits = [&](std::string_view form) {
    if (name.size() < form.size()) return false;
    for (std::size_t i = 0; i < form.size(); ++i) {
      const bool is_digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
      if (form[i] == '0' ? !is_digit : name[i] != form[i]) return false;
    }
    return true;
  };
  return fits("0000-00-00") || fits("00000000_");
}

/// Determines the folder of a file. `root`: the path that the user named, or the folder of a named file.
LogFile log_file(const fs::path& path, const fs::path& root) {
  LogFile file{.path = path, .name = core::as_utf8(path.filename().string())};
  fs::path whole = fs::absolute(root).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  fs::path relative = path.parent_path().lexically_relative(root);
  std::vector<std::string> parts = {whole.filename().string()};
  if (relative != ".") {
    for (const fs::path& part : relative) parts.push_back(part.string());
  }
  // The user may name a folder inside a record's folder: its sub-directory still belongs to that record.
  std::vector<std::string> above;
  for (const fs::path& part : whole.parent_path()) above.push_back(part.string());
  const auto dated_above = std::find_if(above.begin(), above.end(), begins_with_date);
  parts.insert(parts.begin(), dated_above, above.end());
  auto dated = std::find_if(parts.begin(), parts.end(), begins_with_date);
  if (dated == parts.end()) dated = parts.end() - 1;
  file.folder = core::as_utf8(*dated);
  for (auto part = dated + 1; part != parts.end(); ++part)
    file.subdir += (file.subdir.empty() ? "" : "/") + core::as_utf8(*part);
  return file;
}

bool is_readme(const fs::path& file) {
  return lower_case(file.stem().string()) == "readme" && file.extension() != ".txt";
}

/// Adds a folder's logs to `found` and its folders to `pending`. Skips links to folders, to avoid loops. A folder with
/// a README is noted as if it had no log.
void look_into(const fs::path& folder, const fs::path& root, LogFiles& found, std::vector<fs::path>& pending) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_symlink(ignored) && entry->is_directory(ignored)) continue;
    if (entry->is_directory(ignored)) {
      pending.push_back(entry->path());
    } else if (is_log_name(entry->path()) && entry->is_regular_file(ignored)) {
      found.files.push_back(log_file(entry->path(), root));
    } else if (is_readme(entry->path()) && entry->is_regular_file(ignored)) {
      found.readme_only.push_back(folder);
    }
  }
  if (error) found.problems.push_back(folder.string() + " cannot be looked into: " + error.message());
}

void walk(const fs::path& named, LogFiles& found) {
  const fs::path root = named.has_filename() ? named : named.parent_path();
  std::vector<fs::path> pending = {root};
  while (!pending.empty()) {
    const fs::path folder = std::move(pending.back());
    pending.pop_back();
    look_into(folder, root, found, pending);
  }
}

/// Keeps the folders with a README that hold no log, and of folders in each other the outermost.
void keep_folders_without_logs(LogFiles& found) {
  std::erase_if(found.readme_only, [&](const fs::path& folder) {
    return std::any_of(found.files.begin(), found.files.end(),
                       [&](const LogFile& file) { return lies_in(file.path, folder); });
  });
  std::sort(found.readme_only.begin(), found.readme_only.end());
  std::vector<fs::path> outermost;
  for (const fs::path& folder : found.readme_only) {
    if (outermost.empty() || !lies_in(folder, outermost.back())) outermost.push_back(folder);
  }
  found.readme_only = std::move(outermost);
}

}  // namespace

bool is_log_name(const fs::path& file) {
  const std::string extension = lower_case(file.extension().string());
  constexpr std::array<std::string_view, 4> kKnown = {".txt", ".log", ".out", ".stdout"};
  return std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

LogFiles find_log_files(const std::vector<fs::path>& paths) {
  LogFiles found;
  for (const fs::path& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      const bool is_refused = error && error != std::errc::no_such_file_or_directory;
      throw core::Refusal(ErrorCode::kNotFound, is_refused ? core::Reason::kSystem : core::Reason::kMissingFile,
                          path.string() + (is_refused ? " cannot be looked at: " + error.message()
                                                      : " does not exist; name a log file or a folder of logs"),
                          path.string());
    }
    if (fs::is_directory(status)) {
      walk(path, found);
    } else {
      const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
      found.files.push_back(log_file(parent / path.filename(), parent));
      found.files.back().is_named = true;
    }
  }
  std::set<fs::path> seen;  // paths may overlap
  std::erase_if(found.files,
                [&](const LogFile& file) { return !seen.insert(fs::absolute(file.path).lexically_normal()).second; });
  keep_folders_without_logs(found);
  const auto key = [](const LogFile& file) { return std::tie(file.folder, file.subdir, file.name, file.path); };
  std::sort(found.files.begin(), found.files.end(),
            [&](const LogFile& a, const LogFile& b) { return key(a) < key(b); });
  return found;
}

LogReading read_log_file(const fs::path& file) {
  LogReading reading;
  core::InputFile in;
  if (const auto problem = in.open(file, kLogLimit)) {
    reading.problem = problem->text;
    reading.trouble = problem->trouble;
    return reading;
  }
  SpeedrunLogReader reader;
  std::vector<char> piece(kPieceBytes);
  try {
    while (const std::size_t count = in.read(piece.data(), piece.size())) reader.add({piece.data(), count});
  } catch (const Error& error) {
    rethrow_internal(error);
    reading.problem = std::string("cannot be read to its end: ") + error.what();
    reading.trouble = core::InputTrouble::kUnreadable;
    return reading;
  }
  reading.log = reader.finish();
  return reading;
}

}  // namespace nanobench::results

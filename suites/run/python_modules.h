/// Which files the Python processes of a trainer load as modules, and which of its folder they read settings from.
/// Python tells it by itself: a folder that is put first into PYTHONPATH holds a module that Python imports when it
/// starts (sitecustomize.py). Programs that are no Python do not notice. Internal to suites. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/base/atomic_write.h"
#include "core/base/json.h"
#include "results/loaded_files.h"

namespace nanobench::suites {

class PythonModules {
 public:
  /// `external`: settings of the run. Throws Error{kIo} if there is no room for the folder.
  explicit PythonModules(const core::Json& external);

  /// What PYTHONPATH must begin with.
  std::string folder() const { return hook_.path().string(); }

  /// Call often: files that the trainer has loaded are hashed soon, since somebody may edit them while it runs. Does
  /// nothing within a second of the last time.
  void look_if_due();

  /// What was loaded by now from outside the trainer's folder, or tree, as facts (results/loaded_files.h). An installed
  /// package counts as one file, the list of its files. Also the texts within the folder that were read and not
  /// written: an output is none, and the suite's "sources" say by themselves what counts.
  results::Facts facts();

 private:
  void look();
  void take_line(const std::string& line);
  void take(const std::string& path);
  void take_file(const std::filesystem::path& file);
  void take_read(const std::string& path);
  std::map<std::filesystem::path, std::string> settings() const;
  bool is_covered(const std::filesystem::path& file) const;
  void add_fact(results::Facts& facts, const std::filesystem::path& file, const std::string& digest) const;

  core::TemporaryFolder hook_;
  std::filesystem::path own_;                     ///< the hook's folder; this path and the next ones are canonical
  std::filesystem::path folder_;                  ///< of the trainer
  std::optional<std::filesystem::path> covered_;  ///< what lies below it is part of the run's identity
  std::set<std::filesystem::path> known_;         ///< without such a folder: the files that are
  std::filesystem::path root_;                    ///< what lies below it may be elsewhere in another checkout
  std::map<std::filesystem::path, std::uintmax_t> read_;               ///< reports, with their sizes
  std::set<std::string> paths_;                                        ///< as reported
  std::map<std::filesystem::path, std::optional<std::string>> files_;  ///< of no package, with digests
  std::map<std::filesystem::path, std::set<std::string>> installed_;   ///< names by folder of packages
  bool counts_texts_;                                                  ///< that are read
  std::map<std::filesystem::path, std::string> texts_;                 ///< read within the trainer's folder: digests
  std::set<std::filesystem::path> written_;
  results::LoadedFiles digests_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

}  // namespace nanobench::suites

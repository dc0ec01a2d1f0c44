/// The source revision that a run measured, and the revisions of many runs in order of time. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace nanobench::reports {

/// What is known about the program behind a run.
struct SourceRevision {
  std::string name;       ///< from the program: 40 or 12 hexadecimal digits; empty: unknown
  bool is_dirty = false;  ///< has uncommitted changes: possibly a different program each time
  std::string program;    ///< identity of the program itself: RunRecord::engine_version

  bool is_known() const { return !name.empty(); }
};

/// Determined from the facts of the run's environment. The engine's own facts ("engine/git_revision",
/// "engine/git_dirty") come first, then the revision in the version of our engines, "0.1.0 (abc..., dirty)". The last
/// source is "git_revision" and "git_dirty" of the runner, which do not apply to an external trainer.
SourceRevision source_revision(const std::string& engine, const std::string& program,
                               const std::map<std::string, std::string>& facts);

/// One revision of a trend.
struct Revision {
  std::string name;      ///< in full: "abc...", "abc...+dirty", "program 0123..."
  std::string label;     ///< short; unique among the revisions
  std::string first_at;  ///< ISO 8601: start of its first run
  bool is_dirty = false;
  int programs = 0;  ///< different programs built from it
};

/// What revisions need to know of a run.
struct RevisionRun {
  SourceRevision source;
  std::string started_at;
};

struct Revisions {
  std::vector<Revision> all;        ///< ordered by their first run
  std::vector<std::size_t> of_run;  ///< index into `all`, one for each run
};

/// All clean programs of a revision are one revision. Each dirty program, and each program without a known revision, is
/// a revision of its own.
Revisions revisions_of(std::span<const RevisionRun> runs);

}  // namespace nanobench::reports

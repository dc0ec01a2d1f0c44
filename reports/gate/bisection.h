/// The search for the first commit that is worse than a good one, with a gate as judge, and what it has found. Pure,
/// thread-safe.
///
/// Error rate. Each tested commit gets one of two decisions: worse than the good revision, or not worse by more than
/// the margins. Each is wrong with a chance of at most the test's alpha, where "wrong" means: called worse without any
/// harm, or called not worse with harm of a margin or more. The path of a bisection over n commits has
/// tests_of_bisection(n) decisions, so that the share alpha / tests for each leaves at most alpha for all of them, in
/// whatever way they depend on each other. A commit that is skipped needs a further test; wrong_answer_bound() counts
/// it. Harm below the margins may be found or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "reports/gate/gate.h"

namespace nanobench::reports {

/// What a tested commit is.
enum class CommitVerdict {
  kUnknown,
  kGood,     ///< proved not to be worse than the good revision by more than the margins
  kBad,      ///< proved worse than it
  kSkipped,  ///< undecided at the largest number of seeds, or it does not run
};
NB_ENUM_NAMES(CommitVerdict, {CommitVerdict::kUnknown, "unknown"}, {CommitVerdict::kGood, "good"},
              {CommitVerdict::kBad, "bad"}, {CommitVerdict::kSkipped, "skipped"});

/// The search over the commits behind the good revision, the oldest first; the last one is known to be bad.
class Bisection {
 public:
  /// At least one commit. Throws Error{kInvalidArgument} otherwise.
  explicit Bisection(std::size_t commits);

  /// The next commit to test: the middle of the suspects, or the nearest to it that is not skipped; nullopt when no
  /// test is left.
  std::optional<std::size_t> next() const;
  /// Takes the verdict of the commit that next() named.
  void set(std::size_t commit, CommitVerdict verdict);

  /// The commits that may be the first bad one, in order. One: it is found.
  std::vector<std::size_t> suspects() const;
  /// Tests that are left at most, without further skips.
  int tests_left() const;

 private:
  std::size_t first_ = 0;  ///< oldest suspect
  std::size_t last_ = 0;   ///< oldest commit that is known to be bad
  std::vector<bool> is_skipped_;
};

/// Decisions on the longest path over so many commits, with that of the bad revision, which is tested first.
int tests_of_bisection(std::size_t commits);

/// The alpha of each test, so that the whole bisection has `alpha`.
double alpha_of_test(double alpha, std::size_t commits);

/// The chance of a wrong answer after so many decisions at this alpha: at most this, and at most 1.
double wrong_answer_bound(double alpha_of_test, int decisions);

struct Commit {
  std::string id;  ///< 40 digits
  std::string subject;
  std::string author;
  std::string date;  ///< 2026-11-26
  std::string short_id() const { return id.substr(0, 10); }
};

/// A tested commit.
struct BisectStep {
  Commit commit;
  CommitVerdict verdict = CommitVerdict::kUnknown;
  int seeds = 0;                   ///< of each side; 0: nothing could be judged
  std::optional<GateCheck> check;  ///< the check that decided, or that came nearest to it
  double level = 0.0;              ///< confidence of the check's interval
  bool is_judged = false;          ///< the gate had runs to judge: the step is one of the decisions
  std::string reason;              ///< one sentence: why it is skipped; may be empty
};

enum class BisectAnswer {
  kFound,         ///< one first bad commit
  kSeveral,       ///< skipped commits stand beside it
  kNoDifference,  ///< the bad revision is not worse than the good one
  kUndecided,     ///< whether it is worse stays open
  kIncomplete,    ///< the good or the bad revision does not run
};
NB_ENUM_NAMES(BisectAnswer, {BisectAnswer::kFound, "found"}, {BisectAnswer::kSeveral, "several"},
              {BisectAnswer::kNoDifference, "no difference"}, {BisectAnswer::kUndecided, "undecided"},
              {BisectAnswer::kIncomplete, "incomplete"});
/// 0 for kFound, 1 for kNoDifference, 3 for kSeveral and kUndecided, 4 for kIncomplete.
int exit_code(BisectAnswer answer);

struct BisectResult {
  std::string suite;
  Commit good, bad;
  std::size_t all_commits = 0;    ///< between good and bad, with the bad one
  std::vector<Commit> commits;    ///< those of them that change the source; the last has the bad one's source
  std::vector<BisectStep> steps;  ///< in the order of the tests; the first is the bad revision's
  std::vector<Commit> suspects;   ///< possible first bad commits, in order
  BisectAnswer answer = BisectAnswer::kUndecided;
  double alpha = 0.05;          ///< asked for, of the whole bisection
  double alpha_of_test = 0.05;  ///< of each test
  std::vector<std::string> notes;

  int decisions() const;                                  ///< steps with runs to judge
  const BisectStep* step_of(const Commit& commit) const;  ///< nullptr if it was not tested
};

/// The step that a gate's result makes of a commit. `seeds`: of each side. Regression is bad and pass is good; what is
/// missing, undecided or not comparable is skipped, with the reason.
BisectStep judged_step(const Commit& commit, const GateResult& result, int seeds);

}  // namespace nanobench::reports

#include "suites/source/source_trees.h"

#include <gtest/gtest.h>

#include "suites/source/scratch_tree.h"
#include "tests/core/base/refusal_support.h"
#include "tests/suites/source/toy_repository.h"

namespace nanobench::suites {
namespace {

using core::Reason;

namespace fs = std::filesystem;

class SourceTreesTest : public ToyRepository {
 protected:
  TrainerSource source(const std::string& revision = "") const {
    TrainerSource source;
    source.folder = folder_;
    source.revision = revision;
    return source;
  }
  static SourceChange named(ChangeKind kind, const std::string& name) {
    SourceChange change;
    change.kind = kind;
    change.name = name;
    change.file = name;
    return change;
  }
  static SourceChange replaced(const std::string& old_text, const std::string& new_text) {
    SourceChange change;
    change.kind = ChangeKind::kReplace;
    change.replacements = {{"train.py", old_text, new_text}};
    return change;
  }
  /// train.py with these changes.
  std::string train_with(const std::vector<SourceChange>& changes, const std::string& revision = "") const {
    SourceTrees trees(source(revision), cache_);
    std::vector<NamedChange> named;
    for (const SourceChange& change : changes) named.push_back({change.title(), &change});
    return read(ScratchTree(trees.settings_of(trees.with(named))).folder() / "train.py");
  }
  core::Refused refused_with(const std::vector<SourceChange>& changes) const {
    const core::Refused refused = core::refusal_of([&] { train_with(changes); });
    EXPECT_TRUE(!refused.is_refused || refused.code != core::ErrorCode::kInternal) << refused.message;
    return refused;
  }
};

TEST_F(SourceTreesTest, EachKindOfChangeGivesItsText) {
  const auto before = files();
  const SourceChange lr = named(ChangeKind::kPatch, patch("lr.patch", "lr = 1", "lr = 2"));
  EXPECT_EQ(train_with({}), text({"muon = 1", "lr = 1", "momentum = 1"}));
  EXPECT_EQ(train_with({lr}), text({"muon = 1", "lr = 2", "momentum = 1"}));
  EXPECT_EQ(train_with({named(ChangeKind::kRevert, muon_)}), text({"lr = 1", "momentum = 1"}));
  EXPECT_EQ(train_with({named(ChangeKind::kBranch, "skip")}), text({"muon = 1", "lr = 1", "momentum = 1", "skip = 1"}));
  EXPECT_EQ(train_with({named(ChangeKind::kCherryPick, "skip")}),
            text({"muon = 1", "lr = 1", "momentum = 1", "skip = 1"}));
  EXPECT_EQ(train_with({replaced("lr = 1", "lr = 3")}), text({"muon = 1", "lr = 3", "momentum = 1"}));
  EXPECT_EQ(train_with({named(ChangeKind::kCherryPick, muon_)}, "HEAD~2"),
            text({"muon = 1", "lr = 1", "momentum = 1"}));
  EXPECT_EQ(files(), before) << "the user's folder and repository are only read";
}

TEST_F(SourceTreesTest, ChangesAreMadeTogetherWhereTheyDoNotMeet) {
  const SourceChange momentum = named(ChangeKind::kPatch, patch("momentum.patch", "momentum = 1", "momentum = 2"));
  EXPECT_EQ(train_with({momentum, named(ChangeKind::kRevert, muon_), named(ChangeKind::kBranch, "skip")}),
            text({"lr = 1", "momentum = 2", "skip = 1"}));
  EXPECT_EQ(train_with({momentum, replaced("lr = 1", "lr = 2")}), text({"muon = 1", "lr = 2", "momentum = 2"}));
}

TEST_F(SourceTreesTest, OnlySomeFilesOfACommitCount) {
  write("train.py", text({"muon = 1", "lr = 1", "momentum = 1", "norm = 1"}));
  write("model.py", "layers = 4\n");
  SourceChange revert = named(ChangeKind::kRevert, commit("two files"));
  write("model.py", "layers = 5\n");  // with which the revert of model.py does not agree
  EXPECT_EQ(refused_with({revert}).reason, Reason::kClash);
  EXPECT_TRUE(refused_with({revert}).names("model.py")) << refused_with({revert}).message;
  revert.only = {"train.py"};
  EXPECT_EQ(train_with({revert}), text({"muon = 1", "lr = 1", "momentum = 1"}));
  revert.only = {"other.py"};
  EXPECT_EQ(refused_with({revert}).reason, Reason::kUnused);
}

TEST_F(SourceTreesTest, APatchOfAnOlderRevisionIsMerged) {
  const SourceChange lr = named(ChangeKind::kPatch, patch("lr.patch", "lr = 1", "lr = 2"));
  write("train.py", text({"# a", "# b", "# c", "muon = 1", "lr = 1", "momentum = 1"}));
  commit("comments");
  EXPECT_EQ(train_with({lr}), text({"# a", "# b", "# c", "muon = 1", "lr = 2", "momentum = 1"}));
}

TEST_F(SourceTreesTest, AConflictNamesBothChangesAndThePlace) {
  const SourceChange two = named(ChangeKind::kPatch, patch("two.patch", "lr = 1", "lr = 2"));
  const SourceChange three = named(ChangeKind::kPatch, patch("three.patch", "lr = 1", "lr = 3"));
  const SourceChange other = named(ChangeKind::kPatch, patch("other.patch", "momentum = 1", "momentum = 2"));
  const core::Refused refused = refused_with({other, two, three});
  EXPECT_EQ(refused.reason, Reason::kClash) << refused.message;
  EXPECT_TRUE(refused.subject.starts_with("train.py, ") && refused.subject.ends_with("\"lr = 1\"")) << refused.subject;
  EXPECT_TRUE(refused.names(two.name) && refused.names(three.name)) << refused.message;
  EXPECT_FALSE(refused.names(other.name)) << refused.message;
}

TEST_F(SourceTreesTest, WhatDoesNotExistOrFitIsRefused) {
  core::write_file_atomically(place_.path() / "words.patch", "no patch\n");
  const std::string words = (place_.path() / "words.patch").string();
  EXPECT_EQ(refused_with({named(ChangeKind::kPatch, words)}).reason, Reason::kMalformed);
  EXPECT_REFUSED(refused_with({named(ChangeKind::kPatch, words + "x")}), Reason::kMissingFile, words + "x");
  EXPECT_REFUSED(refused_with({named(ChangeKind::kRevert, "nonsense")}), Reason::kNoCommit, "nonsense");
  EXPECT_EQ(refused_with({named(ChangeKind::kBranch, "main")}).reason, Reason::kUnused);
  EXPECT_REFUSED(refused_with({replaced("lr = 7", "lr = 8")}), Reason::kNowhere, "lr = 7");
  EXPECT_REFUSED(refused_with({replaced(" = 1", " = 8")}), Reason::kRepeated, " = 1");
  EXPECT_TRUE(refused_with({replaced(" = 1", " = 8")}).names(" 3 "));
}

TEST_F(SourceTreesTest, AFolderCountsAsItIsOnDisk) {
  write("train.py", text({"uncommitted = 1"}));
  write("extra.py", "untracked = 1\n");
  write("log.txt", "no source\n");
  SourceTrees trees(source(), cache_);
  const ScratchTree tree(trees.settings_of(trees.base()));
  EXPECT_EQ(read(tree.folder() / "train.py"), text({"uncommitted = 1"}));
  EXPECT_TRUE(fs::exists(tree.folder() / "extra.py"));
  EXPECT_TRUE(fs::exists(tree.folder() / "model.py"));
  EXPECT_FALSE(fs::exists(tree.folder() / "log.txt"));
  EXPECT_FALSE(fs::exists(tree.folder() / "data"));
  SourceTrees of_commit(source("HEAD"), cache_);
  EXPECT_NE(of_commit.base(), trees.base());
}

TEST_F(SourceTreesTest, AFolderWithoutGitWorksToo) {
  fs::remove_all(folder_ / ".git");
  EXPECT_EQ(train_with({replaced("lr = 1", "lr = 3")}), text({"muon = 1", "lr = 3", "momentum = 1"}));
  EXPECT_REFUSED(refused_with({named(ChangeKind::kRevert, muon_)}), Reason::kNoRepository, muon_);
}

TEST_F(SourceTreesTest, PythonThatNoLongerCompilesIsRefused) {
  if (!core::run_command({"python3", "-c", ""}).is_success()) GTEST_SKIP() << "needs Python";
  SourceTrees trees(source(), cache_);
  const SourceChange good = replaced("lr = 1", "lr = 2"), bad = replaced("lr = 1", "lr = (");
  trees.check(trees.with({{"good", &good}}), "good", "python3");
  const std::string tree = trees.with({{"bad", &bad}});
  const core::Refused refused = core::refusal_of([&] { trees.check(tree, "with bad", "python3"); });
  EXPECT_REFUSED(refused, Reason::kNoLongerCompiles, "train.py");
  EXPECT_EQ(refused.message.rfind("with bad: ", 0), 0U) << refused.message;
  EXPECT_TRUE(refused.names("line ")) << "Python's own words: " << refused.message;
}

TEST_F(SourceTreesTest, TheChecksCommandRunsInEachTree) {
  TrainerSource checked = source();
  checked.check = {"grep", "-q", "lr = 1", "train.py"};
  SourceTrees trees(checked, cache_);
  const SourceChange good = replaced("momentum = 1", "momentum = 2"), bad = replaced("lr = 1", "lr = 2");
  trees.check(trees.with({{"good", &good}}), "good", "python3");
  EXPECT_REFUSAL(trees.check(trees.with({{"bad", &bad}}), "bad", "python3"), Reason::kProgramFails, "bad");
}

TEST_F(SourceTreesTest, AScratchTreeIsMendedSharedAndRemoved) {
  TrainerSource linked = source();
  linked.links = {"data"};
  SourceTrees trees(linked, cache_);
  const core::Json settings = trees.settings_of(trees.base());
  fs::path folder;
  {
    const ScratchTree tree(settings);
    folder = tree.folder();
    EXPECT_EQ(read(folder / "data" / "tokens.bin"), "0123");
    core::write_file_atomically(folder / "train.py", "a run wrote here\n");
    core::write_file_atomically(folder / "log.txt", "kept\n");
    const ScratchTree other(settings);  // in use: stays as it is
    EXPECT_EQ(read(folder / "train.py"), "a run wrote here\n");
    EXPECT_EQ(remove_trees(cache_, {folder}), 0);
  }
  {
    const ScratchTree tree(settings);
    EXPECT_EQ(read(folder / "train.py"), text({"muon = 1", "lr = 1", "momentum = 1"}));
    EXPECT_EQ(read(folder / "log.txt"), "kept\n");
  }
  EXPECT_EQ(remove_trees(cache_, {folder}), 1);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(folder_ / "data" / "tokens.bin")) << "links are removed, not what they lead to";
  linked.links = {"nothing"};
  SourceTrees broken(linked, cache_);
  EXPECT_THROW(ScratchTree(broken.settings_of(broken.base())), core::Error);
}

}  // namespace
}  // namespace nanobench::suites

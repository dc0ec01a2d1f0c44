#include "suites/source/source_trees.h"

#include <gtest/gtest.h>

#include "suites/source/scratch_tree.h"
#include "tests/suites/source/toy_repository.h"

namespace nanobench::suites {
namespace {

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
  std::string error_of(const std::vector<SourceChange>& changes) const {
    try {
      train_with(changes);
    } catch (const core::Error& error) {
      EXPECT_NE(error.code(), core::ErrorCode::kInternal);
      return error.what();
    }
    return "";
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
  EXPECT_NE(error_of({revert}).find("model.py"), std::string::npos);
  revert.only = {"train.py"};
  EXPECT_EQ(train_with({revert}), text({"muon = 1", "lr = 1", "momentum = 1"}));
  revert.only = {"other.py"};
  EXPECT_NE(error_of({revert}).find("changes nothing"), std::string::npos);
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
  const std::string error = error_of({other, two, three});
  EXPECT_NE(error.find(two.name + " and " + three.name), std::string::npos) << error;
  EXPECT_NE(error.find("train.py, near \"lr = 1\""), std::string::npos) << error;
  EXPECT_EQ(error.find(other.name), std::string::npos) << error;
}

TEST_F(SourceTreesTest, WhatDoesNotExistOrFitIsRefused) {
  core::write_file_atomically(place_.path() / "words.patch", "no patch\n");
  const std::string words = (place_.path() / "words.patch").string();
  EXPECT_NE(error_of({named(ChangeKind::kPatch, words)}).find("no patch as"), std::string::npos);
  EXPECT_NE(error_of({named(ChangeKind::kPatch, words + "x")}), "");
  EXPECT_NE(error_of({named(ChangeKind::kRevert, "nonsense")}).find("nonsense"), std::string::npos);
  EXPECT_NE(error_of({named(ChangeKind::kBranch, "main")}).find("changes nothing"), std::string::npos);
  EXPECT_NE(error_of({replaced("lr = 7", "lr = 8")}).find("nowhere"), std::string::npos);
  EXPECT_NE(error_of({replaced(" = 1", " = 8")}).find("3 times"), std::string::npos);
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
  EXPECT_NE(error_of({named(ChangeKind::kRevert, muon_)}).find("no repository"), std::string::npos);
}

TEST_F(SourceTreesTest, PythonThatNoLongerCompilesIsRefused) {
  if (!core::run_command({"python3", "-c", ""}).is_success()) GTEST_SKIP() << "needs Python";
  SourceTrees trees(source(), cache_);
  const SourceChange good = replaced("lr = 1", "lr = 2"), bad = replaced("lr = 1", "lr = (");
  trees.check(trees.with({{"good", &good}}), "good", "python3");
  const std::string tree = trees.with({{"bad", &bad}});
  try {
    trees.check(tree, "with bad", "python3");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("with bad: train.py no longer compiles, line "), std::string::npos)
        << error.what();
  }
}

TEST_F(SourceTreesTest, TheChecksCommandRunsInEachTree) {
  TrainerSource checked = source();
  checked.check = {"grep", "-q", "lr = 1", "train.py"};
  SourceTrees trees(checked, cache_);
  const SourceChange good = replaced("momentum = 1", "momentum = 2"), bad = replaced("lr = 1", "lr = 2");
  trees.check(trees.with({{"good", &good}}), "good", "python3");
  EXPECT_THROW(trees.check(trees.with({{"bad", &bad}}), "bad", "python3"), core::Error);
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

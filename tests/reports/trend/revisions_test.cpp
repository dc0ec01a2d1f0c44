#include "reports/trend/revisions.h"

#include <gtest/gtest.h>

namespace nanobench::reports {
namespace {

using Facts = std::map<std::string, std::string>;

const std::string kHash = "0123456789abcdef0123456789abcdef01234567";

TEST(SourceRevision, OurEnginesNameTheirOwnInTheirVersion) {
  const Facts facts = {{"engine_version", "0.1.0 (0123456789ab)"}, {"git_revision", kHash}, {"git_dirty", "true"}};
  const SourceRevision own = source_revision("nanobench-train", "p", facts);
  EXPECT_EQ(own.name, kHash) << "the runner is of the same revision, and knows all of its digits";
  EXPECT_FALSE(own.is_dirty) << "the runner has changes, the engine has not";

  Facts other = facts;
  other["engine_version"] = "0.1.0 (ffff456789ab, dirty)";
  const SourceRevision old_engine = source_revision("nanobench-train", "p", other);
  EXPECT_EQ(old_engine.name, "ffff456789ab") << "an engine of another revision than its runner's";
  EXPECT_TRUE(old_engine.is_dirty);
}

TEST(SourceRevision, WithoutOneOfItsOwnItIsTheRunners) {
  const Facts facts = {{"engine_version", "1"}, {"git_revision", kHash}, {"git_dirty", "true"}};
  const SourceRevision mock = source_revision("mock", "1", facts);
  EXPECT_EQ(mock.name, kHash);
  EXPECT_TRUE(mock.is_dirty);
  EXPECT_EQ(mock.program, "1");
}

TEST(SourceRevision, TheRunnersSaysNothingOfAnExternalTrainer) {
  Facts facts = {{"engine_version", "0.1.0 (0123456789ab)"}, {"git_revision", kHash}, {"git_dirty", "false"}};
  EXPECT_FALSE(source_revision("external", "files", facts).is_known());
  facts["engine/git_revision"] = "feedbeef";
  facts["engine/git_dirty"] = "true";
  const SourceRevision own = source_revision("external", "files", facts);
  EXPECT_EQ(own.name, "feedbeef");
  EXPECT_TRUE(own.is_dirty);
}

TEST(SourceRevision, UnknownIsNoName) {
  EXPECT_FALSE(source_revision("nanobench-train", "p", {}).is_known());
  EXPECT_FALSE(
      source_revision("nanobench-train", "p", {{"engine_version", "0.1.0 (unknown)"}, {"git_revision", "unknown"}})
          .is_known());
}

RevisionRun run(const std::string& name, bool is_dirty, const std::string& program, const std::string& at) {
  return {.source = {.name = name, .is_dirty = is_dirty, .program = program}, .started_at = at};
}

TEST(Revisions, StandInTheOrderOfTheirFirstRuns) {
  const std::vector<RevisionRun> runs = {run("b2", false, "p", "2026-03-09"), run("a1", false, "p", "2026-03-02"),
                                         run("b2", false, "p", "2026-03-01"), run("a1", false, "p", "2026-03-16")};
  const Revisions revisions = revisions_of(runs);
  ASSERT_EQ(revisions.all.size(), 2U);
  EXPECT_EQ(revisions.all[0].name, "b2");
  EXPECT_EQ(revisions.all[0].first_at, "2026-03-01");
  EXPECT_EQ(revisions.of_run, (std::vector<std::size_t>{0, 1, 0, 1}));
}

TEST(Revisions, DirtyProgramsAreApartFromTheCleanOneAndFromEachOther) {
  const std::vector<RevisionRun> runs = {run(kHash, false, "p1", "1"), run(kHash, true, "p2", "2"),
                                         run(kHash, true, "p3", "3"), run(kHash, true, "p2", "4"),
                                         run(kHash, false, "p4", "5")};
  const Revisions revisions = revisions_of(runs);
  EXPECT_EQ(revisions.of_run, (std::vector<std::size_t>{0, 1, 2, 1, 0}));
  ASSERT_EQ(revisions.all.size(), 3U);
  EXPECT_EQ(revisions.all[0].label, "0123456");
  EXPECT_EQ(revisions.all[0].programs, 2) << "clean ones are one revision, whoever compiled them";
  EXPECT_EQ(revisions.all[1].label, "0123456+dirty");
  EXPECT_EQ(revisions.all[2].label, "0123456+dirty #2");
  EXPECT_EQ(revisions.all[1].name, kHash + "+dirty");
  EXPECT_TRUE(revisions.all[1].is_dirty);
}

TEST(Revisions, LabelsAreAsLongAsTheyMustBe) {
  const std::vector<RevisionRun> runs = {run("0123456789ab", false, "p", "1"), run("0123456788ab", false, "p", "2"),
                                         run("", false, "0123456789abcdef", "3")};
  const Revisions revisions = revisions_of(runs);
  EXPECT_EQ(revisions.all[0].label, "0123456789");
  EXPECT_EQ(revisions.all[1].label, "0123456788");
  EXPECT_EQ(revisions.all[2].label, "program 0123456…");
}

TEST(Revisions, HostileNamesGetHarmlessLabels) {
  const std::string hostile = "\x1b[2Jmain\n<script>alert(1)</script> and a lot more of it";
  const std::vector<RevisionRun> runs = {run(hostile, false, "p", "1"), run(hostile + "2", false, "p", "2")};
  const Revisions revisions = revisions_of(runs);
  ASSERT_EQ(revisions.all.size(), 2U);
  EXPECT_EQ(revisions.all[0].name, hostile);
  EXPECT_EQ(revisions.all[0].label.find('\x1b'), std::string::npos);
  EXPECT_NE(revisions.all[0].label, revisions.all[1].label);
  EXPECT_LT(revisions.all[0].label.size(), 40U);
}

TEST(Revisions, OfNothingAreNone) {
  EXPECT_TRUE(revisions_of({}).all.empty());
}

}  // namespace
}  // namespace nanobench::reports

// Whether the files that a trainer loaded are as they were.
#include "results/loaded_files.h"

#include <sys/stat.h>

#include "core/base/digest.h"
#include "tests/results/store_fixture.h"

namespace nanobench::results {
namespace {

namespace fs = std::filesystem;

class LoadedFilesTest : public StoreTest {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static Facts fact(const std::string& name, const std::string& content) {
    return {{kLoadedFact + name, core::digest_of(content)}};
  }

  LoadedFiles files_;
};

TEST_F(LoadedFilesTest, OneThatIsAsItWasIsNoChange) {
  const fs::path helper = write("helper.py", "rate = 1\n");
  Facts facts = fact(helper.string(), "rate = 1\n");
  facts["used/wall_ms"] = "1";
  EXPECT_FALSE(files_.first_change(facts, "/nowhere", true));
  EXPECT_FALSE(files_.first_change({}, "/nowhere", true));
}

TEST_F(LoadedFilesTest, AnotherContentIsAChangeAlsoOfTheSameSize) {
  const fs::path helper = write("helper.py", "rate = 1\n");
  const Facts facts = fact(helper.string(), "rate = 1\n");
  ASSERT_FALSE(files_.first_change(facts, "/nowhere", true));
  write("helper.py", "rate = 2\n");
  fs::last_write_time(helper, fs::file_time_type::clock::now() + std::chrono::seconds(2));
  for (const bool is_made_here : {false, true}) {
    const std::optional<ChangedFile> change = files_.first_change(facts, "/nowhere", is_made_here);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->name, helper.string());
    EXPECT_FALSE(change->is_gone);
  }
}

TEST_F(LoadedFilesTest, AMissingOneCountsOnlyWhereTheRunWasMade) {
  const Facts facts = fact((folder_ / "gone.py").string(), "x");
  const std::optional<ChangedFile> change = files_.first_change(facts, "/nowhere", true);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->is_gone);
  EXPECT_FALSE(files_.first_change(facts, "/nowhere", false)) << "another machine may never have had it";
}

TEST_F(LoadedFilesTest, ARelativeNameIsSeenFromTheTrainersFolder) {
  fs::create_directories(folder_ / "here" / "train");
  fs::create_directories(folder_ / "there" / "train");
  write("here/helper.py", "1");
  write("there/helper.py", "2");
  const Facts facts = fact("../helper.py", "1");
  EXPECT_FALSE(files_.first_change(facts, folder_ / "here" / "train", true));
  EXPECT_TRUE(files_.first_change(facts, folder_ / "there" / "train", true));
}

TEST_F(LoadedFilesTest, WhatIsNoFileIsNotRead) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(files_.digest_of(pipe)) << "and does not wait for a writer";
  EXPECT_FALSE(files_.digest_of(folder_));
  EXPECT_FALSE(files_.digest_of("/dev/zero"));
  EXPECT_TRUE(files_.first_change(fact(pipe, ""), "/nowhere", false));
}

TEST_F(LoadedFilesTest, ARunWhoseFileChangedIsNoAnswer) {
  Store store(file());
  const NewRun run = new_run();
  const fs::path helper = write("helper.py", "rate = 1\n");
  const std::int64_t first = claim(store, run);
  store.finish_run(first, completed(), {.samples = {}, .messages = {}, .facts = fact(helper.string(), "rate = 1\n")});
  const EvidenceNeed need{.trainer_folder = folder_};
  EXPECT_EQ(store.find_evidence(run.digest, need), first);
  EXPECT_FALSE(store.changed_file(first, folder_));
  write("helper.py", "rate = 0.5\n");
  EXPECT_FALSE(store.find_evidence(run.digest, need));
  EXPECT_EQ(store.find_evidence(run.digest), first) << "of no trainer";
  ASSERT_TRUE(store.changed_file(first, folder_));
  EXPECT_EQ(store.changed_file(first, folder_)->name, helper.string());
  const RunClaim again = store.claim_run(run, this_process(), false, false, need);
  ASSERT_TRUE(std::holds_alternative<Claimed>(again)) << "it is measured again";
  EXPECT_TRUE(std::get<Claimed>(again).damaged.empty());
  const std::int64_t second = std::get<Claimed>(again).run_id;
  store.finish_run(second, completed(),
                   {.samples = {}, .messages = {}, .facts = fact(helper.string(), "rate = 0.5\n")});
  EXPECT_EQ(store.find_evidence(run.digest, need), second);
  write("helper.py", "rate = 1\n");
  EXPECT_EQ(store.find_evidence(run.digest, need), first) << "as it was then";
}

TEST_F(LoadedFilesTest, ARunWithoutReportIsAnAnswer) {
  Store store(file());
  const NewRun run = new_run();
  const std::int64_t id = claim(store, run);
  store.finish_run(id, completed());
  EXPECT_EQ(store.find_evidence(run.digest, {.trainer_folder = folder_}), id) << "such as those of older versions";
}

}  // namespace
}  // namespace nanobench::results

#include "results/import/log_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <tuple>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/process/resource_limits.h"
#include "tests/core/base/refusal_support.h"
#include "tests/results/import/log_texts.h"

namespace nanobench::results {
namespace {

namespace fs = std::filesystem;

class LogFilesTest : public testing::Test {
 protected:
  LogFilesTest() {
    std::string pattern = (fs::temp_directory_path() / "nanobench-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LogFilesTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path write(const std::string& name, const std::string& text = "x") const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  static std::vector<std::string> labels(const LogFiles& found) {
    std::vector<std::string> texts;
    for (const LogFile& file : found.files) texts.push_back(file.folder + "|" + file.subdir + "|" + file.name);
    return texts;
  }
  fs::path folder_;
};

TEST_F(LogFilesTest, NamesTheRecordFolderAndItsSubDirectory) {
  write("track/2026-04-22_Mudd/this_pr/logs/b.txt");
  write("track/2026-04-22_Mudd/a.log");
  write("track/20260430_adamh/c.stdout");
  write("track/plain/d.OUT");
  write("track/plain/e.py");
  const std::vector<std::string> all = {"20260430_adamh||c.stdout", "2026-04-22_Mudd||a.log",
                                        "2026-04-22_Mudd|this_pr/logs|b.txt", "plain||d.OUT"};
  std::vector<std::string> found = labels(find_log_files({folder_ / "track"}));
  std::sort(found.begin(), found.end());
  std::vector<std::string> wanted = all;
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(found, wanted);
  const std::vector<std::string> inside = {"2026-04-22_Mudd|this_pr/logs|b.txt"};
  EXPECT_EQ(labels(find_log_files({folder_ / "track/2026-04-22_Mudd/this_pr/"})), inside);
  EXPECT_EQ(labels(find_log_files({folder_ / "track/2026-04-22_Mudd/this_pr/logs/b.txt"})), inside);
}

TEST_F(LogFilesTest, OrderDoesNotDependOnTheDiskAndNothingComesTwice) {
  for (const char* name : {"z.txt", "a.txt", "m/x.txt", "b.txt"}) write(name);
  const LogFiles found = find_log_files({folder_, folder_ / "a.txt", folder_});
  EXPECT_EQ(found.files.size(), 4U);
  EXPECT_TRUE(std::is_sorted(found.files.begin(), found.files.end(), [](const LogFile& a, const LogFile& b) {
    return std::tie(a.folder, a.subdir, a.name) < std::tie(b.folder, b.subdir, b.name);
  }));
}

TEST_F(LogFilesTest, FoldersWithOnlyAReadmeAreNamed) {
  for (const char* file : {"README.md", "b/README.md", "b/deep/readme.md", "c/README.md", "c/runs/x.txt", "d/x.py"})
    write(std::string("records/") + file);
  const fs::path records = folder_ / "records";
  EXPECT_EQ(find_log_files({records}).readme_only, std::vector{records / "b"});
  EXPECT_EQ(find_log_files({records / "b"}).readme_only, std::vector{records / "b"});
}

TEST_F(LogFilesTest, NamesOfAnyBytesBecomeText) {
  write("2025-01-01_\xff\xc3/a\xfe.txt");
  const LogFiles found = find_log_files({folder_, folder_ / "2025-01-01_\xff\xc3"});
  ASSERT_EQ(found.files.size(), 1U) << "one file, by two paths";
  EXPECT_EQ(found.files[0].folder, "2025-01-01_\uFFFD\uFFFD");
  EXPECT_EQ(found.files[0].name, "a\uFFFD.txt");
  EXPECT_EQ(read_log_file(found.files[0].path).problem, std::nullopt);
}

TEST_F(LogFilesTest, LinksThatLoopAndSpecialFilesDoNoHarm) {
  write("logs/a.txt", "hello");
  fs::create_directory_symlink(folder_, folder_ / "logs" / "loop");
  fs::create_symlink(folder_ / "logs/self.txt", folder_ / "logs/self.txt");
  fs::create_symlink("a.txt", folder_ / "logs/link.txt");
  ASSERT_EQ(mkfifo((folder_ / "logs/pipe.txt").c_str(), 0600), 0);
  fs::create_directory(folder_ / "logs/folder.txt");
  const LogFiles found = find_log_files({folder_});
  EXPECT_EQ(found.files.size(), 2U) << "the file and the link to it";
  EXPECT_EQ(read_log_file(folder_ / "logs/pipe.txt").trouble, core::InputTrouble::kNoFile);
  EXPECT_EQ(read_log_file(folder_ / "logs/folder.txt").trouble, core::InputTrouble::kNoFile);
  EXPECT_EQ(read_log_file(folder_ / "logs/self.txt").trouble, core::InputTrouble::kUnreadable);
  const LogReading link = read_log_file(folder_ / "logs/link.txt");
  EXPECT_EQ(link.problem, std::nullopt);
  EXPECT_EQ(link.log.bytes, 5U);
  EXPECT_EQ(link.log.digest, core::digest_of("hello"));
}

TEST_F(LogFilesTest, AHugeLineCostsNoMemory) {
  write("huge.txt", log_text());
  const fs::path file = folder_ / "huge.txt";
  const std::uint64_t written = fs::file_size(file);
  fs::resize_file(file, std::uint64_t{256} << 20);  // one line of zeros, which take no space
  const std::int64_t before = core::peak_memory_bytes();
  const LogReading reading = read_log_file(file);
  EXPECT_LT(core::peak_memory_bytes() - before, std::int64_t{100} << 20);
  ASSERT_EQ(reading.problem, std::nullopt);
  ASSERT_EQ(reading.log.runs.size(), 1U);
  EXPECT_EQ(reading.log.runs.front().final_validation()->loss, 3.2785);
  EXPECT_EQ(reading.log.problems, std::vector<LogProblem>{LogProblem::kLongLine});
  EXPECT_GT(reading.log.bytes, written);
}

TEST_F(LogFilesTest, ReadsEveryByte) {
  std::string bytes(100'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  for (const std::string& text : {bytes, std::string(), bytes + bytes.substr(0, 1234)}) {
    const LogReading reading = read_log_file(write("a.txt", text));
    EXPECT_EQ(reading.problem, std::nullopt);
    EXPECT_EQ(reading.log.bytes, text.size());
    EXPECT_EQ(reading.log.digest, core::digest_of(text));
  }
}

TEST_F(LogFilesTest, APathThatIsNotThereIsAnError) {
  EXPECT_REFUSED_AS(core::refusal_of([&] { find_log_files({folder_ / "none"}); }), core::ErrorCode::kNotFound,
                    core::Reason::kMissingFile, (folder_ / "none").string());
}

TEST_F(LogFilesTest, AFolderThatCannotBeReadIsAProblemAndTheOthersCount) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  write("open/a.txt");
  write("closed/b.txt");
  fs::permissions(folder_ / "closed", fs::perms::none);
  const LogFiles found = find_log_files({folder_});
  EXPECT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.problems.size(), 1U);
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
}

}  // namespace
}  // namespace nanobench::results

// Which lines of a log are the source that the script has written into it.
#include "suites/external/quoted_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace nanobench::suites {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExample = "step:4/4 val_loss:1.0000 train_time:1ms step_avg:0.25ms";

struct SourceFile {
  explicit SourceFile(const std::string& text)
      : path(fs::temp_directory_path() / ("nanobench_quoted_" + std::to_string(getpid()) + ".py")) {
    std::ofstream(path) << text;
  }
  ~SourceFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  fs::path path;
};

/// The lines of the log that are taken for the source's.
std::vector<std::size_t> quoted_lines(const std::string& source, const std::vector<std::string>& log) {
  const SourceFile file(source);
  QuotedSource quoted({file.path, file.path.string() + ".missing"});
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (quoted.contains(log[i])) found.push_back(i);
  }
  return found;
}

TEST(QuotedSource, IsALineThatFollowsTheSameLineInBoth) {
  const std::string source = std::string("form:\n\n") + kExample + "\npeak memory allocated: 3 MiB\nend\n";
  const std::vector<std::size_t> both = {1, 2};
  EXPECT_EQ(quoted_lines(source, {"form:", kExample, "peak memory allocated: 3 MiB", "end", kExample}), both);
  EXPECT_TRUE(quoted_lines(source, {"other:", kExample}).empty());
  EXPECT_TRUE(quoted_lines("", {"form:", kExample}).empty());
}

TEST(QuotedSource, AScriptThatOnlyPrintsSuchLinesIsATrainer) {
  const std::string script = std::string("cat <<END\nstep:0/4 val_loss:9.0\n") + kExample + "\nEND\n";
  EXPECT_TRUE(quoted_lines(script, {"step:0/4 val_loss:9.0", kExample}).empty());
}

}  // namespace
}  // namespace nanobench::suites

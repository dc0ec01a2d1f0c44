// Runs of an external trainer side by side on seats.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/base/json.h"
#include "tests/tools/run_command_line.h"

namespace nanobench::tools {
namespace {

/// Writes down when it began and ended, and where. Seat 1 takes twice as long a step.
constexpr const char* kSeatTrainer =
    "echo \"$1 $2 $SEAT begin $MASTER_PORT\" >>\"$LOG\"\n"
    "sleep 0.4\n"
    "ms=$((1000 + 1000 * SEAT))\n"
    "echo \"step:0/4 val_loss:10.8 train_time:0ms step_avg:nanms\"\n"
    "echo \"step:4/4 val_loss:3.$1 train_time:$((4 * ms))ms step_avg:$ms.00ms\"\n"
    "echo \"$1 $2 $SEAT end\" >>\"$LOG\"\n";

constexpr const char* kSeatSuite = R"({"name": "seats", "design": "leave_one_out", "seeds": [1, 2, 3, 4],
  "engine": {"command": ["sh", "train.sh", "{feature:a}", "{seed}"], "env": {"LOG": "LOGFILE"},
    "seats": [{"env": {"SEAT": "0"}}, {"env": {"SEAT": "1"}}],
    "features": {"a": {"values": ["2", "1"]}}}})";

struct Line {
  std::string cell, seed, seat, what, port;
};

class SeatsCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    shell_.write("train.sh", kSeatTrainer);
    std::string suite = kSeatSuite;
    suite.replace(suite.find("LOGFILE"), 7, log().string());
    shell_.write("suite.json", suite);
  }
  std::filesystem::path log() const { return shell_.work() / "log.txt"; }
  std::vector<Line> lines() const {
    std::ifstream in(log());
    std::vector<Line> all;
    for (std::string text; std::getline(in, text);) {
      std::istringstream words(text);
      Line line;
      words >> line.cell >> line.seed >> line.seat >> line.what >> line.port;
      all.push_back(line);
    }
    return all;
  }
  const CommandLine shell_{"seats"};
};

TEST_F(SeatsCommand, SeedsKeepTheirSeatsAndRunSideBySide) {
  const ProgramResult result = shell_.run({"run", "suite.json", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  std::map<std::string, int> running;  // by seat
  int most_at_once = 0;
  std::set<std::string> ports;
  for (const Line& line : lines()) {
    EXPECT_EQ(line.seat, std::to_string(std::stoi(line.seed) % 2));
    running[line.seat] += line.what == "begin" ? 1 : -1;
    EXPECT_LE(running[line.seat], 1) << "one run on a seat";
    most_at_once = std::max(most_at_once, running["0"] + running["1"]);
    EXPECT_EQ(line.port.empty(), line.what == "end");
  }
  EXPECT_EQ(most_at_once, 2);
  EXPECT_EQ(lines().size(), 16U) << "two cells, four seeds, two lines each";
}

TEST_F(SeatsCommand, ASeatsSpeedIsInNoDifference) {
  const ProgramResult result = shell_.run({"run", "suite.json", "--json", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err << result.out;
  const core::Json rows = json_of(result).at("tables").at("rows");
  EXPECT_EQ(rows.at(0).at("step_ms").at("mean"), 1500.0) << "two seeds on each seat";
  EXPECT_NEAR(rows.at(1).at("speed_up").at("value").get<double>(), 1.0, 1e-12) << rows.dump(1);
}

TEST_F(SeatsCommand, SeatsAndJobsExcludeEachOther) {
  EXPECT_EQ(shell_.run({"run", "suite.json", "--jobs", "2"}).exit_code, 2);
  EXPECT_EQ(shell_.run({"run", "suite.json", "--times", "turns"}).exit_code, 2);
}

}  // namespace
}  // namespace nanobench::tools

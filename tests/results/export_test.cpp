#include "results/export.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>

#include "core/base/json.h"
#include "results/metric.h"
#include "results/output_file.h"
#include "store_fixture.h"

namespace nanobench::results {
namespace {

using core::ErrorCode;
using core::Json;

constexpr const char* kHostile = "=cmd|' /C calc'!A0,\"two\"\nlines\x01";

/// Rows and fields of RFC 4180, read the slow and plain way.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (is_quoted) {
      if (text[i] != '"')
        field += text[i];
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        is_quoted = false;
    } else if (text[i] == '"') {
      is_quoted = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      rows.emplace_back(1);
      ++i;
    } else {
      field += text[i];
    }
  }
  EXPECT_EQ(rows.back(), std::vector<std::string>(1)) << "the last line has no end";
  rows.pop_back();
  return rows;
}

/// CRC-32C bit by bit, from its definition.
std::uint32_t slow_crc(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  return crc ^ 0xffffffff;
}

/// A reader of event files that shares nothing with the writer: only the fields that it knows may be there.
class EventReader {
 public:
  explicit EventReader(std::string bytes) : bytes_(std::move(bytes)) {}

  struct Event {
    double wall_time = 0;
    std::int64_t step = 0;
    std::string version;
    std::map<std::string, float> scalars;
  };

  std::vector<Event> events() {
    std::vector<Event> list;
    while (at_ < bytes_.size()) list.push_back(event(record()));
    return list;
  }

 private:
  template <class Number>
  static Number fixed(const std::string& bytes, std::size_t at) {
    Number value;
    std::memcpy(&value, bytes.data() + at, sizeof value);  // the test machines are little endian, as the format is
    return value;
  }
  static std::uint32_t unmasked(std::uint32_t value) {
    value -= 0xa282ead8;
    return (value >> 17) | (value << 15);
  }

  std::string record() {
    const auto length = fixed<std::uint64_t>(bytes_, at_);
    EXPECT_EQ(unmasked(fixed<std::uint32_t>(bytes_, at_ + 8)), slow_crc(bytes_.substr(at_, 8)));
    const std::string message = bytes_.substr(at_ + 12, length);
    EXPECT_EQ(unmasked(fixed<std::uint32_t>(bytes_, at_ + 12 + length)), slow_crc(message));
    at_ += 16 + length;
    return message;
  }

  static std::uint64_t varint(const std::string& bytes, std::size_t& at) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  static std::string chunk(const std::string& bytes, std::size_t& at) {
    const std::uint64_t length = varint(bytes, at);
    at += length;
    return bytes.substr(at - length, length);
  }

  static Event event(const std::string& message) {
    Event event;
    for (std::size_t at = 0; at < message.size();) {
      const std::uint64_t key = varint(message, at);
      if (key == (1 << 3 | 1)) {
        event.wall_time = fixed<double>(message, at);
        at += 8;
      } else if (key == (2 << 3 | 0)) {
        event.step = static_cast<std::int64_t>(varint(message, at));
      } else if (key == (3 << 3 | 2)) {
        event.version = chunk(message, at);
      } else if (key == (5 << 3 | 2)) {
        read_summary(chunk(message, at), event);
      } else {
        ADD_FAILURE() << "unknown field " << key;
        return event;
      }
    }
    return event;
  }

  static void read_summary(const std::string& summary, Event& event) {
    for (std::size_t at = 0; at < summary.size();) {
      EXPECT_EQ(varint(summary, at), std::uint64_t{1 << 3 | 2});
      const std::string value = chunk(summary, at);
      std::size_t inner = 0;
      EXPECT_EQ(varint(value, inner), std::uint64_t{1 << 3 | 2});
      const std::string tag = chunk(value, inner);
      EXPECT_EQ(varint(value, inner), std::uint64_t{2 << 3 | 5});
      event.scalars[tag] = fixed<float>(value, inner);
      EXPECT_EQ(inner + 4, value.size());
    }
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

class ExportTest : public StoreTest {
 protected:
  ExportTest() : store_(file()) {
    const std::int64_t id = claim(store_, new_run("a", "record12", 1));
    RunBatch batch;
    batch.samples[kTrainLoss] = {{0, 5.5}, {1, 1.0 / 3}, {300, std::numeric_limits<double>::quiet_NaN()}};
    batch.samples[kStepMs] = {{0, 50}, {1, 20}, {300, 30}};
    batch.samples[kClockMs] = {{1, 20}, {300, 2500}};
    batch.messages = {{RunMessageKind::kNote, kHostile}};
    batch.facts = {{"used/user_ms", "3000"}, {"used/system_ms", "1000"}};
    store_.set_environment(id, {{"cores", "2"}, {"cpu_model", "Test"}});
    store_.finish_run(id, completed(3.25), batch);
    store_.finish_run(claim(store_, new_run("b", "record12", 2)), completed(3.5),
                      {{{kStepMs, {{0, 40}}}, {kClockMs, {{0, 40}}}}, {}, {}});
    store_.finish_run(claim(store_, new_run("c", kHostile, 1)),
                      {.outcome = core::RunOutcome::kCrashed, .message = kHostile});
    claim(store_, new_run("d", "record14", 1));
  }

  std::string text_of(void (*write)(const Store&, const std::vector<std::int64_t>&, std::ostream&)) const {
    std::ostringstream out;
    write(store_, {1, 2, 3, 4}, out);
    return out.str();
  }

  Store store_;
};

TEST_F(ExportTest, CsvHasARowARunAndDisarmsText) {
  const auto rows = read_csv(text_of(export_csv));
  ASSERT_EQ(rows.size(), 5u);
  std::map<std::string, std::size_t> column;
  for (std::size_t i = 0; i < rows[0].size(); ++i) column[rows[0][i]] = i;
  for (const auto& row : rows) ASSERT_EQ(row.size(), rows[0].size());
  const auto at = [&](std::size_t row, const char* name) { return rows[row][column.at(name)]; };
  EXPECT_EQ(at(1, "run"), "1");
  EXPECT_EQ(at(1, "outcome"), "completed");
  EXPECT_EQ(at(1, "final_val_loss"), "3.25");
  EXPECT_EQ(at(1, "median_step_ms"), "25");
  EXPECT_EQ(std::stod(at(1, "mean_step_ms")), 1000.5 / 90);
  EXPECT_EQ(at(1, "data_floor_nats"), "") << "unknown is empty";
  EXPECT_EQ(at(3, "outcome"), "crashed");
  EXPECT_EQ(at(3, "cell"), "'=cmd|' /C calc'!A0,\"two\"\nlines ");
  EXPECT_EQ(at(3, "final_val_loss"), "");
  EXPECT_EQ(at(4, "outcome"), "running");
}

TEST_F(ExportTest, SamplesReadBackBitForBit) {
  const auto rows = read_csv(text_of(export_samples_csv));
  ASSERT_EQ(rows.size(), 1u + 3 + 3 + 2 + 2);
  bool is_seen = false;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 7u);
    if (row[4] != kTrainLoss || row[5] != "1") continue;
    is_seen = true;
    EXPECT_EQ(std::stod(row[6]), 1.0 / 3);
  }
  EXPECT_TRUE(is_seen);
  EXPECT_EQ(text_of(export_samples_csv).find("nan"), std::string::npos);
}

TEST_F(ExportTest, JsonIsComplete) {
  const Json json = Json::parse(text_of(export_json));
  EXPECT_EQ(json.at("schema_version"), kExportSchemaVersion);
  ASSERT_EQ(json.at("runs").size(), 4u);
  const Json& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("samples").at(kTrainLoss).at("values").at(1).get<double>(), 1.0 / 3);
  EXPECT_TRUE(run.at("samples").at(kTrainLoss).at("values").at(2).is_null());
  EXPECT_EQ(run.at("samples").at(kTrainLoss).at("steps"), Json({0, 1, 300}));
  EXPECT_EQ(run.at("environment").at("cpu_model"), "Test");
  EXPECT_EQ(run.at("facts").at("used/user_ms"), "3000");
  EXPECT_EQ(run.at("messages").at(0).at("text"), kHostile);
  EXPECT_TRUE(run.at("config").is_object());
  EXPECT_EQ(json.at("runs").at(2).at("cell"), kHostile);
  EXPECT_TRUE(json.at("runs").at(3).at("final_val_loss").is_null());
}

TEST_F(ExportTest, GoogleBenchmarkHasARepetitionARun) {
  std::ostringstream out;
  EXPECT_EQ(export_google_benchmark(store_, {1, 2, 3, 4}, out), 2) << "crashed and running ones have no time";
  const Json json = Json::parse(out.str());
  EXPECT_EQ(json.at("context").at("num_cpus"), 2);
  ASSERT_EQ(json.at("benchmarks").size(), 2u);
  const Json& first = json.at("benchmarks").at(0);
  EXPECT_EQ(first.at("name"), "history/record12");
  EXPECT_EQ(first.at("run_type"), "iteration");
  EXPECT_EQ(first.at("repetitions"), 2);
  EXPECT_EQ(first.at("repetition_index"), 0);
  EXPECT_EQ(first.at("iterations"), 90);
  EXPECT_EQ(first.at("real_time"), 1000.5 / 90) << "the whole clock";
  EXPECT_EQ(first.at("median_step_ms"), 25.0);
  EXPECT_EQ(first.at("cpu_time"), 40.0) << "4 s of CPU time in 100 steps";
  EXPECT_EQ(first.at("time_unit"), "ms");
  EXPECT_EQ(first.at("loss"), 3.25);
  EXPECT_EQ(first.at("peak_bytes"), 123456789);
  EXPECT_EQ(json.at("benchmarks").at(1).at("repetition_index"), 1);
  EXPECT_EQ(json.at("benchmarks").at(1).at("cpu_time"), 1000.5 / 90) << "not recorded: as the real time";
}

TEST_F(ExportTest, TensorBoardFilesReadBack) {
  export_tensorboard(store_, {1, 3}, folder_);
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "_cmd____C_calc__A0__two__lines_-seed1-run3"));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "record12-seed1-run1")) files.push_back(entry);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].filename().string().rfind("events.out.tfevents.", 0), 0u);
  std::ifstream in(files[0], std::ios::binary);
  const auto events = EventReader({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}).events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_GT(events[0].wall_time, 1.6e9);
  EXPECT_EQ(events[1].step, 0);
  EXPECT_EQ(events[1].scalars.at(kTrainLoss), 5.5f);
  EXPECT_FALSE(events[1].scalars.contains(kClockMs));
  EXPECT_EQ(events[2].step, 1);
  EXPECT_EQ(events[2].scalars.at(kTrainLoss), static_cast<float>(1.0 / 3));
  EXPECT_EQ(events[3].step, 300);
  EXPECT_TRUE(std::isnan(events[3].scalars.at(kTrainLoss)));
  EXPECT_NEAR(events[3].wall_time - events[0].wall_time, 2.5, 1e-5) << "the training clock";
}

TEST(EventFile, ChecksumIsCastagnolis) {
  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST(CsvField, QuotesAndDisarms) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  for (const char* formula : {"=1+1", "+1", "-1", "@SUM(A1)", "\tx"})
    EXPECT_EQ(csv_field(formula), "'" + std::string(formula));
  EXPECT_EQ(csv_field("caf\xc3\xa9 \xff \xc3\x28"), "caf\xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd(");
  EXPECT_EQ(csv_field(std::string("a\0b\x1b[31m", 8)), "a b [31m");
}

TEST_F(StoreTest, AnOutputFileAppearsWholeOrNotAtAll) {
  std::ofstream(folder_ / "x.csv") << "old";
  { OutputFile(folder_ / "x.csv").stream() << "half"; }
  std::string text;
  std::ifstream(folder_ / "x.csv") >> text;
  EXPECT_EQ(text, "old");
  {
    OutputFile out(folder_ / "x.csv");
    out.stream() << "new";
    out.commit();
  }
  std::ifstream(folder_ / "x.csv") >> text;
  EXPECT_EQ(text, "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "nothing else is left";
  refused_as(ErrorCode::kIo, [&] { OutputFile out(folder_ / "none" / "x.csv"); });
}

}  // namespace
}  // namespace nanobench::results

#include "core/process/streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>

namespace nanobench::core {
namespace {

using std::chrono::duration;

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

TEST(Fd, ClosesItselfOnce) {
  Pipe pipe = make_pipe();
  const int read = pipe.read.get(), write = pipe.write.get();
  EXPECT_TRUE(is_open(read));
  EXPECT_EQ(fcntl(read, F_GETFD), FD_CLOEXEC);
  Fd moved = std::move(pipe.read);
  EXPECT_FALSE(pipe.read.is_open());
  moved = std::move(pipe.write);
  EXPECT_FALSE(is_open(read)) << "what it held before";
  EXPECT_TRUE(is_open(write));
  moved.reset();
  EXPECT_FALSE(is_open(write));
}

TEST(Streams, AvailableBytesAreNeverWaitedFor) {
  Pipe pipe = make_pipe();
  EXPECT_EQ(read_available(pipe.read), "") << "the descriptor blocks";
  EXPECT_TRUE(pipe.read.is_open());
  EXPECT_TRUE(write_all(pipe.write.get(), "ab"));
  EXPECT_EQ(read_available(pipe.read), "ab");
  write_all(pipe.write.get(), "c");
  pipe.write.reset();
  EXPECT_EQ(read_available(pipe.read), "c");
  EXPECT_EQ(read_available(pipe.read), "");
  EXPECT_FALSE(pipe.read.is_open()) << "the end of the stream";
  EXPECT_EQ(read_available(pipe.read), "");
}

TEST(Streams, WritingEndsWithItsReader) {
  const auto former = signal(SIGPIPE, SIG_IGN);
  Pipe pipe = make_pipe();
  pipe.read.reset();
  EXPECT_FALSE(write_all(pipe.write.get(), "x"));
  EXPECT_TRUE(write_all(pipe.write.get(), ""));
  signal(SIGPIPE, former);
}

TEST(Streams, WaitsForTheFirstThatIsReady) {
  Pipe a = make_pipe(), b = make_pipe();
  const auto wait = [&] { return wait_readable({a.read.get(), -1, b.read.get()}, duration<double>(0.01)); };
  EXPECT_EQ(wait(), std::nullopt);
  write_all(b.write.get(), "x");
  EXPECT_EQ(wait(), 2U);
  a.write.reset();
  EXPECT_EQ(wait(), 0U) << "the end of a stream can be read";
  EXPECT_EQ(wait_readable({-1}, duration<double>(-5)), std::nullopt) << "no time left";
}

TEST(LineCutter, CutsAndDropsWhatIsTooLong) {
  LineCutter cutter;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& bytes) {
    cutter.add(bytes, [&](std::string_view line) { lines.emplace_back(line); });
  };
  add("one\ntw");
  add("o\r\n");
  add(std::string(LineCutter::kMaxLine, 'x'));
  EXPECT_FALSE(cutter.is_dropping());
  add("x");
  EXPECT_TRUE(cutter.is_dropping());
  EXPECT_EQ(cutter.rest(), "");
  add("still the long line\nthree\nrest");
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two\r", "three"}));
  EXPECT_FALSE(cutter.is_dropping());
  EXPECT_EQ(cutter.rest(), "rest");
  EXPECT_EQ(cutter.take_rest(), "rest");
  EXPECT_EQ(cutter.take_rest(), "");
}

TEST(TextTail, KeepsTheEnd) {
  TextTail tail;
  tail.add("begin");
  for (int i = 0; i < 1000; ++i) tail.add(std::string(100, 'x'));
  tail.add("end");
  EXPECT_GE(tail.text().size(), TextTail::kMinBytes);
  EXPECT_LE(tail.text().size(), 2 * TextTail::kMinBytes);
  EXPECT_EQ(tail.text().substr(tail.text().size() - 4), "xend");
}

}  // namespace
}  // namespace nanobench::core

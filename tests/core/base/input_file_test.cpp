#include "core/base/input_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "core/base/atomic_write.h"
#include "core/base/digest.h"

namespace nanobench::core {
namespace {

constexpr InputLimit kSmall{1000, "no example is larger"};

std::string problem_text(const std::filesystem::path& file, const InputLimit& limit = kSmall) {
  std::string text;
  const auto problem = read_input(file, limit, text);
  return problem ? problem->text : "(none)";
}

class InputFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return folder_.path() / name;
  }
  TemporaryFolder folder_{"input"};
};

TEST_F(InputFiles, AFileIsReadWhole) {
  EXPECT_EQ(read_input(write("a", "text\n"), kSmall), "text\n");
  EXPECT_EQ(read_input(write("empty", ""), kSmall), "");
  const std::string longest(1000, 'x');
  EXPECT_EQ(read_input(write("longest", longest), kSmall), longest) << "the limit itself is allowed";
  const std::string large(300'000, 'y');
  EXPECT_EQ(read_input(write("large", large), kAnySize), large);
}

TEST_F(InputFiles, WhatIsNoRegularFileIsRefusedAtOnce) {
  const std::filesystem::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(problem_text(pipe), "is a named pipe, expected a file") << "nobody writes to it";
  EXPECT_EQ(problem_text("/dev/zero"), "is a device, expected a file");
  EXPECT_EQ(problem_text(folder_.path()), "is a folder, expected a file");
  const std::filesystem::path link = folder_.path() / "link";
  std::filesystem::create_symlink("/dev/zero", link);
  EXPECT_EQ(problem_text(link), "is a device, expected a file");
  EXPECT_FALSE(read_beginning(pipe));
  EXPECT_EQ(first_line_of("/dev/zero"), "");
  EXPECT_THROW(digest_of_file(pipe), Error);
}

TEST_F(InputFiles, ASocketIsRefused) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = (folder_.path() / "socket").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, name.c_str());
  ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(problem_text(name), "is a socket, expected a file");
  close(descriptor);
}

TEST_F(InputFiles, TheLimitIsGivenWithItsReason) {
  EXPECT_EQ(problem_text(write("b", std::string(1001, 'x'))),
            "has 1,001 bytes, expected at most 1,000 bytes: no example is larger");
  // Kernel files have no size until they are read.
  EXPECT_EQ(problem_text("/proc/self/smaps", {10, "no example is larger"}),
            "grows while it is read, expected at most 10 bytes: no example is larger");
}

TEST_F(InputFiles, MissingAndUnreadableHaveTheirCodes) {
  const auto code_of = [](const std::filesystem::path& file) {
    InputFile in;
    const auto problem = in.open(file, kSmall);
    return problem ? problem->code() : ErrorCode::kInternal;
  };
  EXPECT_EQ(code_of(folder_.path() / "none"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(write("file", "") / "below"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(folder_.path()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(std::string(5000, 'x')), ErrorCode::kIo);
  try {
    InputFile in(folder_.path() / "none");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), (folder_.path() / "none").string() + " does not exist");
  }
}

TEST_F(InputFiles, WithoutFreeDescriptorsTheReasonIsNamed) {
  const std::filesystem::path file = write("a", "text");
  rlimit former = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &former), 0);
  rlimit none = former;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string problem = problem_text(file);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &former), 0);
  EXPECT_EQ(problem, "cannot be read: Too many open files");
}

TEST_F(InputFiles, PiecesAreReadWhereverTheyAre) {
  const InputFile in(write("a", "0123456789"));
  std::string piece(4, ' ');
  EXPECT_TRUE(in.read_at(3, piece.data(), 4));
  EXPECT_EQ(piece, "3456");
  EXPECT_FALSE(in.read_at(7, piece.data(), 4)) << "beyond the end";
  EXPECT_FALSE(in.read_at(std::uint64_t{1} << 63, piece.data(), 1));
}

TEST_F(InputFiles, AFileThatGrowsStopsAtTheLimit) {
  const std::filesystem::path file = write("a", std::string(900, 'x'));
  InputFile in(file, kSmall);
  std::ofstream(file, std::ios::app) << std::string(900, 'y');
  std::string piece(4096, ' ');
  const auto read_all = [&] {
    while (in.read(piece.data(), piece.size()) > 0) continue;
  };
  EXPECT_THROW(read_all(), Error);
}

TEST_F(InputFiles, BeginningsAndFirstLines) {
  const std::filesystem::path file = write("a", "first line\nsecond\n");
  EXPECT_EQ(read_beginning(file, 5).value(), "first");
  EXPECT_EQ(read_beginning(file).value(), "first line\nsecond\n");
  EXPECT_EQ(first_line_of(file), "first line");
  EXPECT_EQ(first_line_of(file, 3), "fir");
  EXPECT_EQ(first_line_of(write("b", "no end")), "no end");
  EXPECT_EQ(first_line_of(folder_.path() / "none"), "");
  EXPECT_FALSE(first_line_of("/proc/self/stat").empty());
}

TEST_F(InputFiles, MovingKeepsTheFileOpen) {
  InputFile first(write("a", "text"));
  InputFile second(std::move(first));
  InputFile third;
  third = std::move(second);
  std::string text(10, ' ');
  EXPECT_EQ(third.read(text.data(), text.size()), 4U);
  EXPECT_EQ(third.size(), 4U);
}

}  // namespace
}  // namespace nanobench::core

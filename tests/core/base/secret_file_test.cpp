#include "core/base/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::core {
namespace {

namespace fs = std::filesystem;

class SecretFile : public ::testing::Test {
 protected:
  fs::path written(const std::string& name, const std::string& text, mode_t mode) const {
    const fs::path file = folder_.path() / name;
    std::ofstream(file, std::ios::binary) << text;
    chmod(file.c_str(), mode);
    return file;
  }

  static Refused reading(const fs::path& file) {
    return refusal_of([&] { read_secret_file(file); });
  }

  const TemporaryFolder folder_{"secret"};
};

constexpr const char* kText = "0123456789abcdef0123456789abcdef";

TEST_F(SecretFile, IsMadeForItsOwnerAlone) {
  const fs::path file = folder_.path() / "secret";
  create_secret_file(file);
  struct stat facts {};
  ASSERT_EQ(stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(read_secret_file(file).size(), 64U);
  EXPECT_THROW(create_secret_file(file), Error) << "nobody's file is overwritten";
  const fs::path other = folder_.path() / "other";
  create_secret_file(other);
  EXPECT_NE(read_secret_file(file), read_secret_file(other));
}

TEST_F(SecretFile, NewlinesAtTheEndDoNotCount) {
  EXPECT_EQ(read_secret_file(written("a", std::string(kText) + "\r\n \n", 0600)), kText);
  EXPECT_EQ(read_secret_file(written("b", kText, 0400)), kText);
}

TEST_F(SecretFile, OneThatOthersMayReadIsRefused) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0666U}) {
    const fs::path file = written("shared" + std::to_string(mode), kText, mode);
    EXPECT_REFUSED_AS(reading(file), ErrorCode::kInvalidArgument, Reason::kOpenToOthers, file.string());
    EXPECT_TRUE(reading(file).names("chmod 600 " + file.string())) << "the command that helps";
  }
}

TEST_F(SecretFile, OneOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const fs::path file = written("foreign", kText, 0600);
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_REFUSED_AS(reading(file), ErrorCode::kInvalidArgument, Reason::kForeignOwner, file.string());
}

TEST_F(SecretFile, LengthsAreLimited) {
  for (const std::string& text : {std::string(), std::string("fifteen letters\n"), std::string(4097, 'a')}) {
    const fs::path file = written("other_length", text, 0600);
    EXPECT_REFUSED_AS(reading(file), ErrorCode::kInvalidArgument, Reason::kWrongLength, file.string());
    EXPECT_TRUE(reading(file).names("16") && reading(file).names("4096")) << reading(file).message;
  }
  EXPECT_EQ(read_secret_file(written("longest", std::string(4096, 'a'), 0600)).size(), 4096U);
}

TEST_F(SecretFile, WhatIsNoRegularFileIsRefusedAtOnce) {
  const fs::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& file : {pipe, folder_.path(), fs::path("/dev/zero")})
    EXPECT_REFUSED_AS(reading(file), ErrorCode::kInvalidArgument, Reason::kNotAFile, file.string());
  EXPECT_REFUSED_AS(reading("/nowhere/secret"), ErrorCode::kIo, Reason::kSystem, "/nowhere/secret");
}

/// A variable of the environment for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_F(SecretFile, AllWhoAskForTheUsersOwnGetTheSame) {
  const Variable cache("XDG_CACHE_HOME", folder_.path());
  std::vector<std::string> secrets(8);
  std::vector<std::thread> threads;
  for (std::string& secret : secrets) threads.emplace_back([&secret] { secret = own_secret(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(secrets.begin(), secrets.end()).size(), 1U);
  EXPECT_EQ(own_secret(), secrets.front());
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path() / "nanobench")) ++files;
  EXPECT_EQ(files, 1) << "no drafts stay";
}

TEST_F(SecretFile, WithoutAHomeTheUsersOwnIsInAFolderClosedToOthers) {
  const Variable cache("XDG_CACHE_HOME", "/proc/no-folder-here"), temporary("TMPDIR", folder_.path());
  const std::string secret = own_secret();
  const fs::path place = folder_.path() / ("nanobench-" + std::to_string(geteuid()));
  EXPECT_EQ(read_secret_file(place / "secret"), secret);
  chmod(place.c_str(), 0777);
  const Refused refused = refusal_of([] { own_secret(); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kUnavailable, Reason::kNoSafePlace, "") << "others may write to that folder";
  EXPECT_TRUE(refused.names(kSecretFileVariable)) << refused.message;
}

TEST_F(SecretFile, TheUsersOwnIsRefusedWhenOthersMayReadIt) {
  const Variable cache("XDG_CACHE_HOME", folder_.path());
  own_secret();
  chmod((folder_.path() / "nanobench" / "secret").c_str(), 0644);
  EXPECT_REFUSAL(own_secret(), Reason::kOpenToOthers, (folder_.path() / "nanobench" / "secret").string());
}

}  // namespace
}  // namespace nanobench::core

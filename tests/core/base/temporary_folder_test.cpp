#include "core/base/atomic_write.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesAwayWithItsFiles) {
  fs::path path;
  {
    const TemporaryFolder folder("test"), other("test");
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(path.filename().string().rfind("nanobench-test-", 0), 0U) << path;
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "b" / "file") << "text";
    EXPECT_EQ(fs::status(path).permissions() & fs::perms::others_all, fs::perms::none) << "it is its owner's";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, SaysWhereNoneCanBeMade) {
  const char* const before = std::getenv("TMPDIR");
  const std::optional<std::string> kept = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  setenv("TMPDIR", "/no/such/place", 1);
  try {
    const TemporaryFolder folder("test");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("/no/such/place"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("TMPDIR"), std::string::npos) << error.what();
  }
  if (kept) {
    setenv("TMPDIR", kept->c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
}

}  // namespace
}  // namespace nanobench::core

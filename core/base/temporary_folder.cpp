#include "core/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

constexpr const char* kRemedy = "set TMPDIR to a folder that is yours";

[[noreturn]] void fail(const std::string& place, const std::string& reason, const std::string& remedy) {
  throw Error(ErrorCode::kIo, "cannot make a folder in " + place + ": " + reason + "; " + remedy);
}

std::filesystem::path systems_place() {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::temp_directory_path(error);
  const char* const asked = std::getenv("TMPDIR");
  if (error) fail(asked != nullptr ? asked : "/tmp", error.message(), kRemedy);
  return place;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& purpose) : TemporaryFolder(purpose, systems_place(), kRemedy) {}

TemporaryFolder::TemporaryFolder(const std::string& purpose, const std::filesystem::path& place,
                                 const std::string& remedy) {
  std::string name = (place / ("nanobench-" + purpose + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) fail(place.string(), std::strerror(errno), remedy);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nanobench::core

#include "core/data/checkpoint_header.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "core/base/atomic_write.h"
#include "core/base/error.h"
#include "core/data/safetensors_header.h"

namespace nanobench::core {
namespace {

const CheckpointHeader kHeader{.step = 125, .engine_version = "0.2.0+abc", .spec = {{"seed", 3}}};

TEST(CheckpointHeader, RoundTrips) {
  const auto read = checkpoint_header(to_metadata(kHeader), "x");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->step, 125);
  EXPECT_EQ(read->engine_version, "0.2.0+abc");
  EXPECT_EQ(read->spec, kHeader.spec);
}

TEST(CheckpointHeader, OtherFilesAreNone) {
  EXPECT_FALSE(checkpoint_header({}, "x"));
  EXPECT_FALSE(checkpoint_header({{"format", "pt"}}, "x"));
}

TEST(CheckpointHeader, IncompleteOnesAndNewerVersionsAreRefused) {
  for (const auto& [key, value] : to_metadata(kHeader)) {
    if (key == "format") continue;
    std::map<std::string, std::string> cut = to_metadata(kHeader);
    cut.erase(key);
    EXPECT_THROW(checkpoint_header(cut, "x"), Error) << key;
  }
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"version", "2"}, {"version", "one"}, {"step", "-1"}, {"step", "1x"}, {"run_spec", "{"}}) {
    std::map<std::string, std::string> changed = to_metadata(kHeader);
    changed[key] = value;
    EXPECT_THROW(checkpoint_header(changed, "x"), Error) << key << " " << value;
  }
}

TEST(CheckpointHeader, AFileNeedsAllOfItsBytes) {
  const TemporaryFolder folder("checkpoint_header");
  const std::filesystem::path file = folder.path() / "c.safetensors";
  const std::string header = safetensors_header({{.name = "w", .dtype = "F32", .shape = {2}}}, to_metadata(kHeader));
  write_file_atomically(file, header + std::string(8, '\1'));
  EXPECT_EQ(read_checkpoint_header(file).step, 125);
  write_file_atomically(file, header + std::string(7, '\1'));
  EXPECT_THROW(read_checkpoint_header(file), Error);
  write_file_atomically(file, safetensors_header({}, {}));
  EXPECT_THROW(read_checkpoint_header(file), Error);
}

TEST(CheckpointHeader, StateHasASlashInItsName) {
  EXPECT_TRUE(is_checkpoint_state("optimizer/0/1"));
  EXPECT_FALSE(is_checkpoint_state("blocks.0.attn.qkvo_w"));
}

}  // namespace
}  // namespace nanobench::core

#include "core/base/digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

TEST(Digest, IsXxh3OfTheBytes) {
  // XXH3-128 of the empty input, from the algorithm's published test vectors.
  EXPECT_EQ(digest_of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(digest_of("a"), digest_of("b"));
}

TEST(Digest, PiecesGiveTheDigestOfTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i);
  Digest digest;
  for (std::size_t at = 0; at < text.size(); at += 777) {
    const std::string piece = text.substr(at, 777);
    digest.update(piece.data(), piece.size());
  }
  EXPECT_EQ(digest.hex(), digest_of(text));
}

TEST(Digest, OfAFileIsThatOfItsBytes) {
  const auto file = std::filesystem::temp_directory_path() / "nanobench_digest_test.bin";
  const std::string text(3 << 20, 'q');  // longer than one read buffer
  std::ofstream(file, std::ios::binary) << text;
  EXPECT_EQ(digest_of_file(file), digest_of(text));
  std::filesystem::remove(file);
  EXPECT_THROW(digest_of_file(file), Error);
}

}  // namespace
}  // namespace nanobench::core

#include "core/base/base64.h"

#include <gtest/gtest.h>

namespace nanobench::core {
namespace {

TEST(Base64, KnownTexts) {  // RFC 4648, section 10
  const std::pair<const char*, const char*> kKnown[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kKnown) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, AllBytesAtAllPlaces) {
  std::string bytes;
  for (int i = 0; i < 3 * 256; ++i) bytes += static_cast<char>(i % 256);
  EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
}

TEST(Base64, OtherTextIsRefused) {
  for (const char* text : {"Zg=", "Zg", "Z===", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n", "Zg=v", "-_-_"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace nanobench::core

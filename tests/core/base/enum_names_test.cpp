#include "core/base/enum_names.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace nanobench {
namespace fruits {

enum class Fruit { kApple, kPear, kFig };
NB_ENUM_NAMES(Fruit, {Fruit::kApple, "apple"}, {Fruit::kPear, "pear"});

}  // namespace fruits

namespace {

using fruits::Fruit;

TEST(EnumNames, WriteAndReadByOneTable) {
  EXPECT_EQ(enum_name(Fruit::kPear), "pear");
  EXPECT_EQ(enum_value<Fruit>("apple"), Fruit::kApple);
  EXPECT_EQ(enum_value<Fruit>("Apple"), std::nullopt);
  EXPECT_EQ(enum_name(Fruit::kFig), "?") << "not in the table";
  EXPECT_EQ(enum_names<Fruit>(), (std::vector<std::string>{"apple", "pear"}));
}

TEST(EnumNames, AreReadFromJson) {
  const core::Json json = {{"fruit", "pear"}, {"other", "peer"}};
  core::JsonObject object(json, "f.json");
  EXPECT_EQ(object.enumeration<Fruit>("fruit"), Fruit::kPear);
  EXPECT_EQ(object.enumeration_or("absent", Fruit::kApple), Fruit::kApple);
  try {
    object.enumeration<Fruit>("other");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_STREQ(error.what(), "f.json: /other: expected \"apple\" or \"pear\", got \"peer\" (did you mean \"pear\"?)");
  }
}

}  // namespace
}  // namespace nanobench

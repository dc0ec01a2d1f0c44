#include "core/base/json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "core/base/error.h"

namespace nanobench::core {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

class JsonFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("nanobench_json_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& text) {
    const auto file = folder_ / "a.json";
    std::ofstream(file) << text;
    return file;
  }
  std::filesystem::path folder_;
};

TEST(Json, MalformedTextNamesSourceLineAndColumn) {
  const std::string message = message_of([] { parse_json("{\n  \"a\": 1,\n}", "suite.json"); });
  EXPECT_NE(message.find("suite.json"), std::string::npos) << message;
  EXPECT_NE(message.find("line 3"), std::string::npos) << message;
}

TEST(Json, CommentsAndTrailingTextAreRefused) {
  EXPECT_THROW(parse_json("{} // note", "x"), Error);
  EXPECT_THROW(parse_json("{} {}", "x"), Error);
  EXPECT_THROW(parse_json("", "x"), Error);
}

TEST(Json, RepeatedKeyIsAnError) {
  const std::string message = message_of([] { parse_json(R"({"a": {"seeds": 1, "seeds": 2}})", "x.json"); });
  EXPECT_NE(message.find("\"seeds\" appears twice"), std::string::npos) << message;
}

TEST(Json, SameKeyInDifferentObjectsIsFine) {
  EXPECT_NO_THROW(parse_json(R"({"a": {"k": 1}, "b": {"k": 2}, "c": [{"k": 3}, {"k": 4}]})", "x"));
}

TEST_F(JsonFile, MissingFileAndFolderAreNamed) {
  EXPECT_NE(message_of([&] { read_json_file(folder_ / "none.json"); }).find("none.json"), std::string::npos);
  EXPECT_NE(message_of([&] { read_json_file(folder_); }).find("is a folder"), std::string::npos);
}

TEST_F(JsonFile, ReadsAFile) {
  EXPECT_EQ(read_json_file(write(R"({"a": [1, 2.5, null]})")).dump(), R"({"a":[1,2.5,null]})");
}

TEST(NearestName, FindsMisspellingsAndRejectsStrangers) {
  const std::vector<std::string> known = {"num_layers", "num_heads", "model_dim"};
  EXPECT_EQ(nearest_name("num_layer", known), "num_layers");
  EXPECT_EQ(nearest_name("modeldim", known), "model_dim");
  EXPECT_EQ(nearest_name("xyzzy", known), std::nullopt);
  EXPECT_EQ(nearest_name("anything", {}), std::nullopt);
  EXPECT_EQ(suggestion("num_layer", known), " (did you mean \"num_layers\"?)");
  EXPECT_EQ(suggestion("xyzzy", known), "");
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(as_utf8("a\xff"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(as_utf8("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(safe_dump(Json{{"k", "\xff"}}), "{\"k\":\"\xef\xbf\xbd\"}");
  EXPECT_EQ(safe_dump(Json{{"k", 1}}, 1), "{\n \"k\": 1\n}");
}

TEST(JsonObject, NamedStringsAreReadByName) {
  const Json value = parse_json(R"({"o": {"a": "1", "b": ""}, "n": {"a": 1}, "l": ["a"]})", "x.json");
  JsonObject object(value, "x.json");
  EXPECT_EQ(object.named_strings_or_empty("o"), (std::map<std::string, std::string>{{"a", "1"}, {"b", ""}}));
  EXPECT_TRUE(object.named_strings_or_empty("absent").empty());
  EXPECT_EQ(message_of([&] { object.named_strings_or_empty("n"); }).rfind("x.json: /n/a: ", 0), 0U);
  EXPECT_EQ(message_of([&] { object.named_strings_or_empty("l"); }).rfind("x.json: /l: ", 0), 0U);
  EXPECT_NO_THROW(object.finish());
}

TEST(JsonObject, UnknownKeyNamesPointerAndNearestKey) {
  const Json value = parse_json(R"({"model": {"num_layer": 3}})", "c.json");
  JsonObject object(value, "c.json");
  JsonObject model = object.object("model");
  model.integer_or("num_layers", 12, 1, 100);
  const std::string message = message_of([&] { model.finish(); });
  EXPECT_NE(message.find("c.json: /model/num_layer"), std::string::npos) << message;
  EXPECT_NE(message.find("num_layers"), std::string::npos) << message;
}

TEST(JsonObject, PointerEscapesSlashAndTilde) {
  const Json value = Json::object();
  const JsonObject object(value, "x", "/a");
  EXPECT_EQ(object.pointer_to("b/c~d"), "/a/b~1c~0d");
}

TEST(JsonObject, WrongTypesSayWhatWasExpectedAndGot) {
  const Json value = parse_json(R"({"n": "12", "s": 1, "b": 0, "l": [1], "f": 1.5})", "x.json");
  JsonObject object(value, "x.json");
  EXPECT_NE(message_of([&] { object.integer("n", 0, 9); }).find("/n: expected a whole number, got \"12\""),
            std::string::npos);
  EXPECT_NE(message_of([&] { object.integer("f", 0, 9); }).find("expected a whole number, got 1.5"), std::string::npos);
  EXPECT_NE(message_of([&] { object.string("s"); }).find("expected a string, got 1"), std::string::npos);
  EXPECT_NE(message_of([&] { object.boolean_or("b", true); }).find("expected true or false, got 0"), std::string::npos);
  EXPECT_NE(message_of([&] { object.strings_or_empty("l"); }).find("list of strings"), std::string::npos);
  EXPECT_NE(message_of([&] { object.number("s2", 0, 1); }).find("\"s2\" is missing"), std::string::npos);
}

TEST(JsonObject, RangesAreChecked) {
  const Json value = parse_json(R"({"n": 11, "whole": 3.0, "huge": 18446744073709551615, "x": 1.5})", "x.json");
  JsonObject object(value, "x.json");
  EXPECT_NE(message_of([&] { object.integer("n", 0, 10); }).find("expected 0 to 10, got 11"), std::string::npos);
  EXPECT_EQ(object.integer("whole", 0, 10), 3);
  EXPECT_THROW(object.integer("huge", 0, INT64_MAX), Error);
  EXPECT_THROW(object.number("x", 0.0, 1.0), Error);
  EXPECT_DOUBLE_EQ(object.number("x", 0.0, 2.0), 1.5);
}

TEST(JsonObject, HugeFloatIsOutOfRangeNotUndefined) {
  const Json value = parse_json(R"({"n": 1e300, "m": -1e300})", "x.json");
  JsonObject object(value, "x.json");
  EXPECT_THROW(object.integer("n", 0, 10), Error);
  EXPECT_THROW(object.integer("m", 0, 10), Error);
}

TEST(JsonObject, LongValuesAreShortenedInMessages) {
  const Json value = {{"n", std::string(500, 'x')}};
  JsonObject object(value, "x.json");
  EXPECT_LT(message_of([&] { object.integer("n", 0, 10); }).size(), 150U);
}

TEST(JsonObject, NotAnObjectIsAnError) {
  const Json value = Json::array();
  EXPECT_NE(message_of([&] { JsonObject(value, "x.json", "/a"); }).find("x.json: /a: expected an object"),
            std::string::npos);
}

}  // namespace
}  // namespace nanobench::core

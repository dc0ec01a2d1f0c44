#include "core/base/json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

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

TEST(Json, WholeNumbersAreReadExactlyOrNotAtAll) {
  const auto reason = [](const char* text, auto zero) {
    return message_of([&] { read_values("x", [&] { return json_or_null(text).get<decltype(zero)>(); }); });
  };
  for (const char* text : {"9e100", "-9e100", "9223372036854775808", "9.223372036854776e18", "3.5", "-0.5"}) {
    EXPECT_EQ(reason(text, std::int64_t{}).find("x: the number must be whole and from -9223372036854775808 to"), 0U)
        << text << ": " << reason(text, std::int64_t{});
  }
  EXPECT_NE(reason("-1", std::uint64_t{}).find("from 0 to 18446744073709551615, but is -1"), std::string::npos);
  EXPECT_NE(reason("2147483648", int{}).find("but is 2147483648"), std::string::npos);
  EXPECT_NE(reason("true", int{}).find("type must be number, but is boolean"), std::string::npos);
  EXPECT_EQ(json_or_null("3.0").get<int>(), 3);
  EXPECT_EQ(json_or_null("-9223372036854775808").get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(json_or_null("18446744073709551615").get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json_or_null("[1, 2.0]").get<std::vector<int>>(), (std::vector<int>{1, 2}));
  EXPECT_THROW(json_or_null("[1, 2.5]").get<std::vector<int>>(), Json::type_error);
  EXPECT_THROW(json_or_null(R"({"a": 2.5})").value("a", 1), Json::type_error);
  EXPECT_THROW(ordered_json_or_null("1e99").get<int>(), OrderedJson::type_error);
}

TEST(Json, AnIntegerOfJsonIsOneThatFits) {
  EXPECT_EQ(integer_of<std::int64_t>(json_or_null("-7")), -7);
  EXPECT_EQ(integer_of<std::int64_t>(json_or_null("9223372036854775807")), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"9223372036854775808", "18446744073709551615", "3.0", "1e3", "true", "\"3\"", "null", "[3]"})
    EXPECT_EQ(integer_of<std::int64_t>(json_or_null(text)), std::nullopt) << text;
  EXPECT_EQ(integer_of<int>(json_or_null("2147483648")), std::nullopt);
  EXPECT_EQ(integer_of<std::uint64_t>(json_or_null("-1")), std::nullopt);
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

std::string nested(std::size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Json, DepthIsLimited) {
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth, "[", "]"), "x"));
  for (const std::size_t depth : {kMaxJsonDepth + 1, std::size_t{100'000}}) {
    const std::string expected = "x.json: lists and objects lie in each other more than 100 deep";
    EXPECT_EQ(message_of([&] { parse_json(nested(depth, "[", "]"), "x.json"); }), expected);
    EXPECT_EQ(message_of([&] { parse_json(nested(depth, "{\"a\":", "}"), "x.json"); }), expected);
    EXPECT_EQ(message_of([&] { parse_ordered_json(nested(depth, "[", "]"), "x.json"); }), expected);
    EXPECT_TRUE(json_or_null(nested(depth, "[", "]")).is_null());
  }
  EXPECT_NE(message_of([] { parse_json(std::string(1'000'000, '['), "x.json"); }).find("deep"), std::string::npos);
}

TEST(Json, NumbersBeyondDoublesAreErrors) {
  EXPECT_EQ(message_of([] { parse_json("{\n\"a\": 1e999}", "x.json"); }),
            "x.json: the number 1e999 at line 2 is too large; the largest is about 1.8e308");
  const std::string message = message_of([] { parse_json("[" + std::string(400, '9') + "]", "x.json"); });
  EXPECT_NE(message.find("x.json: the number 999"), std::string::npos) << message;
  EXPECT_LT(message.size(), 200U);
  EXPECT_NE(message_of([] { parse_json("-1e999", "x.json"); }).find("-1e999"), std::string::npos);
  EXPECT_TRUE(json_or_null("1e999").is_null());
  EXPECT_EQ(parse_json("1e-999", "x"), 0.0);
}

TEST(Json, EveryKindOfValueIsBuilt) {
  const std::string text =
      R"({"a":[1,-2,2.5,true,false,null,"s",[],{}],"b":{"c":{"d":[[1],[2,{"e":3}]]}},"u":18446744073709551615,"z":""})";
  EXPECT_EQ(parse_json(text, "x").dump(), text);
  EXPECT_EQ(parse_json(text, "x"), Json::parse(text));
  EXPECT_EQ(parse_json(" 7 ", "x"), 7);
  const std::string unsorted = R"({"z":1,"a":{"y":[1,{"x":2,"b":3}],"c":4}})";
  EXPECT_EQ(parse_ordered_json(unsorted, "x").dump(), unsorted);
  EXPECT_EQ(ordered_json_or_null(unsorted).dump(), unsorted);
}

TEST(Json, OrderedObjectsHaveALimitOfKeys) {
  const auto object_of = [](int keys) {
    std::string text = "{\"first\":0";
    for (int i = 1; i < keys; ++i) text += ",\"" + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_EQ(parse_ordered_json(object_of(10'000), "x").size(), 10'000U);
  EXPECT_NE(message_of([&] { parse_ordered_json(object_of(10'001), "x"); }).find("more than 10000 keys"),
            std::string::npos);
  EXPECT_NE(message_of([] { parse_ordered_json(R"({"a":1,"a":2})", "x"); }).find("twice"), std::string::npos);
}

TEST(Json, ForeignTextIsAValueOrNull) {
  for (const char* bad : {"", "{", "[1,]", "nul", "{\"a\":1,\"a\":2}", "\"\xff\"", "1 2"})
    EXPECT_TRUE(json_or_null(bad).is_null()) << bad;
  EXPECT_EQ(json_or_null("{\"a\":1}").at("a"), 1);
}

TEST(Json, ValuesOfAWrongTypeAreOneSentence) {
  const Json value = parse_json(R"({"a": "text"})", "x");
  EXPECT_EQ(message_of([&] { read_values("line 3", [&] { return value.at("a").get<int>(); }); }),
            "line 3: type must be number, but is string");
  EXPECT_NE(message_of([&] { read_values("line 3", [&] { return value.at("b").get<int>(); }); }).find("'b' not found"),
            std::string::npos);
  EXPECT_EQ(read_values("line 3", [&] { return value.at("a").get<std::string>(); }), "text");
  EXPECT_EQ(string_in(value, "a"), "text");
  EXPECT_EQ(string_in(value, "b", "none"), "none");
  EXPECT_EQ(string_in(Json(3), "b", "none"), "none");
}

TEST_F(JsonFile, ALargeFileIsRefusedWithTheReason) {
  const std::filesystem::path file = write("[" + std::string(17U << 20, ' ') + "]");
  const std::string message = message_of([&] { read_json_file(file); });
  EXPECT_NE(message.find(
                "has 17,825,794 bytes, expected at most 16 MiB: no suite, configuration or catalogue entry is larger"),
            std::string::npos)
      << message;
  EXPECT_TRUE(read_json_file(file, kJsonExchange).empty());
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
  for (const char* edge : {"9223372036854775808.0", "-9223372036854775809e1", "9.3e18"}) {
    const Json one = parse_json("{\"n\": " + std::string(edge) + "}", "x.json");
    JsonObject of_edge(one, "x.json");
    EXPECT_THROW(of_edge.integer("n", INT64_MIN, INT64_MAX), Error) << edge;
  }
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

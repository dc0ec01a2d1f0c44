#include "core/base/json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "core/base/error.h"
#include "tests/core/base/refusal_support.h"

namespace nanobench::core {
namespace {

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
  const Refused refused = refusal_of([] { parse_json("{\n  \"a\": 1,\n}", "suite.json"); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kInvalidArgument, Reason::kMalformed, "suite.json");
  EXPECT_TRUE(refused.names("suite.json") && refused.names("line 3")) << "the parser's own words: " << refused.message;
}

TEST(Json, WholeNumbersAreReadExactlyOrNotAtAll) {
  const auto reading = [](const char* text, auto zero) {
    return refusal_of([&] { read_values("x", [&] { return json_or_null(text).get<decltype(zero)>(); }); });
  };
  for (const char* text : {"9e100", "-9e100", "9223372036854775808", "9.223372036854776e18", "3.5", "-0.5"}) {
    EXPECT_REFUSED_AS(reading(text, std::int64_t{}), ErrorCode::kInvalidArgument, Reason::kUnfit, "x") << text;
    EXPECT_TRUE(reading(text, std::int64_t{}).names("-9223372036854775808")) << "the range";
  }
  const auto fails_with = [&](const Refused& refused, const std::vector<std::string>& data) {
    EXPECT_REFUSED(refused, Reason::kUnfit, "x");
    for (const std::string& datum : data) EXPECT_TRUE(refused.names(datum)) << refused.message;
  };
  fails_with(reading("-1", std::uint64_t{}), {"18446744073709551615", "-1"});
  fails_with(reading("2147483648", int{}), {"2147483648"});
  fails_with(reading("true", int{}), {"number", "boolean"});
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
  const Refused refused = refusal_of([] { parse_json(R"({"a": {"seeds": 1, "seeds": 2}})", "x.json"); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kInvalidArgument, Reason::kRepeated, "x.json");
  EXPECT_TRUE(refused.names("\"seeds\"")) << refused.message;
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
    EXPECT_REFUSAL(parse_json(nested(depth, "[", "]"), "x.json"), Reason::kTooDeep, "x.json");
    EXPECT_REFUSAL(parse_json(nested(depth, "{\"a\":", "}"), "x.json"), Reason::kTooDeep, "x.json");
    EXPECT_REFUSAL(parse_ordered_json(nested(depth, "[", "]"), "x.json"), Reason::kTooDeep, "x.json");
    EXPECT_TRUE(json_or_null(nested(depth, "[", "]")).is_null());
  }
  EXPECT_REFUSAL(parse_json(std::string(1'000'000, '['), "x.json"), Reason::kTooDeep, "x.json");
  EXPECT_TRUE(refusal_of([] { parse_json(std::string(1000, '['), "x.json"); }).names(std::to_string(kMaxJsonDepth)));
}

TEST(Json, NumbersBeyondDoublesAreErrors) {
  const Refused second_line = refusal_of([] { parse_json("{\n\"a\": 1e999}", "x.json"); });
  EXPECT_REFUSED_AS(second_line, ErrorCode::kInvalidArgument, Reason::kTooLarge, "x.json");
  EXPECT_TRUE(second_line.names("1e999") && second_line.names(" 2 ")) << second_line.message;
  const Refused digits = refusal_of([] { parse_json("[" + std::string(400, '9') + "]", "x.json"); });
  EXPECT_REFUSED(digits, Reason::kTooLarge, "x.json");
  EXPECT_TRUE(digits.names("999")) << digits.message;
  EXPECT_LT(digits.message.size(), 200U);
  EXPECT_TRUE(refusal_of([] { parse_json("-1e999", "x.json"); }).names("-1e999"));
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
  EXPECT_REFUSAL(parse_ordered_json(object_of(10'001), "x"), Reason::kTooMany, "x");
  EXPECT_REFUSAL(parse_ordered_json(R"({"a":1,"a":2})", "x"), Reason::kRepeated, "x");
}

TEST(Json, ForeignTextIsAValueOrNull) {
  for (const char* bad : {"", "{", "[1,]", "nul", "{\"a\":1,\"a\":2}", "\"\xff\"", "1 2"})
    EXPECT_TRUE(json_or_null(bad).is_null()) << bad;
  EXPECT_EQ(json_or_null("{\"a\":1}").at("a"), 1);
}

TEST(Json, ValuesOfAWrongTypeAreOneSentence) {
  const Json value = parse_json(R"({"a": "text"})", "x");
  const Refused text = refusal_of([&] { read_values("line 3", [&] { return value.at("a").get<int>(); }); });
  EXPECT_REFUSED_AS(text, ErrorCode::kInvalidArgument, Reason::kUnfit, "line 3");
  EXPECT_EQ(text.message.rfind("line 3: ", 0), 0U) << text.message;
  EXPECT_TRUE(text.names("number") && text.names("string") && !text.names("json.exception")) << text.message;
  const Refused absent = refusal_of([&] { read_values("line 3", [&] { return value.at("b").get<int>(); }); });
  EXPECT_REFUSED(absent, Reason::kUnfit, "line 3");
  EXPECT_TRUE(absent.names("'b'")) << absent.message;
  EXPECT_EQ(read_values("line 3", [&] { return value.at("a").get<std::string>(); }), "text");
  EXPECT_EQ(string_in(value, "a"), "text");
  EXPECT_EQ(string_in(value, "b", "none"), "none");
  EXPECT_EQ(string_in(Json(3), "b", "none"), "none");
}

TEST_F(JsonFile, ALargeFileIsRefusedWithTheReason) {
  const std::filesystem::path file = write("[" + std::string(17U << 20, ' ') + "]");
  const Refused refused = refusal_of([&] { read_json_file(file); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kInvalidArgument, Reason::kTooLarge, file.string());
  EXPECT_TRUE(refused.names("17,825,794") && refused.names("16 MiB") && refused.names(kJsonDocument.reason))
      << refused.message;
  EXPECT_TRUE(read_json_file(file, kJsonExchange).empty());
}

TEST_F(JsonFile, MissingFileAndFolderAreNamed) {
  EXPECT_REFUSED_AS(refusal_of([&] { read_json_file(folder_ / "none.json"); }), ErrorCode::kNotFound,
                    Reason::kMissingFile, (folder_ / "none.json").string());
  EXPECT_REFUSED_AS(refusal_of([&] { read_json_file(folder_); }), ErrorCode::kInvalidArgument, Reason::kNotAFile,
                    folder_.string());
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
  EXPECT_REFUSAL(object.named_strings_or_empty("n"), Reason::kWrongType, "/n/a");
  EXPECT_REFUSAL(object.named_strings_or_empty("l"), Reason::kWrongType, "/l");
  EXPECT_NO_THROW(object.finish());
}

TEST(JsonObject, UnknownKeyNamesPointerAndNearestKey) {
  const Json value = parse_json(R"({"model": {"num_layer": 3}})", "c.json");
  JsonObject object(value, "c.json");
  JsonObject model = object.object("model");
  model.integer_or("num_layers", 12, 1, 100);
  const Refused refused = refusal_of([&] { model.finish(); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kInvalidArgument, Reason::kUnknownKey, "/model/num_layer");
  EXPECT_EQ(refused.source, "c.json");
  EXPECT_EQ(refused.message.rfind("c.json: /model/num_layer: ", 0), 0U) << refused.message;
  EXPECT_TRUE(refused.names("\"num_layers\"")) << refused.message;
}

TEST(JsonObject, PointerEscapesSlashAndTilde) {
  const Json value = Json::object();
  const JsonObject object(value, "x", "/a");
  EXPECT_EQ(object.pointer_to("b/c~d"), "/a/b~1c~0d");
}

TEST(JsonObject, WrongTypesSayWhatWasExpectedAndGot) {
  const Json value = parse_json(R"({"n": "12", "s": 1, "b": 0, "l": [1], "f": 1.5})", "x.json");
  JsonObject object(value, "x.json");
  const auto expect_wrong = [](const Refused& refused, const std::string& pointer, const std::string& got) {
    EXPECT_REFUSED_AS(refused, ErrorCode::kInvalidArgument, Reason::kWrongType, pointer);
    EXPECT_TRUE(refused.names(pointer + ": ") && refused.names(" " + got)) << refused.message;
  };
  expect_wrong(refusal_of([&] { object.integer("n", 0, 9); }), "/n", "\"12\"");
  expect_wrong(refusal_of([&] { object.integer("f", 0, 9); }), "/f", "1.5");
  expect_wrong(refusal_of([&] { object.string("s"); }), "/s", "1");
  expect_wrong(refusal_of([&] { object.boolean_or("b", true); }), "/b", "0");
  expect_wrong(refusal_of([&] { object.strings_or_empty("l"); }), "/l", "1");
  EXPECT_REFUSAL(object.number("s2", 0, 1), Reason::kMissingKey, "/s2");
}

TEST(JsonObject, RangesAreChecked) {
  const Json value = parse_json(R"({"n": 11, "whole": 3.0, "huge": 18446744073709551615, "x": 1.5})", "x.json");
  JsonObject object(value, "x.json");
  const Refused above = refusal_of([&] { object.integer("n", 0, 10); });
  EXPECT_REFUSED_AS(above, ErrorCode::kInvalidArgument, Reason::kOutOfRange, "/n");
  EXPECT_TRUE(above.names("0") && above.names("10") && above.names("11")) << above.message;
  EXPECT_EQ(object.integer("whole", 0, 10), 3);
  EXPECT_REFUSAL(object.integer("huge", 0, INT64_MAX), Reason::kOutOfRange, "/huge");
  EXPECT_REFUSAL(object.number("x", 0.0, 1.0), Reason::kOutOfRange, "/x");
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
  EXPECT_LT(refusal_of([&] { object.integer("n", 0, 10); }).message.size(), 150U);
}

TEST(JsonObject, NotAnObjectIsAnError) {
  const Json value = Json::array();
  const Refused refused = refusal_of([&] { JsonObject(value, "x.json", "/a"); });
  EXPECT_REFUSED_AS(refused, ErrorCode::kInvalidArgument, Reason::kWrongType, "/a");
  EXPECT_EQ(refused.message.rfind("x.json: /a: ", 0), 0U) << refused.message;
}

}  // namespace
}  // namespace nanobench::core

#include "core/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace nanobench::core {
namespace {

TEST(Error, CodesHaveStableNames) {
  EXPECT_STREQ(to_string(ErrorCode::kInvalidArgument), "invalid_argument");
  EXPECT_STREQ(to_string(ErrorCode::kNotFound), "not_found");
  EXPECT_STREQ(to_string(ErrorCode::kConflict), "conflict");
  EXPECT_STREQ(to_string(ErrorCode::kUnavailable), "unavailable");
  EXPECT_STREQ(to_string(ErrorCode::kDataLoss), "data_loss");
  EXPECT_STREQ(to_string(ErrorCode::kIo), "io");
  EXPECT_STREQ(to_string(ErrorCode::kInternal), "internal");
}

TEST(Error, AProgramEndsWithItsExitCode) {
  EXPECT_EQ(exit_code_of(Error(ErrorCode::kNotFound, "")), 2);
  EXPECT_EQ(exit_code_of(Error(ErrorCode::kIncomplete, "")), 4);
  EXPECT_EQ(exit_code_of(Error(ErrorCode::kInternal, "")), 70);
  EXPECT_EQ(exit_code_of(std::out_of_range("")), 70) << "nobody was to throw it";
  EXPECT_EQ(exit_code_of(std::bad_alloc()), 2);
}

TEST(Error, CheckThrowsInternalWithPlaceAndExpression) {
  try {
    NB_CHECK(1 + 1 == 3, "arithmetic");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    const std::string what = error.what();
    EXPECT_NE(what.find("arithmetic"), std::string::npos);
    EXPECT_NE(what.find("1 + 1 == 3"), std::string::npos);
    EXPECT_NE(what.find("error_test.cpp"), std::string::npos);
  }
}

TEST(Error, CheckEvaluatesOnce) {
  int count = 0;
  NB_CHECK(++count == 1, "once");
  EXPECT_EQ(count, 1);
}

TEST(Error, ABugIsThrownOnAndNothingElse) {
  const auto passes = [](ErrorCode code) {
    try {
      throw Error(code, "what");
    } catch (const Error& error) {
      rethrow_internal(error);
    }
  };
  EXPECT_NO_THROW(passes(ErrorCode::kConflict));
  EXPECT_THROW(passes(ErrorCode::kInternal), Error);
}

}  // namespace
}  // namespace nanobench::core

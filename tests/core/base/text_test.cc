// Tests the checks of texts that come from outside.
#include "core/base/text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::HasSubstr;

TEST(ValidUtf8Prefix, EndsWhereTheTextIsNoUtf8) {
  const auto valid = [](const std::string& text) { return ValidUtf8Prefix(text) == text.size(); };
  for (const std::string text : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(valid(text));
  }
  // Overlong forms, surrogates, values beyond the last code point, truncated sequences and lone
  // bytes.
  for (const std::string text : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                 "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc2",
                                 "\xe2\x82", "\xf0\x9f\x8c", "\x80", "\xbf"}) {
    EXPECT_FALSE(valid(text));
  }
  EXPECT_EQ(ValidUtf8Prefix("ab\xff"), 2u);
}

TEST(ValidateText, NamesTheFirstByteAtFault) {
  const auto reason = [](std::string_view text) {
    return std::string(ValidateText("etag", text, 10).message());
  };
  EXPECT_TRUE(ValidateText("etag", "\"a\u00e9\"", 10).ok());
  EXPECT_TRUE(ValidateText("etag", "", 0).ok());
  EXPECT_THAT(reason("a\nb\xff"), HasSubstr("etag: control character at byte 1"));
  EXPECT_THAT(reason("ab\x7f"), HasSubstr("control character at byte 2"));
  EXPECT_THAT(reason("\xff\n"), HasSubstr("etag: not valid UTF-8 at byte 0"));
  EXPECT_THAT(reason("12345678901"), HasSubstr("11 bytes, at most 10"));
}

TEST(ValidateSourceName, TakesSmallLettersDigitsAndAFewSigns) {
  EXPECT_TRUE(ValidateSourceName("sitemap-2.example_com").ok());
  EXPECT_TRUE(ValidateSourceName(std::string(64, 'a')).ok());
  for (const std::string& name : {std::string(), std::string(65, 'a'), std::string("A"),
                                  std::string("a b"), std::string("\xc3\xa9")}) {
    EXPECT_FALSE(ValidateSourceName(name).ok()) << name;
  }
}

}  // namespace
}  // namespace freshet

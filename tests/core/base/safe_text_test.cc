#include "core/base/safe_text.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(SafeText, LeavesPlainTextsAsTheyAre) {
  for (const std::string text :
       {"", "loaded 12 pages in 0.1 s", "C:\\new", "h\u00e9llo \u4e16\u754c \U0001f600"}) {
    EXPECT_EQ(SafeText(text), text);
  }
}

TEST(SafeText, EscapesWhatCouldForgeALine) {
  EXPECT_EQ(SafeText("ok\n2026-01-01T00:00:00Z info forged\r"),
            "ok\\n2026-01-01T00:00:00Z info forged\\r");
  EXPECT_EQ(SafeText("\x1b[31mred\x1b]0;title\x07\x08\x7f"),
            "\\x1b[31mred\\x1b]0;title\\x07\\x08\\x7f");
  EXPECT_EQ(SafeText(std::string("a\0b\tc", 5)), "a\\x00b\\tc");
  // C1 controls (one starts a control sequence), line separators, text directions.
  EXPECT_EQ(SafeText("\u0085\u009b1m\u2028\u2029"), "\\u0085\\u009b1m\\u2028\\u2029");
  EXPECT_EQ(SafeText("evil\u202egpj.exe\u2066\ufeff"), "evil\\u202egpj.exe\\u2066\\ufeff");
}

TEST(SafeText, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(SafeText("a\xff\xfe z"), "a\\xff\\xfe z");
  EXPECT_EQ(SafeText("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(SafeText("cut \xe4\xb8"), "cut \\xe4\\xb8");
}

TEST(SafeJson, EscapesWhatATerminalWouldTakeForACommand) {
  EXPECT_EQ(SafeJson("{\"a\":\"h\u00e9llo\"}"), "{\"a\":\"h\u00e9llo\"}");
  EXPECT_EQ(SafeJson("{\"a\":\"\u009b31m\u009d0;t\u009c\u202e\u2066\x7f\"}"),
            "{\"a\":\"\\u009b31m\\u009d0;t\\u009c\\u202e\\u2066\\u007f\"}");
  EXPECT_EQ(SafeJson("\"\xff\u4e16\xe4\""), "\"\\ufffd\u4e16\\ufffd\"");
}

TEST(CutText, CutsBetweenCharacters) {
  EXPECT_EQ(CutText("\u4e16\u754c", 6), "\u4e16\u754c");
  for (const size_t most : {3, 4, 5}) EXPECT_EQ(CutText("\u4e16\u754c", most), "\u4e16...");
  EXPECT_EQ(CutText("\u4e16", 2), "...");
}

}  // namespace
}  // namespace freshet

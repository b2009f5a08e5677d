#include "server/logs/log_text.h"

#include "core/base/text.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(LogText, LeavesPlainTextsAsTheyAre) {
  for (const std::string text :
       {"", "loaded 12 pages in 0.1 s", "C:\\new", "h\u00e9llo \u4e16\u754c \U0001f600"}) {
    EXPECT_EQ(LogText(text), text);
  }
}

TEST(LogText, EscapesWhatCouldForgeALine) {
  EXPECT_EQ(LogText("ok\n2026-01-01T00:00:00Z info forged\r"),
            "ok\\n2026-01-01T00:00:00Z info forged\\r");
  EXPECT_EQ(LogText("\x1b[31mred\x1b]0;title\x07\x08\x7f"),
            "\\x1b[31mred\\x1b]0;title\\x07\\x08\\x7f");
  EXPECT_EQ(LogText(std::string("a\0b\tc", 5)), "a\\x00b\\tc");
  // C1 controls, among them the one byte of a control sequence; separators of lines; directions.
  EXPECT_EQ(LogText("\u0085\u009b1m\u2028\u2029"), "\\u0085\\u009b1m\\u2028\\u2029");
  EXPECT_EQ(LogText("evil\u202egpj.exe\u2066\ufeff"), "evil\\u202egpj.exe\\u2066\\ufeff");
}

TEST(LogText, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(LogText("a\xff\xfe z"), "a\\xff\\xfe z");
  EXPECT_EQ(LogText("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(LogText("cut \xe4\xb8"), "cut \\xe4\\xb8");
}

TEST(LogText, CutsLongLines) {
  EXPECT_EQ(LogText(std::string(100, 'x'), 10), "xxxxxxxxxx... (100 bytes)");
  EXPECT_EQ(LogText(std::string(10, 'x'), 10), "xxxxxxxxxx");
  EXPECT_LT(LogText(std::string(1 << 20, '\n')).size(), 2 * kMaxLogLineBytes + 100);
}

TEST(LogText, CutsBetweenCharacters) {
  EXPECT_EQ(CutText("\u4e16\u754c", 6), "\u4e16\u754c");
  for (const size_t most : {3, 4, 5}) EXPECT_EQ(CutText("\u4e16\u754c", most), "\u4e16...");
  EXPECT_EQ(CutText("\u4e16", 2), "...");
}

TEST(TimeText, RoundTrips) {
  const Instant at = Instant::FromMicros(1'767'323'045'000'006);
  EXPECT_EQ(TimeText(at), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(ParseTimeText(TimeText(at)), at);
  EXPECT_EQ(TimeText(Instant::FromMicros(-1)), "1969-12-31T23:59:59.999999Z");
  for (const std::string wrong :
       {"", "2026", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006Zx"}) {
    EXPECT_FALSE(ParseTimeText(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace freshet

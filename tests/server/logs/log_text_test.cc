#include "server/logs/log_text.h"

#include "core/base/text.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(LogText, EscapesWhatCouldForgeALine) {
  EXPECT_EQ(LogText("ok\n2026-01-01T00:00:00Z info forged\r"),
            "ok\\n2026-01-01T00:00:00Z info forged\\r");
}

TEST(LogText, CutsLongLines) {
  EXPECT_EQ(LogText(std::string(100, 'x'), 10), "xxxxxxxxxx... (100 bytes)");
  EXPECT_EQ(LogText(std::string(10, 'x'), 10), "xxxxxxxxxx");
  EXPECT_LT(LogText(std::string(1 << 20, '\n')).size(), 2 * kMaxLogLineBytes + 100);
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

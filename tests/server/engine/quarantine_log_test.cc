#include "server/engine/quarantine_log.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/said_lines.h"

namespace freshet {
namespace {

using testing::HasSubstr;

// A client can make a quarantine begin and end again and again, by reporting pages as unchanged and
// as changed in turn.
TEST(QuarantineLog, SaysThatOnesBeginAndEndOnceAMinute) {
  const SaidLines said;
  QuarantineLog log;
  QuarantineNews news;
  news.standing = {.host = "h.test", .signals = 10, .believed = 6, .proved = 5};
  const auto say = [&](int second) {
    for (const bool begun : {true, false}) {
      news.begun = begun;
      log.Say(news, "cdn", Instant::FromUnixSeconds(second));
    }
  };
  for (int second = 0; second < 60; ++second) say(second);
  std::string text = said.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_THAT(text, HasSubstr("source 'cdn' is in quarantine at host h.test: 50% of its signals of "
                              "late stood for a change, 60% were expected to"));
  say(60);
  text = said.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_THAT(text, HasSubstr("trusted again"));
  EXPECT_THAT(text, HasSubstr("(59 more like this were left out)"));
}

}  // namespace
}  // namespace freshet

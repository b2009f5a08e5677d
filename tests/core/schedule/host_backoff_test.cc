#include "core/schedule/host_backoff.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/model/host.h"
#include "core/schedule/http_status.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr HostBackoff kBackoff = {
    .first = Duration::Seconds(30), .longest = Duration::Hours(1), .quiet = Duration::Seconds(600)};

// Records at `now` that a fetch at the same time was throttled.
void Throttle(HostRecord* host, Instant now, Duration asked = {}) {
  NoteThrottled(kBackoff, now, asked, now, host);
}

TEST(HostBackoff, PausesDoubleUpToTheLongest) {
  for (const char* host : {"a.example", "b.example", "c.example"}) {
    Duration before;
    for (int throttles = 1; throttles <= 7; ++throttles) {
      const Duration pause = ThrottlePause(kBackoff, host, throttles);
      const Duration least = kBackoff.first * (int64_t{1} << (throttles - 1));
      EXPECT_GE(pause, least);
      EXPECT_LE(pause * 4, least * 5) << host << " " << throttles;
      EXPECT_GT(pause, before);
      before = pause;
    }
    for (int throttles = 8; throttles <= 255; ++throttles) {
      const Duration pause = ThrottlePause(kBackoff, host, throttles);
      EXPECT_GE(pause * 10, kBackoff.longest * 8);
      EXPECT_LE(pause, kBackoff.longest);
    }
  }
  EXPECT_EQ(ThrottlePause(kBackoff, "a.example", 0), Duration());
  EXPECT_EQ(ThrottlePause({}, "a.example", 3), Duration());
  const HostBackoff constant = {.first = Duration::Seconds(5), .longest = Duration::Seconds(5)};
  EXPECT_EQ(ThrottlePause(constant, "a.example", 9), Duration::Seconds(5));
}

TEST(HostBackoff, HostsThatFailTogetherComeBackApart) {
  std::set<int64_t> pauses;
  std::set<int64_t> asked;
  for (int i = 0; i < 100; ++i) {
    const std::string host = "host" + std::to_string(i) + ".example";
    pauses.insert(ThrottlePause(kBackoff, host, 1).micros());
    const Duration pause = AskedPause(kBackoff, host, Duration::Seconds(60));
    EXPECT_GE(pause, Duration::Seconds(60));
    EXPECT_LE(pause, Duration::Seconds(66));
    asked.insert(pause.micros());
    EXPECT_EQ(pause, AskedPause(kBackoff, host, Duration::Seconds(60)));
  }
  EXPECT_GT(pauses.size(), 90u);
  EXPECT_GT(asked.size(), 90u);
  const Duration year = Duration::Days(366);
  EXPECT_GE(AskedPause(kBackoff, "a.example", year), kBackoff.longest_asked);
  EXPECT_LE(AskedPause(kBackoff, "a.example", year), kBackoff.longest_asked + kBackoff.first)
      << "one page does not keep its whole host away for a year";
  EXPECT_EQ(AskedPause(kBackoff, "a.example", Duration()), Duration());
}

TEST(HostBackoff, EachThrottledAnswerPausesTheHostForLonger) {
  HostRecord host{.host = "a.example"};
  Throttle(&host, At(0));
  EXPECT_EQ(host.throttles, 1);
  EXPECT_EQ(host.last_throttled, At(0));
  EXPECT_EQ(host.blocked_until, At(0) + ThrottlePause(kBackoff, host.host, 1));
  const Instant again = host.blocked_until;
  Throttle(&host, again);
  EXPECT_EQ(host.throttles, 2);
  EXPECT_EQ(host.blocked_until, again + ThrottlePause(kBackoff, host.host, 2));
}

TEST(HostBackoff, WhatAHostAsksForTakesThePlaceOfItsPause) {
  HostRecord host{.host = "a.example"};
  Throttle(&host, At(0), Duration::Seconds(7));
  EXPECT_EQ(host.blocked_until, At(0) + AskedPause(kBackoff, host.host, Duration::Seconds(7)));
  EXPECT_EQ(host.throttles, 1);
  NoteAsked(kBackoff, Duration::Seconds(900), At(1), &host);
  const Instant blocked = host.blocked_until;
  EXPECT_GE(blocked, At(901));
  NoteAsked(kBackoff, Duration::Seconds(10), At(2), &host);
  Throttle(&host, At(3), Duration::Seconds(1));
  EXPECT_EQ(host.blocked_until, blocked) << "a block is never shortened";
}

TEST(HostBackoff, ManyFetchesOfOneMomentCountOnce) {
  HostRecord host{.host = "a.example"};
  Throttle(&host, At(5));
  for (int i = 0; i < 20; ++i) NoteThrottled(kBackoff, At(4), {}, At(6 + i), &host);
  EXPECT_EQ(host.throttles, 1);
  EXPECT_GE(host.blocked_until, At(25 + 30));
  EXPECT_LE(host.blocked_until, At(25 + 38));
}

TEST(HostBackoff, QuietTimeForgives) {
  HostRecord host{.host = "a.example"};
  for (int i = 0; i < 300; ++i) Throttle(&host, std::max(At(0), host.blocked_until));
  EXPECT_EQ(host.throttles, 8)
      << "what pauses no longer is not counted: it would never be forgiven";
  const Instant end = host.blocked_until;
  EXPECT_EQ(ThrottlesAt(kBackoff, host, end), 8);
  EXPECT_EQ(ThrottlesAt(kBackoff, host, end + Duration::Seconds(599)), 8);
  EXPECT_EQ(ThrottlesAt(kBackoff, host, end + Duration::Seconds(600)), 7);
  EXPECT_EQ(ThrottlesAt(kBackoff, host, end + Duration::Seconds(7 * 600)), 1);
  EXPECT_EQ(ThrottlesAt(kBackoff, host, end + Duration::Days(3000)), 0);
  Throttle(&host, end + Duration::Seconds(5 * 600));
  EXPECT_EQ(host.throttles, 4);
  Throttle(&host, end + Duration::Days(30));
  EXPECT_EQ(host.throttles, 1);
}

TEST(HostBackoff, OffItOnlyHeedsWhatIsAskedFor) {
  const HostBackoff off;
  HostRecord host{.host = "a.example"};
  for (int i = 0; i < 5; ++i) NoteThrottled(off, At(i), {}, At(i), &host);
  EXPECT_EQ(host.blocked_until, At(4));
  NoteThrottled(off, At(9), Duration::Seconds(20), At(9), &host);
  EXPECT_EQ(host.blocked_until, At(29));
}

TEST(HostBackoff, TwoStatusesAreAboutTheHost) {
  for (const int status : {429, 503}) EXPECT_TRUE(IsThrottled(status));
  for (const int status : {0, 200, 304, 403, 404, 500, 502, 504}) EXPECT_FALSE(IsThrottled(status));
}

}  // namespace
}  // namespace freshet

#include "core/base/day_hours.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::HasSubstr;

Instant AtMinute(int64_t minute) { return Instant::FromUnixSeconds(minute * 60); }

TEST(DayHours, TextsAreReadAndWrittenAlike) {
  for (const char* text :
       {"22:00-06:00", "08:30-17:45+02:00", "00:00-12:00-03:30", "23:59-24:00", "00:00-24:00"}) {
    const StatusOr<DayHours> hours = ParseDayHours(text);
    ASSERT_TRUE(hours.ok()) << hours.status();
    EXPECT_EQ(DayHoursText(*hours), text);
    EXPECT_TRUE(Validate(*hours).ok());
  }
  EXPECT_EQ(DayHoursText(*ParseDayHours("22:00-06:00Z")), "22:00-06:00");
  EXPECT_EQ(DayHoursText(*ParseDayHours("22:00-00:00")), "22:00-24:00");
  for (const char* text : {"always", "00:00-24:00", "00:00-24:00+05:00"}) {
    EXPECT_EQ(*ParseDayHours(text), DayHours()) << text;
  }
}

TEST(DayHours, WhatIsNoneIsRefused) {
  for (const char* text : {"", "22-6", "22:00", "22:00-", "22:00-6:00", "24:00-06:00",
                           "22:60-06:00", "22:00-24:01", "22:00-06:00+2", "22:00-06:00+14:01",
                           "22:00-06:00 UTC", " 22:00-06:00", "-1:00-06:00", "22:00-06:00+-2:00"}) {
    const StatusOr<DayHours> hours = ParseDayHours(text);
    EXPECT_FALSE(hours.ok()) << text;
  }
  EXPECT_THAT(std::string(ParseDayHours("06:00-06:00").status().message()),
              HasSubstr("is an empty span"));
  EXPECT_LT(ParseDayHours(std::string(1 << 20, '9')).status().message().size(), 200U);
}

// Compares NextOpen() and Has() with a search through every minute.
TEST(DayHours, TheNextOpenInstantIsThatOfTheClock) {
  for (const char* text :
       {"22:00-06:00", "08:30-17:45+02:00", "00:00-12:00-03:30", "23:59-24:00+14:00", "always"}) {
    const DayHours hours = *ParseDayHours(text);
    const auto open = [&](int64_t minute) {
      const int64_t local = ((minute + hours.offset) % 1440 + 1440) % 1440;
      return hours.from < hours.until ? local >= hours.from && local < hours.until
                                      : local >= hours.from || local < hours.until;
    };
    int64_t expected = 5000;
    while (!open(expected)) ++expected;
    for (int64_t minute = 4999; minute >= 0; --minute) {
      if (open(minute)) expected = minute;
      ASSERT_EQ(hours.NextOpen(AtMinute(minute)), AtMinute(expected)) << text << " " << minute;
      const Instant late = AtMinute(minute) + Duration::Micros(59'999'999);
      ASSERT_EQ(hours.Has(late), open(minute)) << text << " " << minute;
    }
    EXPECT_TRUE(hours.NextOpen(Instant::Infinite()).infinite());
  }
}

}  // namespace
}  // namespace freshet

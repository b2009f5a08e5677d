#include "tools/sitemap/feed_date.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet::sitemap {
namespace {

constexpr Instant kTold = Instant::FromUnixSeconds(1'715'934'601);  // 2024-05-17T08:30:01Z
constexpr Instant kMinute = Instant::FromUnixSeconds(1'715'934'600);
constexpr Instant kDay = Instant::FromUnixSeconds(1'715'904'000);

// Expects that the text is exactly this instant: a date with time and time zone.
void ExpectInstant(const std::string& text, Instant instant) {
  const absl::StatusOr<FeedDate> date = ParseFeedDate(text);
  ASSERT_TRUE(date.ok()) << date.status();
  EXPECT_EQ(date->told.micros(), instant.micros()) << text;
  EXPECT_EQ(date->earliest, date->told) << text;
  EXPECT_EQ(date->latest, date->told) << text;
}

TEST(FeedDate, W3cAndIsoForms) {
  for (const char* text :
       {"2024-05-17T08:30:01Z", "2024-05-17t08:30:01z", "2024-05-17T10:30:01+02:00",
        "2024-05-17T10:30:01+0200", "2024-05-17T10:30:01+02", "2024-05-17T03:30:01-05:00",
        "2024-05-17 08:30:01Z", "2024-05-17 08:30:01 +00:00", "2024-05-17T10:30:01 CEST",
        "2024-05-17 08:30:01 UTC", " 2024-05-17T08:30:01Z\n", "20240517T083001Z",
        "20240517T103001+0200", "2024/05/17 08:30:01 GMT", "2024-5-17T8:30:01Z"}) {
    ExpectInstant(text, kTold);
  }
  ExpectInstant("2024-05-17T08:30Z", kMinute);
  ExpectInstant("2024-05-17 10:30+02:00", kMinute);
  ExpectInstant("2024-05-17T08:30:01.5Z", kTold + Duration::Millis(500));
  ExpectInstant("2024-05-17T08:30:01,123456789Z", kTold + Duration::Micros(123456));
  ExpectInstant("2024-05-16T24:00:00Z", kDay);
}

TEST(FeedDate, RfcFormsOfAnyAge) {
  for (const char* text :
       {"Fri, 17 May 2024 08:30:01 GMT", "17 May 2024 08:30:01 +0000",
        "fri, 17 may 2024 08:30:01 gmt", "FRI, 17 MAY 2024 08:30:01 UT",
        "Fri, 17 May 24 08:30:01 GMT", "17 May 24 10:30:01 CEST",
        "Fri, 17 May 2024 10:30:01 +02:00", "Fri,17 May 2024 10:30:01 +0200 (CEST)",
        "Friday, 17-May-24 08:30:01 GMT", "Fri May 17 08:30:01 UTC 2024",
        "Fri, 17 May 2024 04:30:01 EDT", "Friday, May 17, 2024 08:30:01 Z",
        "Fri, 17 May 2024 10:30:01 GMT+2", "Fri, 17 May 2024 10:30:01 GMT+0200",
        "Fri May 17 10:30:01 CEST 2024"}) {
    ExpectInstant(text, kTold);
  }
  ExpectInstant("17 May 2024 08:30 Z", kMinute);
  ExpectInstant("Tue, 10 Jun 2003 00:00 EDT", Instant::FromUnixSeconds(1'055'217'600));
  ExpectInstant("1 Sept 99 00:00:00 GMT", Instant::FromUnixSeconds(936'144'000));
  ExpectInstant("1 September 1999 00:00:00 GMT", Instant::FromUnixSeconds(936'144'000));
}

TEST(FeedDate, ADayIsAnInterval) {
  for (const char* text : {"2024-05-17", "20240517", "17 May 2024", "Fri, 17 May 24"}) {
    const absl::StatusOr<FeedDate> date = ParseFeedDate(text);
    ASSERT_TRUE(date.ok()) << date.status();
    EXPECT_EQ(date->told, kDay) << text;
    EXPECT_EQ(date->earliest, kDay - Duration::Hours(14)) << text;
    EXPECT_EQ(date->latest, kDay + Duration::Hours(36) - Duration::Micros(1)) << text;
  }
  const FeedDate zoned = *ParseFeedDate("2024-05-17Z");
  EXPECT_EQ(zoned.earliest, kDay);
  EXPECT_EQ(zoned.latest, kDay + Duration::Days(1) - Duration::Micros(1));
  const FeedDate month = *ParseFeedDate("2024-05");
  EXPECT_EQ(month.told, Instant::FromUnixSeconds(1'714'521'600));
  EXPECT_EQ(month.latest,
            Instant::FromUnixSeconds(1'717'200'000) + Duration::Hours(12) - Duration::Micros(1));
  const FeedDate year = *ParseFeedDate("2024");
  EXPECT_EQ(year.told, Instant::FromUnixSeconds(1'704'067'200));
  EXPECT_EQ(year.latest,
            Instant::FromUnixSeconds(1'735'689'600) + Duration::Hours(12) - Duration::Micros(1));
}

TEST(FeedDate, WithoutAZoneThatIsKnownItMayBeOfAny) {
  for (const char* text : {"2024-05-17T08:30:01", "2024-05-17 08:30:01", "2024-05-17T08:30:01 IST",
                           "2024-05-17 08:30:01 Europe/Paris", "Fri, 17 May 2024 08:30:01",
                           "Fri May 17 08:30:01 2024", "17 May 2024 08:30:01 XYZ"}) {
    const absl::StatusOr<FeedDate> date = ParseFeedDate(text);
    ASSERT_TRUE(date.ok()) << date.status();
    EXPECT_EQ(date->told, kTold) << text;
    EXPECT_EQ(date->earliest, kTold - Duration::Hours(14)) << text;
    EXPECT_EQ(date->latest, kTold + Duration::Hours(12)) << text;
  }
}

TEST(FeedDate, WhatIsNoDateIsSaidToBeNone) {
  for (const char* text : {"",
                           "soon",
                           "yesterday",
                           "10 Jun",
                           "2024-13-01",
                           "2024-02-30",
                           "2024-05-17T25:00:00Z",
                           "2024-05-17T08:61Z",
                           "0000-01-01",
                           "0000",
                           "20245",
                           "202405",
                           "17/05/2024",
                           "1715934601",
                           "2024-05-17T08:30:01+25:00",
                           "32 May 2024",
                           "2024-05-17T08",
                           "-2024-05-17",
                           "2024-05-17T24:00:01Z",
                           "Fri, 17 May",
                           "May 2024",
                           "2024-05-17T08:30:01.Z"}) {
    const absl::StatusOr<FeedDate> date = ParseFeedDate(text);
    EXPECT_FALSE(date.ok()) << text;
    EXPECT_NE(date.status().message(), "");
  }
  EXPECT_FALSE(ParseFeedDate("2024-05-17" + std::string(200, '0')).ok());
}

}  // namespace
}  // namespace freshet::sitemap

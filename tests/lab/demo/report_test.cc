#include "lab/demo/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/demo/replayed_history.h"
#include "lab/demo/rule_schedule.h"
#include "tests/lab/demo/small_history.h"

namespace freshet::demo {
namespace {

using ::testing::HasSubstr;

const Setting kSetting = {.title = "three.tsv", .timeline = TenDays(), .crawl_rate_per_second = 2};

// Makes the samples of a replay with two useless crawls a day, one sample for each day.
std::vector<Sample> DailySamples(const ReplayedHistory& replayed) {
  std::vector<Sample> samples;
  const LastCrawls crawls = {kWallBegin, kWallBegin, std::nullopt};
  Ledger ledger(replayed, crawls, kWallBegin);
  RuleSchedule uniform("uniform", replayed, crawls, kWallBegin);
  RuleSchedule pings_first("pings_first", replayed, crawls, kWallBegin);
  for (int day = 0; day <= 10; ++day) {
    ledger.AdvanceTo(WallDay(day));
    std::vector<int64_t> at;
    if (day > 0) at = {WallDay(day - 0.5), WallDay(day)};
    const std::vector<KnownPoll> polls(day > 0 ? 1 : 0, {WallDay(day), WallDay(day)});
    uniform.Know(polls);
    uniform.AdvanceTo(WallDay(day), at, 0);
    pings_first.Know(polls);
    pings_first.AdvanceTo(WallDay(day), at, 0);
    samples.push_back({.truth = {.time_micros = WallDay(day),
                                 .pages = ledger.pages(),
                                 .crawls = static_cast<uint64_t>(2 * day),
                                 .changed = static_cast<uint64_t>(day / 2),
                                 .current = ledger.Current(),
                                 .sum = ledger.sum()},
                       .believed = Freshness{.weighted = day <= 5 ? 0.5 : 0.25, .plain = 0.75},
                       .uniform = {uniform.ledger().Current(), uniform.ledger().sum()},
                       .pings_first = {pings_first.ledger().Current(), pings_first.ledger().sum()},
                       .signals = static_cast<uint64_t>(day),
                       .price = 0.5,
                       .unused = {.late = 1000U * static_cast<uint64_t>(day), .page = 7}});
  }
  return samples;
}

TEST(ReportTest, PaceIsPerSecondAndPerCrawl) {
  const CrawlPace pace = PaceBetween({.time_micros = 1'000'000, .crawls = 10, .changed = 4},
                                     {.time_micros = 1'500'000, .crawls = 30, .changed = 9});
  EXPECT_DOUBLE_EQ(pace.crawls_per_second, 40);
  EXPECT_DOUBLE_EQ(pace.changed_share, 0.25);
  const CrawlPace none = PaceBetween({}, {});
  EXPECT_EQ(none.crawls_per_second, 0);
  EXPECT_EQ(none.changed_share, 0);
}

TEST(ReportTest, TableKeepsItsHeightAndNamesItsNumbers) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  const std::vector<Sample> samples = DailySamples(replayed);
  const auto early = TableLines(kSetting, samples[0], samples[1]);
  const auto late = TableLines(kSetting, samples[9], samples[10]);
  EXPECT_EQ(early.size(), late.size());
  std::string text;
  for (const std::string& line : late) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("1997-05-29"));
  EXPECT_THAT(text, HasSubstr("100 %"));
  EXPECT_THAT(text, HasSubstr("87.5 %       66.7 %")) << "b alone is fresh: 1 of 8, and of 3 pages";
  EXPECT_THAT(text, HasSubstr("75.0 %       25.0 %")) << "believed";
  EXPECT_THAT(text, HasSubstr("of 20 crawls"));
}

TEST(ReportTest, StatusLineIsOneLine) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  const std::vector<Sample> samples = DailySamples(replayed);
  const std::string line = StatusLine(kSetting, samples[5], samples[6]);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(line, HasSubstr("1997-05-25       2 crawls/s   50.0 % changed"));
}

TEST(ReportTest, AnnotationsAreOneJsonObjectOfNumbers) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  const std::vector<Sample> samples = DailySamples(replayed);
  const std::string json = AnnotationJson(kSetting, samples[5], samples[6]);
  EXPECT_EQ(json.front(), '{');
  EXPECT_EQ(json.back(), '}');
  EXPECT_THAT(json, HasSubstr("\"true_freshness\":0.333333,"));
  EXPECT_THAT(json, HasSubstr("\"changed_share\":0.5,"));
  EXPECT_THAT(json, HasSubstr("\"history_year\":1997.39"));
}

TEST(ReportTest, SummaryAveragesOverTimeAndPeriods) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  const std::vector<Sample> samples = DailySamples(replayed);
  const std::string text = Summary(kSetting, samples);
  EXPECT_THAT(text, HasSubstr("from 1997-05-19 to 1997-05-29 in 10.0 s: 3 pages"));
  EXPECT_THAT(text, HasSubstr("20 crawls of 10,020 that 2 a second allow, 25.0 % of them"));
  // The weighted freshness is 1 for two days, 1/4 for two days, and then 1/8 (1 of a total weight
  // of 8).
  EXPECT_THAT(text, HasSubstr("Freshet, in truth                      67.5 %"));
  EXPECT_THAT(text, HasSubstr("Freshet, as it believes                62.5 %"));
  // Two crawls a day find every change within one and a half days.
  EXPECT_GT(samples.back().uniform.sum.Mean().weighted, 0.85);
  EXPECT_LT(samples.back().uniform.sum.Mean().weighted, 1);
  EXPECT_GT(samples.back().pings_first.sum.Mean().weighted,
            samples.back().uniform.sum.Mean().weighted);
  EXPECT_THAT(text, HasSubstr("announced pages first *"));
  EXPECT_THAT(text,
              HasSubstr("10,000 for which the server had nothing ready in time, 0 for which"));
  EXPECT_THAT(text, HasSubstr("1997-05-19 to 1997-05-21       0.0 %     50.0 %         0.0 %"));
  EXPECT_THAT(text, HasSubstr("1997-05-26 to 1997-05-29      87.5 %     75.0 %"));
}

TEST(ReportTest, WhatTheServerHasNotComputedYetIsADash) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  std::vector<Sample> samples = DailySamples(replayed);
  for (int day = 0; day <= 5; ++day) samples[day].believed.reset();
  EXPECT_THAT(StatusLine(kSetting, samples[0], samples[1]), HasSubstr("believed       -,"));
  EXPECT_THAT(Summary(kSetting, samples),
              HasSubstr("Freshet, as it believes                75.0 %"));
  for (Sample& sample : samples) sample.believed.reset();
  EXPECT_THAT(Summary(kSetting, samples),
              HasSubstr("Freshet, as it believes                     -"));
}

TEST(ReportTest, GroupsDigits) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace freshet::demo

// Tests `freshet top`: its frames, and its output without a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/fake_server.h"
#include "tools/cli/top_frame.h"

namespace freshet::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TopSample SampleAt(int64_t second, uint64_t assignments) {
  TopSample sample;
  v1::GetStatisticsResponse& now = sample.statistics;
  now.mutable_server()->set_version("0.1.0");
  now.mutable_server()->mutable_start_time()->set_seconds(1'000'000);
  now.mutable_server()->mutable_server_time()->set_seconds(1'000'000 + second);
  now.mutable_server()->set_workers(3);
  now.mutable_pages()->set_pages(1234);
  now.mutable_pages()->set_weighted_believed_freshness(0.75);
  now.mutable_schedule()->set_assignments(assignments);
  now.mutable_schedule()->set_crawl_rate_per_second(50);
  now.mutable_schedule()->set_price(1.5);
  now.mutable_ingest()->set_results_changed(assignments / 2);
  return sample;
}

std::string Text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TopFramesTest, ShowsRatesBetweenSamples) {
  TopFrames frames(true);
  frames.Add(SampleAt(10, 100));
  EXPECT_THAT(Text(frames.Lines({80, 40})), HasSubstr("crawls     - of 50/s"));
  frames.Add(SampleAt(12, 180));
  const std::string text = Text(frames.Lines({80, 40}));
  EXPECT_THAT(text, HasSubstr("crawls     40 of 50/s              █\n"));
  EXPECT_THAT(text, HasSubstr("changes    20/s"));
  EXPECT_THAT(text, HasSubstr("pages 1,234"));
  EXPECT_THAT(text, HasSubstr("workers 3 (0 at their allowance)"));
  EXPECT_THAT(text, HasSubstr("price      1.5"));
  EXPECT_THAT(text, HasSubstr("fresh      75.0% (0.0% plain)"));
  // The server has restarted between the samples, so no rate is known.
  TopSample again = SampleAt(13, 5);
  again.statistics.mutable_server()->mutable_start_time()->set_seconds(1'000'012);
  frames.Add(again);
  EXPECT_THAT(Text(frames.Lines({80, 40})), HasSubstr("crawls     - of 50/s"));
}

TEST(TopFramesTest, ADivisionThatComesAndGoesIsNoRate) {
  TopFrames frames(false);
  frames.Add(SampleAt(10, 100));
  TopSample without = SampleAt(12, 60);
  v1::UnansweredDivision& missing = *without.statistics.add_unanswered();
  missing.set_division(1);
  missing.set_reason("no server serves it");
  frames.Add(without);
  const std::string text = Text(frames.Lines({80, 40}));
  EXPECT_THAT(text, HasSubstr("NOT COUNTED  division 1: no server serves it\n"));
  EXPECT_THAT(text, HasSubstr("crawls     - of 50/s"));
  without.statistics.mutable_server()->mutable_server_time()->set_seconds(1'000'014);
  without.statistics.mutable_schedule()->set_assignments(80);
  frames.Add(without);
  EXPECT_THAT(Text(frames.Lines({80, 40})), HasSubstr("crawls     10 of 50/s"));
  // The division answers again, so the sum contains its earlier crawls again. They were not made in
  // the last two seconds, so no rate is shown.
  frames.Add(SampleAt(16, 9'000));
  EXPECT_THAT(Text(frames.Lines({80, 40})), HasSubstr("crawls     - of 50/s"));
}

TEST(TopFramesTest, SaysWhatIsWrong) {
  TopFrames frames(false);
  TopSample sample = SampleAt(1, 0);
  sample.statistics.mutable_schedule()->set_paused(true);
  sample.statistics.mutable_schedule()->set_pause_reason("new \x1b[2J disk");
  sample.statistics.mutable_store()->set_write_error("disk full");
  sample.sources.emplace_back().set_source("cdn");
  sample.crawls.emplace_back().set_crawl_id("shop");
  v1::HostTrust& bad = sample.quarantined.emplace_back();
  bad.set_host("a.test");
  bad.set_source("cdn");
  bad.mutable_quarantined_since()->set_seconds(1'700'000'000);
  frames.Add(sample);
  const std::string text = Text(frames.Lines({80, 40}));
  EXPECT_THAT(text, HasSubstr("PAUSED  new \\x1b[2J disk\n"));
  EXPECT_THAT(text, HasSubstr("WRITES REFUSED  disk full\n"));
  EXPECT_THAT(text, HasSubstr("  shop\n"));
  EXPECT_THAT(text, HasSubstr("  cdn\n"));
  EXPECT_THAT(text, HasSubstr("in quarantine since 2023-11-14 22:13:20Z: cdn at a.test\n"));
}

TEST(TopFramesTest, FitsTheScreen) {
  TopFrames frames(true);
  for (int i = 0; i < 500; ++i) frames.Add(SampleAt(i, static_cast<uint64_t>(i * i)));
  for (const ScreenSize screen : {ScreenSize{80, 24}, {40, 5}, {10, 3}, {1, 1}, {300, 100}}) {
    const std::vector<std::string> lines = frames.Lines(screen);
    EXPECT_LE(lines.size(), screen.rows);
    for (const std::string& line : lines) {
      const auto width =
          std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_LE(static_cast<size_t>(width), screen.columns);
    }
  }
  EXPECT_EQ(FitLine("a▁b", 2), "a▁");
  EXPECT_EQ(FitLine("ab", 2), "ab");
}

TEST(TopTest, PrintsOneFrameWhereThereIsNoTerminal) {
  FakeServer server;
  server.admin.statistics = SampleAt(5, 10).statistics;
  const Outcome run = server.Run({"top", "--interval", "0.1"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_THAT(run.out, StartsWith("freshet 0.1.0  1970-01-12 13:46:45Z  up 5 s"));
  EXPECT_THAT(run.out, HasSubstr("shop\n")) << "a crawl id";
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
  const auto object = nlohmann::json::parse(server.Run({"top", "--once", "--json"}).out);
  EXPECT_EQ(object["server"]["workers"], 3);
  EXPECT_EQ(object["crawls"][0]["crawl_id"], "shop");
  EXPECT_EQ(object["sources"].size(), 0U) << "the fake has none to tell of";
  EXPECT_EQ(server.Run({"top", "--interval", "0"}).code, kBadUsage);
}

}  // namespace
}  // namespace freshet::cli

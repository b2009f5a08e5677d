// Tests `freshet explain`: its words, its forecast and its curves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "proto/forecast.h"
#include "tests/cli/fake_server.h"
#include "tools/cli/sparkline.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNow = 1'772'359'200;

// Returns the explanation of a page with a staleness of 0.5. Its value is below the price, and will
// reach the price in one day.
v1::Explanation Waiting() {
  v1::Explanation why;
  why.mutable_as_of()->set_seconds(kNow);
  why.set_decision(v1::DECISION_BELOW_PRICE);
  why.set_policy("default");
  why.set_value(20);
  why.set_price(60);
  why.set_staleness(0.5);
  why.set_probability_fresh(std::exp(-0.5));
  why.set_value_share(1);
  why.set_staleness_rate_per_day(0.5);
  // At present, the page changes less often than on average.
  why.mutable_estimates()->set_unsignalled_rate_per_day(0.8);
  why.mutable_estimates()->mutable_change_rate_per_day()->set_value(0.5);
  why.mutable_next_expected_crawl_time()->set_seconds(kNow + 86400);
  for (int i = 0; i < 3; ++i) {
    v1::Observation* crawl = why.add_observations();
    crawl->mutable_fetch_time()->set_seconds(kNow - 86400 * (4 - i));
    if (i > 0) crawl->mutable_elapsed()->set_seconds(86400 * i);
    crawl->set_changed(i == 1);
  }
  return why;
}

TEST(ForecastTest, GoesThroughWhatTheServerSays) {
  const std::vector<ForecastPoint> points = Forecast(Waiting(), 25);
  ASSERT_EQ(points.size(), 25U);
  EXPECT_EQ(points.back().seconds, 86400);
  EXPECT_NEAR(points.front().probability_fresh, std::exp(-0.5), 1e-12);
  EXPECT_NEAR(points.back().probability_fresh, std::exp(-1.0), 1e-12);
  EXPECT_NEAR(points.front().value, 20, 1e-9);
  EXPECT_NEAR(points.back().value, 60, 1e-9);
  for (size_t i = 1; i < points.size(); ++i) EXPECT_GT(points[i].value, points[i - 1].value);
}

TEST(ForecastTest, TakesTheExtremes) {
  v1::Explanation why = Waiting();
  why.set_price(0);  // as under a rate policy
  EXPECT_TRUE(std::isnan(Forecast(why, 2)[1].value));
  why = Waiting();
  why.clear_next_expected_crawl_time();
  EXPECT_EQ(Forecast(why, 2)[1].seconds, 6 * 86400);
  why.set_staleness_rate_per_day(0);
  EXPECT_EQ(Forecast(why, 2)[1].seconds, 366 * 86400);
  EXPECT_NEAR(Forecast(why, 2)[1].value, 20, 1e-9);
  why.set_staleness(std::numeric_limits<double>::infinity());
  EXPECT_EQ(Forecast(why, 2)[1].probability_fresh, 0);
  EXPECT_NEAR(Forecast(why, 2)[1].value, 20, 1e-9);
  why = Waiting();
  why.set_policy("harmonic");
  EXPECT_NEAR(Forecast(why, 2)[0].value, 20, 1e-9);
  EXPECT_GT(Forecast(why, 2)[1].value, 20);
  const std::vector<ForecastPoint> nothing = Forecast(v1::Explanation(), 2);
  EXPECT_EQ(nothing[1].probability_fresh, 1);
  EXPECT_TRUE(std::isnan(nothing[1].value));
}

TEST(SparklineTest, DrawsFromLowToHigh) {
  EXPECT_EQ(Sparkline({0, 1, 7, 9, -1}, 0, 7, true), "▁▂██▁");
  EXPECT_EQ(Sparkline({0, 7, std::nan("")}, 0, 7, false), ".# ");
  EXPECT_EQ(Sparkline({5, 5}, 5, 5, false), "..");
  EXPECT_EQ(Sparkline({}, 0, 1, true), "");
}

TEST(ExplainTest, SaysItInWordsNumbersAndCurves) {
  FakeServer server;
  server.pages.explanation = Waiting();
  setenv("LC_ALL", "C.UTF-8", 1);
  const Outcome run = server.Run({"explain", "http://a.test/", "http://unknown.test/"});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(run.err,
            "freshet: http://unknown.test/: no such page; `freshet upsert` adds a page, and "
            "--crawl-id names another crawl id\n");
  EXPECT_THAT(run.out, HasSubstr("http://a.test/\n  Its value is below the price.\n"));
  EXPECT_THAT(run.out, HasSubstr("changes           0.5 a day"));
  EXPECT_THAT(run.out, HasSubstr("one in 2 d\n"));
  EXPECT_THAT(run.out, HasSubstr("below price       its value to reach the price\n"));
  EXPECT_THAT(run.out, HasSubstr("20 at a price of 60: 33.3% of it (default)\n"));
  EXPECT_THAT(run.out, HasSubstr("2026-03-02 10:00:00Z, in 1 d\n"));
  EXPECT_THAT(run.out, HasSubstr("in the next 1 d, if no signal comes\n"));
  EXPECT_THAT(run.out, HasSubstr("60.7% to 36.8%\n"));
  EXPECT_THAT(run.out, HasSubstr("█  20 to about 60\n"));
  EXPECT_THAT(run.out, HasSubstr("changed           ·●·  ● found a change\n"));
  EXPECT_THAT(run.out, HasSubstr("time between       ▅█  up to 2 d\n"));
  setenv("LC_ALL", "C", 1);
  EXPECT_THAT(server.Run({"explain", "http://a.test/"}).out, HasSubstr("changed           .*.  *"));
  unsetenv("LC_ALL");
}

TEST(ExplainTest, NamesWhatEachDecisionWaitsFor) {
  FakeServer server;
  for (int i = v1::Decision_MIN; i <= v1::Decision_MAX; ++i) {
    v1::Explanation why = Waiting();
    why.set_decision(static_cast<v1::Decision>(i));
    server.pages.explanation = why;
    const Outcome run = server.Run({"explain", "http://a.test/"});
    EXPECT_EQ(run.code, kAccepted);
    const bool known = i != v1::DECISION_UNSPECIFIED;
    EXPECT_EQ(run.out.find("does not know") == std::string::npos, known) << run.out;
  }
  // The explanation of a page that was never crawled is short.
  server.pages.explanation = v1::Explanation();
  const Outcome run = server.Run({"explain", "http://a.test/"});
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_THAT(run.out, HasSubstr("last crawl        none yet\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("found a change\n  time between")));
  EXPECT_EQ(server.Run({"explain"}).code, kBadUsage);
}

TEST(ExplainTest, PrintsTheForecastAsJson) {
  FakeServer server;
  server.pages.explanation = Waiting();
  const auto object = nlohmann::json::parse(server.Run({"explain", "--json", "http://a.test/"}).out,
                                            nullptr, false);
  EXPECT_EQ(object["explanation"]["decision"], "DECISION_BELOW_PRICE");
  ASSERT_EQ(object["forecast"].size(), 32U);
  EXPECT_EQ(object["forecast"][0]["time"], "2026-03-01T10:00:00Z");
  EXPECT_EQ(object["forecast"][31]["time"], "2026-03-02T10:00:00Z");
  EXPECT_NEAR(object["forecast"][31]["value"].get<double>(), 60, 1e-9);
}

}  // namespace
}  // namespace freshet::cli

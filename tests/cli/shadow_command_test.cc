// Tests `freshet crawls set --frontier-mode` and `freshet crawls shadow`.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/fake_server.h"

namespace freshet::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ShadowCommand, SetsFrontierModes) {
  FakeServer server;
  EXPECT_EQ(server.Run({"crawls", "set", "news", "--frontier-mode", "shadow"}).code, kAccepted);
  EXPECT_EQ(server.admin.crawl.frontier_mode(), v1::FRONTIER_MODE_SHADOW);
  EXPECT_EQ(server.Run({"crawls", "set", "news", "--frontier-mode", "scheduled"}).code, kAccepted);
  EXPECT_EQ(server.admin.crawl.frontier_mode(), v1::FRONTIER_MODE_SCHEDULED);
  EXPECT_EQ(server.Run({"crawls", "set", "news", "--frontier-mode", "dates"}).code, kAccepted);
  EXPECT_EQ(server.admin.crawl.frontier_mode(), v1::FRONTIER_MODE_DATES);
  EXPECT_EQ(server.Run({"crawls", "set", "news", "--frontier-mode", "never"}).code, kBadUsage);
}

TEST(ShadowCommand, ShowsWhatAShadowWouldGain) {
  FakeServer server;
  EXPECT_THAT(
      server.Run({"crawls", "shadow", "news", "--examples", "3", "--limit", "2000"}).out,
      AllOf(HasSubstr("news: 3,000 pages, of which 2,000 read; 0 gone, 0 never crawled, 1,900 "
                      "compared\n8,000 crawls seen; 1,000 of the last 4,000 that were compared "
                      "found a change (25.0%)\nbelieved to be fresh now: 50.0%\n"),
            HasSubstr("600 crawls a day keep 60.0% of requests fresh.\n"),
            HasSubstr("would keep 80.0% fresh, or 70.0% without signals.\n"),
            HasSubstr("150 crawls a day (25.0% of today's) would keep as many fresh"),
            HasSubstr("Crawled too often:\n"), HasSubstr("http://a.test/static"),
            Not(HasSubstr("too rarely"))));
  EXPECT_EQ(server.admin.shadow.limit(), 2000U);
  EXPECT_EQ(server.admin.shadow.examples(), 3U);
  EXPECT_THAT(server.Run({"crawls", "shadow", "early"}).out,
              HasSubstr("nothing to compare: too early\n"));
  EXPECT_THAT(server.Run({"crawls", "shadow", "news", "--json"}).out,
              HasSubstr("\"best_freshness\":0.8"));
  EXPECT_EQ(server.Run({"crawls", "shadow", "unknown"}).code, kRefused);
}

}  // namespace
}  // namespace freshet::cli

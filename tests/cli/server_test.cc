// Tests the client with a real freshetd. After a crash, the client shows everything that was
// acknowledged.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/real_server.h"
#include "tests/support/temp_dir.h"

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(RealServerTest, ShowsAfterACrashWhatWasAcknowledged) {
  const TempDir dir;
  RealServer server(dir.path());
  ASSERT_EQ(server
                .Run({"upsert"},
                     "url\timportance\tmax_interval\nhttps://example.org/a\t5\t7d\n"
                     "https://example.org/b\t1\t\n")
                .code,
            kAccepted);
  const json assignment = server.RunJson({"next", "--wait", "10s"});
  ASSERT_EQ(assignment["url"], "https://example.org/a") << "the more important page comes first";
  const std::string lease = assignment["lease_id"].dump();
  // The worker's clock is years behind, so the fetch is dated at the beginning of the lease.
  const Outcome reported = server.Run({"report", lease, "changed", "1700000000"});
  ASSERT_EQ(reported.code, kAccepted);
  EXPECT_THAT(reported.err, HasSubstr("before the lease began: taken as that"));
  const json taken = server.RunJson({"get", "https://example.org/a"})["page"]["last_crawl_time"];
  ASSERT_EQ(server.Run({"signal", "https://example.org/a", "cdn"}).code, kAccepted);
  ASSERT_EQ(server.Run({"sources", "--add", "shop"}).code, kAccepted);
  ASSERT_EQ(server.Run({"rate", "123"}).code, kAccepted);

  server.Stop(SIGKILL);
  ASSERT_NO_FATAL_FAILURE(server.Start());

  const json page = server.RunJson({"get", "https://example.org/a"})["page"];
  EXPECT_EQ(page["importance"], 5);
  EXPECT_EQ(page["max_interval"], "604800s");
  EXPECT_EQ(page["last_crawl_time"], taken);
  EXPECT_GT(page["last_crawl_time"].get<std::string>(), "2024") << "as of its lease";
  EXPECT_EQ(page["last_outcome"], "CRAWL_OUTCOME_CHANGED");
  EXPECT_EQ(page["crawls"], 1);
  EXPECT_FALSE(page.contains("lease"));
  ASSERT_EQ(page["pending_signals"].size(), 1U);
  EXPECT_EQ(page["pending_signals"][0]["source"], "cdn");
  EXPECT_THAT(server.Run({"get", "https://example.org/b"}).out, HasSubstr("https://example.org/b"));
  EXPECT_THAT(server.Run({"sources"}).out, HasSubstr("shop"));
  EXPECT_EQ(server.Run({"rate"}).out, "123 crawls per second\n");

  // A repeated result counts once, even if another server process received the first one.
  const Outcome again =
      server.Run({"report"}, "url\tlease_id\toutcome\tfetch_time\nhttps://example.org/a\t" + lease +
                                 "\tchanged\t1700000000\n");
  EXPECT_EQ(again.out, "1 result: 0 applied, 1 duplicate\n") << again.err;
  EXPECT_TRUE(WIFEXITED(server.Stop(SIGTERM)));
}

TEST(RealServerTest, ReportsWhatTheStatusCodeSays) {
  const TempDir dir;
  RealServer server(dir.path());
  ASSERT_EQ(server.Run({"upsert", "https://example.org/"}).code, kAccepted);
  const Outcome reported = server.Run({"report"}, "url\thttp_status\nhttps://example.org/\t503\n");
  EXPECT_EQ(reported.code, kAccepted) << reported.err;
  EXPECT_EQ(server.RunJson({"get", "https://example.org/"})["page"]["last_outcome"],
            "CRAWL_OUTCOME_ERROR");
  // Status 200 does not tell whether the page has changed.
  const Outcome open = server.Run({"report"}, "url\thttp_status\nhttps://example.org/\t200\n");
  EXPECT_EQ(open.code, kRefused);
  EXPECT_THAT(open.err, HasSubstr("outcome"));
}

// One bad item of each kind affects neither the other items nor the server.
TEST(RealServerTest, NamesWhatItRefusesAndGoesOn) {
  const TempDir dir;
  RealServer server(dir.path());
  ASSERT_EQ(server.Run({"upsert", "https://example.org/"}).code, kAccepted);
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"upsert", "http://"}, "url: "},
      {{"upsert", "https://example.org/" + std::string(100'000, 'x')}, "url: "},
      {{"upsert", "https://example.org/\x01"}, "url: "},
      {{"upsert", "--crawl-id", "a b", "https://example.org/"}, "crawl_id: "},
      {{"report", "https://example.org/", "changed", "32503680000"}, "fetch_time: "},
      {{"report", "4242", "changed"}, "lease_id: "},
      {{"signal", "https://example.org/", "nobody"}, "source: "},
      {{"signal", "https://unknown.test/", "cdn"}, "url: "},
      {{"remove", "https://unknown.test/"}, "url: "},
      {{"recheck", "https://unknown.test/"}, "url: "},
      {{"get", "https://unknown.test/"}, "unknown.test"},
      {{"policy", "none"}, "policy"},
      {{"rate", "1e300"}, "crawl_rate_per_second"}};
  for (const auto& [arguments, reason] : refused) {
    const Outcome run = server.Run(arguments);
    EXPECT_EQ(run.code, kRefused) << testing::PrintToString(arguments);
    EXPECT_THAT(run.err, HasSubstr(reason)) << testing::PrintToString(arguments);
  }
  const Outcome mixed =
      server.Run({"upsert"}, "https://example.org/1\nftp://x/\nhttps://example.org/2\n");
  EXPECT_EQ(mixed.code, kRefused);
  EXPECT_EQ(mixed.out, "3 pages: 2 applied, 1 refused\n");
  EXPECT_THAT(mixed.err, HasSubstr("row 2: ftp://x/: url: "));
}

}  // namespace
}  // namespace freshet::cli

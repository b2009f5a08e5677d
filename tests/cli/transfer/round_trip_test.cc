// Tests that an export of one server can be imported by another. Every field that the API can carry
// arrives, and a second export equals the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "fmt/format.h"
#include "tests/cli/real_server.h"
#include "tests/support/temp_dir.h"

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::SizeIs;

std::map<std::string, json> Exported(RealServer& server) {
  const Outcome run = server.Run({"export"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  std::map<std::string, json> records;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    json record = json::parse(line);
    records[record["page"]["url"]] = record;
  }
  return records;
}

// Adds one page of every kind.
void Fill(RealServer& server) {
  ASSERT_EQ(
      server
          .Run({"upsert"}, R"({"url":"https://a.test/set","crawl_id":"shop","importance":2.5,)"
                           R"("min_interval":"1h","max_interval":"7d","not_before":"2030-01-01",)"
                           R"("known_change_rate_per_day":0.25,"complete_signals":true})"
                           "\n"
                           R"({"url":"https://a.test/history"})"
                           "\n"
                           R"({"url":"https://a.test/gone"})"
                           "\n"
                           R"({"url":"https://a.test/moved"})"
                           "\n"
                           R"({"url":"https://a.test/failing"})"
                           "\n"
                           R"({"url":"https://a.test/moved-failing"})"
                           "\n"
                           R"({"url":"https://a.test/told","last_crawl_time":"2024-01-05"})"
                           "\n"
                           R"({"url":"https://a.test/denied"})"
                           "\n"
                           R"({"url":"https://a.test/signalled"})"
                           "\n"
                           R"({"url":"https://a.test/never"})"
                           "\n")
          .code,
      kAccepted);
  const Outcome reported = server.Run(
      {"report"},
      "url\toutcome\tfetch_time\thttp_status\tetag\tlast_modified\tcontent_digest\tmoved_to\n"
      "https://a.test/history\tchanged\t2024-01-01\t200\n"
      "https://a.test/history\tunchanged\t2024-01-08\t304\n"
      "https://a.test/history\tchanged\t2024-01-15\t200\n"
      "https://a.test/history\tunchanged\t2024-01-22\t200\t\"x\"\t2024-01-14\tAP8Q\n"
      "https://a.test/gone\tchanged\t2024-01-01\t200\n"
      "https://a.test/gone\tgone\t2024-01-02\t410\n"
      "https://a.test/moved\tmoved\t2024-01-02\t301\t\t\t\thttps://b.test/\n"
      "https://a.test/failing\tchanged\t2024-01-01\t200\t\"y\"\n"
      "https://a.test/failing\terror\t2024-01-02\t500\n"
      "https://a.test/failing\terror\t2024-01-03\t502\n"
      "https://a.test/moved-failing\tchanged\t2024-01-01\t200\t\"z\"\n"
      "https://a.test/moved-failing\tmoved\t2024-01-02\t301\t\t\t\thttps://b.test/\n"
      "https://a.test/moved-failing\terror\t2024-01-03\t500\n"
      "https://a.test/moved-failing\terror\t2024-01-04\t502\n"
      "https://a.test/denied\trobots_denied\t2024-01-01\t\n"
      "https://a.test/signalled\tchanged\t2024-01-01\t200\n");
  ASSERT_EQ(reported.code, kAccepted) << reported.err;
  ASSERT_EQ(server.Run({"sources", "--add", "shop-feed"}).code, kAccepted);
  ASSERT_EQ(server.Run({"signal", "https://a.test/signalled", "shop-feed"}).code, kAccepted);
  ASSERT_EQ(server.Run({"recheck", "https://a.test/never"}).code, kAccepted);
}

// The server keeps sources for ever, so a file may add only a few.
TEST(RoundTripTest, AFileAddsFewSources) {
  const TempDir dir;
  RealServer server(dir.path());
  json record = {{"page", {{"url", "https://a.test/"}}}};
  for (int i = 0; i < 40; ++i) {
    record["page"]["pending_signals"].push_back(
        {{"source", fmt::format("junk{:02}", i)}, {"burst_class", 1}, {"signals", 1}});
  }
  std::ofstream(dir / "pages.jsonl") << record.dump() << "\n";
  const Outcome imported = server.Run({"import", dir / "pages.jsonl"});
  EXPECT_EQ(imported.code, kRefused) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("the input names more than 8 sources that the server does "
                                      "not know; add those that you trust"));
  const std::string sources = server.Run({"sources"}).out;
  EXPECT_THAT(sources, HasSubstr("junk07"));
  EXPECT_THAT(sources, testing::Not(HasSubstr("junk08")));
}

TEST(RoundTripTest, LosesNothingThatTheApiCanCarry) {
  const TempDir dir;
  const TempDir other_dir;
  RealServer server(dir.path());
  ASSERT_NO_FATAL_FAILURE(Fill(server));
  const std::string file = dir / "pages.jsonl.gz";
  ASSERT_EQ(server.Run({"export", "--output", file}).code, kAccepted);
  RealServer other(other_dir.path());
  const Outcome imported = other.Run({"import", file});
  EXPECT_EQ(imported.code, kAccepted) << imported.err;

  const std::map<std::string, json> before = Exported(server);
  std::map<std::string, json> after = Exported(other);
  ASSERT_THAT(before, SizeIs(10));
  ASSERT_THAT(after, SizeIs(10));
  ASSERT_EQ(before.at("https://a.test/moved-failing")["page"]["moved_to"], "https://b.test/");
  ASSERT_EQ(before.at("https://a.test/told")["page"]["last_outcome"], "CRAWL_OUTCOME_UNSPECIFIED");
  // On the other server, the page was added at another time.
  const std::set<std::string> own = {"first_seen_time"};
  for (const auto& [url, record] : before) {
    for (const auto& [field, value] : record["page"].items()) {
      if (own.contains(field)) continue;
      EXPECT_EQ(after[url]["page"].value(field, json()), value) << url << " " << field;
    }
    EXPECT_EQ(after[url]["page"].size(), record["page"].size()) << url;
    ASSERT_EQ(after[url]["observations"].size(), record["observations"].size()) << url;
    for (size_t i = 0; i < record["observations"].size(); ++i) {
      EXPECT_EQ(after[url]["observations"][i]["changed"], record["observations"][i]["changed"]);
      EXPECT_EQ(after[url]["observations"][i]["fetch_time"],
                record["observations"][i]["fetch_time"]);
    }
  }
  EXPECT_THAT(before.at("https://a.test/history")["observations"], SizeIs(3));
  // A second import changes nothing.
  EXPECT_EQ(other.Run({"import", file}).code, kAccepted);
  const std::map<std::string, json> again = Exported(other);
  EXPECT_EQ(again.at("https://a.test/history")["page"]["crawls"], 4);
  EXPECT_EQ(again.at("https://a.test/signalled")["page"]["pending_signals"][0]["signals"], 1);

  // Rows of a table lack some fields, but they have every field for which there is a column.
  const TempDir third_dir;
  const std::string rows = dir / "pages.tsv";
  ASSERT_EQ(server.Run({"export", "--format", "tsv", "--output", rows}).code, kAccepted);
  RealServer third(third_dir.path());
  const Outcome taken = third.Run({"import", rows});
  EXPECT_EQ(taken.code, kAccepted) << taken.err;
  EXPECT_EQ(third.Run({"export", "--format", "tsv"}).out,
            server.Run({"export", "--format", "tsv"}).out);
}

}  // namespace
}  // namespace freshet::cli

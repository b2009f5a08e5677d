// Tests the client as users see it: command lines, input, output and exit codes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/fake_server.h"
#include "tests/support/small_site.h"
#include "tools/cli/host_text.h"
#include "tools/cli/upload.h"

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// A file that the test removes at its end.
class TempFile {
 public:
  explicit TempFile(const std::string& text) {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("freshet_client_test_{}_{}", getpid(), number++);
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string Gzip(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<json> Lines(const std::string& text) {
  std::vector<json> objects;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) objects.push_back(json::parse(line));
  return objects;
}

TEST(UpsertTest, TakesUrlsWithImportanceAsArguments) {
  FakeServer server;
  const Outcome run = server.Run({"upsert", "http://a.test/", "2.5", "http://b.test/"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_EQ(run.out, "2 pages: 2 applied\n");
  ASSERT_EQ(server.pages.upserts.requests.size(), 1U);
  const auto& pages = server.pages.upserts.requests[0].pages();
  ASSERT_EQ(pages.size(), 2);
  EXPECT_EQ(pages[0].url(), "http://a.test/");
  EXPECT_EQ(pages[0].importance(), 2.5);
  EXPECT_FALSE(pages[1].has_importance());
}

// All forms of input describe the same pages.
TEST(UpsertTest, TakesLinesTablesAndJson) {
  const std::vector<std::string> inputs = {
      "http://a.test/ 2\nhttp://b.test/\n", "http://a.test/\t2\r\nhttp://b.test/\r\n\r\n",
      "importance\turl\n2\thttp://a.test/\n\thttp://b.test/\n",
      "\xEF\xBB\xBFurl\timportance\nhttp://a.test/\t2\nhttp://b.test/",
      R"({"url":"http://a.test/","importance":2})"
      "\n"
      R"({"url":"http://b.test/","importance":null})"};
  for (const std::string& plain : inputs) {
    for (const std::string& input : {plain, Gzip(plain)}) {
      FakeServer server;
      const Outcome run = server.Run({"upsert"}, input);
      EXPECT_EQ(run.code, kAccepted) << plain << run.err;
      ASSERT_EQ(server.pages.upserts.requests.size(), 1U) << plain;
      const auto& pages = server.pages.upserts.requests[0].pages();
      ASSERT_EQ(pages.size(), 2) << plain;
      EXPECT_EQ(pages[0].url(), "http://a.test/");
      EXPECT_EQ(pages[0].importance(), 2);
      EXPECT_EQ(pages[1].url(), "http://b.test/");
      EXPECT_FALSE(pages[1].has_importance());
    }
  }
}

TEST(UpsertTest, ReadsFilesNamedAsArgumentsAndAppliesSettings) {
  FakeServer server;
  const TempFile file("url\tmin_interval\nhttp://a.test/\t1h30m\nhttp://b.test/\t\n");
  const Outcome run = server.Run({"upsert", "--crawl-id", "news", "--min-interval", "7d",
                                  "--complete-signals", "true", "--reset", file.path()});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  ASSERT_EQ(server.pages.upserts.requests.size(), 1U);
  const auto& request = server.pages.upserts.requests[0];
  EXPECT_TRUE(request.reset_unset_settings());
  EXPECT_EQ(request.pages(0).min_interval().seconds(), 5400);
  EXPECT_EQ(request.pages(1).min_interval().seconds(), 7 * 86400);
  EXPECT_EQ(request.pages(1).crawl_id(), "news");
  EXPECT_TRUE(request.pages(1).complete_signals());
}

TEST(UpsertTest, NamesEveryRefusedItemAndItsReason) {
  FakeServer server;
  server.pages.upserts.judge = [](const v1::UpsertPagesRequest&, v1::BatchAck* ack) {
    *ack->add_statuses() = Refusal(1, v1::ERROR_CODE_INVALID_ARGUMENT, "url", "no host");
  };
  const Outcome run = server.Run({"upsert"}, "http://a.test/\nhttp:///\n");
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(run.out, "2 pages: 1 applied, 1 refused\n");
  EXPECT_EQ(run.err, "freshet: row 2: http:///: url: no host\n");

  const Outcome as_json = server.Run({"--json", "upsert"}, "http://a.test/\nhttp:///\n");
  const std::vector<json> lines = Lines(as_json.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["row"], 2);
  EXPECT_EQ(lines[0]["outcome"], "ITEM_OUTCOME_REFUSED");
  EXPECT_EQ(lines[0]["error"]["code"], "ERROR_CODE_INVALID_ARGUMENT");
  EXPECT_EQ(lines[1]["refused"], 1);
  EXPECT_EQ(lines[1]["applied"], 1);
}

TEST(UpsertTest, ReportsABatchThatIsRefusedAsAWhole) {
  FakeServer server;
  server.pages.upserts.judge = [](const v1::UpsertPagesRequest&, v1::BatchAck* ack) {
    ack->mutable_error()->set_reason("the store is read-only");
  };
  const Outcome run = server.Run({"upsert", "http://a.test/", "http://b.test/"});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(run.out, "2 pages: 0 applied, 2 refused\n");
  EXPECT_THAT(run.err, HasSubstr("row 2: http://b.test/: the store is read-only"));
}

TEST(UpsertTest, SplitsLargeInputsAndCountsEveryItemOnce) {
  FakeServer server;
  server.pages.upserts.judge = [](const v1::UpsertPagesRequest& request, v1::BatchAck* ack) {
    *ack->add_statuses() =
        Refusal(request.pages_size() - 1, v1::ERROR_CODE_INVALID_ARGUMENT, "", "last");
  };
  std::string input;
  constexpr int kPages = 50'500;
  for (int i = 0; i < kPages; ++i) input += fmt::format("http://a.test/{}\n", i);
  const Outcome run = server.Run({"upsert", "--json"}, input);
  EXPECT_EQ(run.code, kRefused);
  const json summary = Lines(run.out).back();
  EXPECT_EQ(summary["items"], kPages);
  EXPECT_EQ(summary["refused"], server.pages.upserts.requests.size());
  EXPECT_EQ(summary["applied"], kPages - static_cast<int>(server.pages.upserts.requests.size()));
  int next = 0;
  for (const auto& request : server.pages.upserts.requests) {
    EXPECT_LE(request.pages_size(), kMaxBatchItems);
    for (const auto& page : request.pages()) {
      EXPECT_EQ(page.url(), fmt::format("http://a.test/{}", next++));
    }
  }
  EXPECT_EQ(next, kPages);
  EXPECT_THAT(run.err, StartsWith("freshet: row 1000: http://a.test/999: last\n"));
}

TEST(UpsertTest, TriesAgainWhatTheServerIsTooBusyFor) {
  FakeServer server;
  server.pages.upserts.judge = [&server](const v1::UpsertPagesRequest& request, v1::BatchAck* ack) {
    if (server.pages.upserts.requests.size() > 2) return;
    *ack->add_statuses() = Refusal(request.pages_size() - 1, v1::ERROR_CODE_RESOURCE_EXHAUSTED, "",
                                   "queue full", true);
  };
  const Outcome run = server.Run({"upsert", "--reset", "http://a.test/", "http://b.test/"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_EQ(run.out, "2 pages: 2 applied\n");
  ASSERT_EQ(server.pages.upserts.requests.size(), 3U);
  const auto& again = server.pages.upserts.requests[2];
  ASSERT_EQ(again.pages_size(), 1);
  EXPECT_EQ(again.pages(0).url(), "http://b.test/");
  EXPECT_TRUE(again.reset_unset_settings());
}

TEST(ConnectionTest, SaysWhenTheServerIsNotReachable) {
  for (const char* command : {"stats", "upsert", "list", "next", "signal", "remove", "rate"}) {
    const Outcome run = RunClient({"--server", "127.0.0.1:1", "--connect-timeout", "0.05", command},
                                  "http://a.test/\n");
    EXPECT_EQ(run.code, kUnreachable) << command;
    EXPECT_EQ(run.err,
              "freshet: 127.0.0.1:1: connection refused: no server listened within 0.05 s\n")
        << command;
  }
}

TEST(ConnectionTest, SaysAtOnceThatNobodyListens) {
  const Outcome run = RunClient({"--server", "127.0.0.1:1", "--connect-timeout", "2", "stats"});
  EXPECT_EQ(run.code, kUnreachable);
  EXPECT_THAT(run.err, StartsWith("127.0.0.1:1: connection refused; trying again for 2 s\n"));
}

// The numbers of the two ports differ by one. Previously, the client needed five seconds to detect
// this mistake, and then printed a message about TLS.
TEST(ConnectionTest, KnowsTheHttpPort) {
  const SmallSite http;
  const std::string address = http.url().substr(http.url().find("//") + 2);
  const Outcome run = RunClient({"--server", address, "--connect-timeout", "3600", "stats"});
  EXPECT_EQ(run.code, kUnreachable);
  EXPECT_THAT(run.err, HasSubstr("is this the HTTP port?"));
}

TEST(ConnectionTest, SaysWhatAHandshakeMayLack) {
  const SmallSite plain;  // a server that does not speak TLS
  const std::string address = plain.url().substr(plain.url().find("//") + 2);
  const Outcome run =
      RunClient({"--server", address, "--connect-timeout", "0.05", "--tls", "stats"}, "");
  EXPECT_EQ(run.code, kUnreachable);
  EXPECT_THAT(run.err, HasSubstr("or it wants --tls-certificate\n"));
}

TEST(ConnectionTest, CountsWhatALostConnectionLeavesUnacknowledged) {
  FakeServer server;
  server.pages.upserts.fail_at = 1;
  std::string input;
  for (int i = 0; i < 1500; ++i) input += fmt::format("http://a.test/{}\n", i);
  const Outcome run = server.Run({"--json", "upsert"}, input);
  EXPECT_EQ(run.code, kUnreachable);
  EXPECT_THAT(run.err, HasSubstr("going down"));
  const json summary = Lines(run.out).back();
  EXPECT_EQ(summary["applied"], 1000);
  EXPECT_EQ(summary["unacknowledged"], 500);
}

TEST(ConnectionTest, GivesUpOnAServerThatAcknowledgesNothing) {
  FakeServer server;
  server.pages.upserts.silent = true;
  const Outcome run = server.Run({"--timeout", "0.2", "upsert", "http://a.test/"});
  EXPECT_EQ(run.code, kUnreachable);
  EXPECT_THAT(run.err, HasSubstr("no answer within 0.2 s"));
}

TEST(UsageTest, RefusesWhatItDoesNotKnow) {
  const std::vector<std::vector<std::string>> bad = {
      {},
      {"bogus"},
      {"upsert", "--bogus"},
      {"rate", "nan"},
      {"rate", "--", "-1"},
      {"rate", "1", "2"},
      {"upsert", "--importance", "inf", "http://a.test/"},
      {"upsert", "--min-interval", "1 fortnight", "http://a.test/"},
      {"next", "-n", "many"},
      {"list", "--limit", "0"},
      {"signal", "--sitemap", "/nonexistent.xml"},
      {"signal", "--since", "2024-01-01", "http://a.test/", "cdn"},
      {"host"},
      {"--timeout", "0", "stats"}};
  FakeServer server;
  for (const auto& arguments : bad) {
    const Outcome run = server.Run(arguments);
    EXPECT_EQ(run.code, kBadUsage) << testing::PrintToString(arguments) << run.err;
    EXPECT_THAT(run.err, StartsWith("freshet: ")) << testing::PrintToString(arguments);
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_EQ(RunClient({"--help"}).code, kAccepted);
  EXPECT_THAT(RunClient({"--version"}).out, StartsWith("freshet "));
  // `version` needs no server.
  EXPECT_EQ(RunClient({"version"}).out, RunClient({"--version"}).out);
}

TEST(RemoveTest, SendsBatchesAndNamesUnknownPages) {
  FakeServer server;
  std::string input;
  for (int i = 0; i < 1200; ++i) input += fmt::format("http://a.test/{}\n", i);
  const Outcome run = server.Run({"remove"}, input + "http://unknown.test/\n");
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(run.out, "1,201 pages: 1,200 applied, 1 refused\n");
  EXPECT_EQ(run.err, "freshet: row 1201: http://unknown.test/: url: no such page\n");
  EXPECT_EQ(server.pages.removals.size(), 2U);
}

TEST(RecheckTest, CallsAgainWhenTheServerSays) {
  FakeServer server;
  server.pages.busy = 3;
  const Outcome run = server.Run({"recheck", "https://a.test/"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_EQ(server.pages.rechecks.size(), 4U);
  // The client stops retrying when the time of the call is used up.
  server.pages.busy = 1'000'000;
  const Outcome late = server.Run({"--timeout", "0.2", "recheck", "https://a.test/"});
  EXPECT_NE(late.code, kAccepted);
  EXPECT_LT(server.pages.rechecks.size(), 20U);
}

TEST(ReportTest, TakesUrlsAndLeases) {
  FakeServer server;
  const Outcome run =
      server.Run({"report", "http://a.test/", "changed", "1700000000.25", "17", "UNCHANGED"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  ASSERT_EQ(server.ingest.results.requests.size(), 1U);
  const auto& results = server.ingest.results.requests[0].results();
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(results[0].url(), "http://a.test/");
  EXPECT_EQ(results[0].outcome(), v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(results[0].fetch_time().seconds(), 1'700'000'000);
  EXPECT_EQ(results[0].fetch_time().nanos(), 250'000'000);
  EXPECT_EQ(results[1].lease_id(), 17U);
  EXPECT_TRUE(results[1].url().empty());
  EXPECT_EQ(results[1].outcome(), v1::CRAWL_OUTCOME_UNCHANGED);
}

TEST(ReportTest, TakesTablesWithLeasesAndDigests) {
  FakeServer server;
  const Outcome run = server.Run({"report"},
                                 "lease_id\toutcome\tcontent_digest\thttp_status\tretry_after\t"
                                 "crawl_delay\tserver_address\n"
                                 "18446744073709551615\t\tAAEC\t200\t\t5s\t192.0.2.1\n"
                                 "5\terror\t\t503\t2m\t\t\n");
  EXPECT_EQ(run.code, kAccepted) << run.err;
  const auto& results = server.ingest.results.requests.at(0).results();
  EXPECT_EQ(results[0].lease_id(), UINT64_MAX);
  EXPECT_EQ(results[0].content_digest(), std::string("\0\1\2", 3));
  EXPECT_EQ(results[1].http_status(), 503);
  EXPECT_EQ(results[0].crawl_delay().seconds(), 5);
  EXPECT_EQ(results[0].server_address(), "192.0.2.1");
  EXPECT_EQ(results[1].retry_after().seconds(), 120);
  EXPECT_FALSE(results[1].has_crawl_delay());
  EXPECT_EQ(server.Run({"report", "http://a.test/"}).code, kBadUsage);
  EXPECT_EQ(server.Run({"report", "http://a.test/", "maybe"}).code, kBadUsage);
}

TEST(ReportTest, CountsOutcomesThatAreNoRefusals) {
  FakeServer server;
  server.ingest.results.judge = [](const v1::ReportCrawlsRequest&, v1::BatchAck* ack) {
    v1::ItemStatus* status = ack->add_statuses();
    status->set_index(0);
    status->set_outcome(v1::ITEM_OUTCOME_DUPLICATE);
    status = ack->add_statuses();
    status->set_index(1);
    status->set_outcome(v1::ITEM_OUTCOME_OBSERVED_ONLY);
  };
  const Outcome run = server.Run({"report", "1", "changed", "7", "2", "changed", "7"});
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_EQ(run.out, "2 results: 0 applied, 1 duplicate, 1 observed only\n");
}

TEST(ReportTest, SaysWhatWasTakenOtherwise) {
  FakeServer server;
  server.ingest.results.judge = [](const v1::ReportCrawlsRequest&, v1::BatchAck* ack) {
    v1::ItemStatus* status = ack->add_statuses();
    status->set_index(1);
    status->set_outcome(v1::ITEM_OUTCOME_APPLIED);
    status->add_notes("etag: 600 bytes, at most 512 are allowed; left out");
  };
  const Outcome run = server.Run({"report", "1", "changed", "7", "2", "changed", "7"});
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_EQ(run.out, "2 results: 2 applied\n");
  EXPECT_THAT(run.err, testing::HasSubstr("row 2: lease 2: etag: 600 bytes"));
  const Outcome as_json =
      server.Run({"--json", "report", "1", "changed", "7", "2", "changed", "7"});
  EXPECT_THAT(as_json.out, testing::HasSubstr("\"notes\":[\"etag: 600 bytes"));
}

TEST(SignalTest, SendsOnePollPerSource) {
  FakeServer server;
  const Outcome run = server.Run({"signal"},
                                 "url\tsource\ttime\nhttp://a.test/\tcdn\t2024-05-17T08:30Z\n"
                                 "http://b.test/\tfeed\t\nhttp://c.test/\tcdn\t1715934600\n");
  EXPECT_EQ(run.code, kAccepted) << run.err;
  ASSERT_EQ(server.ingest.signals.requests.size(), 2U);
  const auto& poll = server.ingest.signals.requests[0];
  EXPECT_FALSE(poll.has_poll_size());
  ASSERT_EQ(poll.signals_size(), 2);
  EXPECT_EQ(poll.signals(0).change_time().seconds(), 1'715'934'600);
  EXPECT_EQ(poll.signals(1).change_time().seconds(), 1'715'934'600);
  EXPECT_FALSE(server.ingest.signals.requests[1].signals(0).has_change_time());
}

TEST(SignalTest, SaysHowLargeAPollOfSeveralMessagesIs) {
  FakeServer server;
  std::string input;
  for (int i = 0; i < 2001; ++i) input += fmt::format("http://a.test/{} cdn\n", i);
  EXPECT_EQ(server.Run({"signal"}, input).code, kAccepted);
  ASSERT_EQ(server.ingest.signals.requests.size(), 3U);
  EXPECT_EQ(server.ingest.signals.requests[0].poll_size(), 1001U);
  EXPECT_EQ(server.ingest.signals.requests[1].poll_size(), 2001U);
  EXPECT_EQ(server.ingest.signals.requests[2].poll_size(), 2001U);
  EXPECT_EQ(server.ingest.signals.requests[2].signals_size(), 1);
  for (const auto& part : server.ingest.signals.requests) EXPECT_EQ(part.poll_id(), 1U);
}

TEST(UpsertTest, OfSeveralFilesTheOneWithAMalformedRowIsNamed) {
  FakeServer server;
  const TempFile good("http://a.test/\n");
  const TempFile bad("{\"url\": \"http://b.test/\"}\n{\"nonsense\": 1}\n");
  const Outcome several = server.Run({"upsert", good.path(), bad.path()});
  EXPECT_EQ(several.code, kRefused);
  EXPECT_THAT(several.err,
              HasSubstr("freshet: " + bad.path() + ": row 2: unknown field 'nonsense'"));
  EXPECT_THAT(server.Run({"upsert", bad.path()}).err, HasSubstr("freshet: row 2: unknown field"));
}

TEST(SignalTest, SendsSinglePingsAsBundles) {
  FakeServer server;
  EXPECT_EQ(
      server.Run({"signal", "--each", "--source", "cdn"}, "http://a.test/\nhttp://b.test/\n").code,
      kAccepted);
  ASSERT_EQ(server.ingest.signals.requests.size(), 1U);
  EXPECT_EQ(server.ingest.signals.requests[0].poll_size(), 1U);
  EXPECT_EQ(server.ingest.signals.requests[0].signals_size(), 2);
  EXPECT_EQ(server.Run({"signal", "http://a.test/"}).code, kBadUsage) << "no source";
}

constexpr const char* kSitemap = R"(<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
 <url><loc> http://a.test/?x=1&amp;y=2 </loc><lastmod>2024-05-17</lastmod></url>
 <url><loc>http://b.test/</loc></url>
 <url><loc>http://c.test/</loc><lastmod>2024-05-18T01:02:03+01:00</lastmod></url>
 <url><loc>http://d.test/</loc><lastmod>2020</lastmod></url>
</urlset>)";

TEST(SignalTest, ReadsASitemapAsOnePoll) {
  for (const std::string& text : {std::string(kSitemap), Gzip(kSitemap)}) {
    FakeServer server;
    const TempFile file(text);
    const Outcome run = server.Run({"signal", "--sitemap", file.path()});
    EXPECT_EQ(run.code, kAccepted) << run.err;
    EXPECT_THAT(run.err, HasSubstr("1 entry without lastmod"));
    ASSERT_EQ(server.ingest.signals.requests.size(), 1U);
    const auto& signals = server.ingest.signals.requests[0].signals();
    ASSERT_EQ(signals.size(), 3);
    EXPECT_EQ(signals[0].url(), "http://a.test/?x=1&y=2");
    EXPECT_EQ(signals[0].source(), "sitemap");
    // A date without a time zone means the end of the day in the time zone in which the day ends
    // last.
    EXPECT_EQ(signals[0].change_time().seconds(), 1'716'033'599);
    EXPECT_EQ(signals[0].signal_id(), "lastmod 1715904000.000000000");
    EXPECT_EQ(signals[1].change_time().seconds(), 1'715'990'523);
    EXPECT_EQ(signals[2].change_time().seconds(), 1'609'502'399);
  }
}

TEST(SignalTest, LeavesOutWhatASitemapSaidBefore) {
  FakeServer server;
  const Outcome run = server.Run(
      {"signal", "--sitemap", "-", "--since", "2024-05-17T12:00Z", "--source", "shop"}, kSitemap);
  EXPECT_EQ(run.code, kAccepted) << run.err;
  ASSERT_EQ(server.ingest.signals.requests.at(0).signals_size(), 2) << "a day may be its evening";
  EXPECT_EQ(server.ingest.signals.requests[0].signals(1).url(), "http://c.test/");
  EXPECT_EQ(server.ingest.signals.requests[0].signals(0).source(), "shop");
}

TEST(SignalTest, RefusesBadSitemaps) {
  FakeServer server;
  for (const char* text : {"", "<urlset>", "<html/>", "<sitemapindex/>"}) {
    EXPECT_EQ(server.Run({"signal", "--sitemap", "-"}, text).code, kBadUsage) << text;
  }
  const Outcome run = server.Run({"signal", "--sitemap", "-"},
                                 "<urlset><url><loc>http://a.test/</loc><lastmod>soon</lastmod>"
                                 "</url><url><loc>http://b.test/</loc><lastmod>2024-01-01</lastmod>"
                                 "</url></urlset>");
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(run.out, "2 signals: 1 applied, 1 refused\n");
  EXPECT_THAT(run.err, HasSubstr("row 1: http://a.test/: lastmod: 'soon'"));
}

TEST(NextTest, PrintsAssignments) {
  FakeServer server;
  v1::Assignment* assignment = server.scheduler.response.add_assignments();
  assignment->set_url("http://a.test/");
  assignment->set_lease_id((uint64_t{1} << 60) + 1);
  assignment->mutable_deadline()->set_seconds(1'700'000'000);
  const Outcome run = server.Run({"--json", "next", "5", "--wait", "250ms", "--lease", "10m"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_EQ(server.scheduler.request.max_assignments(), 5U);
  EXPECT_EQ(server.scheduler.request.max_wait().nanos(), 250'000'000);
  EXPECT_EQ(server.scheduler.request.lease_duration().seconds(), 600);
  const json object = Lines(run.out).at(0);
  EXPECT_EQ(object["url"], "http://a.test/");
  EXPECT_EQ(object["lease_id"], "1152921504606846977") << "as text, for it is no exact double";
  EXPECT_EQ(object["deadline"], "2023-11-14T22:13:20Z");
  EXPECT_FALSE(object.contains("last_crawl_time"));
  EXPECT_THAT(server.Run({"next"}).out, HasSubstr("1152921504606846977  2023-11-14 22:13:20Z"));
}

TEST(NextTest, SaysThatTheWorkerHoldsAllThatItMay) {
  FakeServer server;
  v1::AllowanceUse& use = *server.scheduler.response.mutable_allowance();
  use.set_max_open_leases(5);
  use.set_open_leases(6);
  EXPECT_EQ(server.Run({"next"}).out,
            "no page is assigned: 6 of 5 leases that workers of this name may have are open: "
            "`freshet report` their results, or wait until they run out\n");
  use.set_newcomers(true);
  EXPECT_THAT(server.Run({"next"}).out,
              HasSubstr("workers of this address that have reported nothing yet"));
  EXPECT_EQ(server.Run({"next", "--json"}).out, "");
}

TEST(GetTest, ShowsPagesAndSaysWhichAreUnknown) {
  FakeServer server;
  const Outcome run = server.Run({"get", "http://a.test/", "http://unknown.test/"});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_THAT(run.out, StartsWith("http://a.test/\n  Its value is below the price.\n"));
  EXPECT_EQ(run.err,
            "freshet: http://unknown.test/: no such page; `freshet upsert` adds a page, and "
            "--crawl-id names "
            "another crawl id\n");
  const json object = Lines(server.Run({"get", "--json", "http://a.test/"}).out).at(0);
  EXPECT_EQ(object["page"]["url"], "http://a.test/");
  EXPECT_EQ(object["page"]["crawls"], 3);
  EXPECT_EQ(object["page"]["complete_signals"], false);
  EXPECT_FALSE(object["page"].contains("lease"));
}

TEST(GetTest, SaysWhatCannotBeKnownYet) {
  FakeServer server;
  EXPECT_THAT(server.Run({"get", "http://new.test/"}).out,
              testing::HasSubstr("  crawls                1; the second will be the first that "));
  EXPECT_THAT(server.Run({"get", "http://a.test/"}).out,
              testing::HasSubstr("  crawls                3, of which 0 found a change\n"));
  EXPECT_THAT(server.Run({"get", "http://paused.test/"}).out,
              testing::HasSubstr("  next crawl expected   not while nothing is assigned\n"));
}

TEST(TrustTest, SaysThatNoSourceWasSeen) {
  FakeServer server;
  const Outcome run = server.Run({"trust"});
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("nothing has been learned of any source yet"));
  EXPECT_EQ(server.Run({"trust", "--json"}).err, "");
}

TEST(TrustTest, ShowsHostsWithTheirQuarantine) {
  FakeServer server;
  const std::vector<std::string> line = {"trust", "--host",  "a.test", "--source",
                                         "cdn",   "--limit", "7"};
  const Outcome run = server.Run(line);
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_THAT(run.out, testing::HasSubstr("true of late  expected  in quarantine since"));
  EXPECT_THAT(run.out, testing::HasSubstr("a.test"));
  EXPECT_THAT(run.out, testing::HasSubstr("0.125"));
  EXPECT_THAT(run.out, testing::HasSubstr("2023-11-14"));
  const Outcome json = server.Run({"trust", "--host", "a.test", "--limit", "7", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["signals"], 7);
  EXPECT_NE(server.Run({"trust", "--limit", "1001"}).code, kAccepted);
}

TEST(ListTest, ARefusedListWasNotCutOff) {
  FakeServer server;
  server.pages.list.clear();
  server.pages.list_status = {grpc::StatusCode::INVALID_ARGUMENT, "host: is empty"};
  const Outcome run = server.Run({"list", "a.test"});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(run.err, "freshet: host: is empty\n");
}

TEST(ListTest, PassesFiltersAndSaysHowToGoOn) {
  FakeServer server;
  v1::ListPagesResponse part;
  part.add_pages()->set_url("http://a.test/1");
  part.set_next_page_token("abc");
  server.pages.list = {part, part};
  const Outcome run =
      server.Run({"list", "--json", "--crawl-id", "", "--limit", "2", "http://a.test/"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_EQ(Lines(run.out).size(), 2U);
  EXPECT_EQ(run.err, "2 pages, more follows: --page-token abc\n");
  EXPECT_TRUE(server.pages.list_request.filter().has_crawl_id());
  EXPECT_EQ(server.pages.list_request.filter().url_prefix(), "http://a.test/");
  EXPECT_EQ(server.pages.list_request.limit(), 2U);
  server.pages.list.clear();
  EXPECT_EQ(server.Run({"list", "a.test"}).code, kAccepted);
  EXPECT_EQ(server.pages.list_request.filter().host(), "a.test");
  EXPECT_FALSE(server.pages.list_request.filter().has_crawl_id());
}

TEST(AdminTest, ShowsAndSetsTheRate) {
  FakeServer server;
  EXPECT_EQ(server.Run({"rate"}).out, "10 crawls per second\n");
  EXPECT_EQ(server.Run({"rate", "0.5"}).out, "0.5 crawls per second, was 10\n");
  EXPECT_EQ(server.admin.rate, 0.5);
  EXPECT_EQ(server.Run({"rate", "--json"}).out, "{\"crawl_rate_per_second\":0.5}\n");
}

TEST(AdminTest, ChangesPoliteness) {
  FakeServer server;
  EXPECT_EQ(server.Run({"host", "a.test", "--min-delay", "1.5s", "--max-in-flight", "2"}).code,
            kAccepted);
  EXPECT_EQ(server.admin.politeness.min_delay().nanos(), 500'000'000);
  EXPECT_EQ(server.admin.politeness.max_in_flight(), 2U);
  EXPECT_FALSE(server.admin.politeness.has_blocked_until());
  EXPECT_EQ(server.Run({"host", "a.test", "--unblock"}).code, kAccepted);
  EXPECT_EQ(server.admin.politeness.blocked_until().seconds(), 0);
  EXPECT_FALSE(server.admin.politeness.has_max_in_flight());
}

TEST(AdminTest, BlocksNoHostUntilATimeInThePast) {
  FakeServer server;
  for (const char* past : {"2020-01-01", "0"}) {
    const Outcome run = server.Run({"host", "a.test", "--block-until", past});
    EXPECT_EQ(run.code, kBadUsage) << past;
    EXPECT_THAT(run.err,
                testing::MatchesRegex(
                    "freshet: --block-until: .* is in the past; --unblock lifts a block\n"));
  }
  EXPECT_FALSE(server.admin.politeness.has_blocked_until());
  EXPECT_EQ(server.Run({"host", "a.test", "--block-until", "9999-01-01"}).code, kAccepted);
  EXPECT_TRUE(server.admin.politeness.has_blocked_until());
}

TEST(AdminTest, ShowsWhyAHostIsLeftAlone) {
  FakeServer server;
  EXPECT_EQ(
      server.Run({"host", "a.test"}).out,
      "a.test: 1 s between crawls, 1 min between crawls of a page, 0 of 1 in flight (defaults), "
      "blocked until 2026-03-01 10:00:00Z, said 3 times in a row that it is fetched too often, the "
      "last time at 2026-03-01 09:58:20Z\n");
  EXPECT_THAT(server.Run({"host", "once.test"}).out,
              testing::EndsWith(", said at 2026-03-01 09:58:20Z that it is fetched too often\n"));
  EXPECT_EQ(server.Run({"host", "a.test", "--min-page-interval", "5m"}).code, kAccepted);
  EXPECT_EQ(server.admin.politeness.min_page_interval().seconds(), 300);
}

TEST(AdminTest, ShowsAndSetsThePolitenessOfAllHosts) {
  FakeServer server;
  EXPECT_EQ(
      server.Run({"politeness"}).out,
      "1 s between crawls of a host, 1 min between crawls of a page, any number in flight for "
      "each host\n"
      "configured: 1 s between crawls of a host, 1 min between crawls of a page, at most 1 in "
      "flight for each host\n");
  EXPECT_EQ(server.Run({"politeness", "--min-delay", "2s", "--max-in-flight", "0"}).code,
            kAccepted);
  EXPECT_EQ(server.admin.defaults.min_delay().seconds(), 2);
  EXPECT_TRUE(server.admin.defaults.has_max_in_flight());
  EXPECT_FALSE(server.admin.defaults.has_min_page_interval());
  EXPECT_EQ(server.Run({"politeness", "--reset", "--min-page-interval", "30s"}).code, kAccepted);
  EXPECT_TRUE(server.admin.defaults.reset());
  EXPECT_EQ(server.admin.defaults.min_page_interval().seconds(), 30);
  EXPECT_EQ(server.Run({"politeness", "--min-delay", "soon"}).code, kBadUsage);
}

TEST(AdminTest, SetsCapAndHoursOfAHost) {
  FakeServer server;
  EXPECT_EQ(
      server.Run({"host", "a.test", "--max-crawls", "1000/1d", "--hours", "22:00-06:00"}).code,
      kAccepted);
  EXPECT_EQ(server.admin.politeness.max_crawls().count(), 1000U);
  EXPECT_EQ(server.admin.politeness.max_crawls().per().seconds(), 86400);
  EXPECT_EQ(server.admin.politeness.hours(), "22:00-06:00");
  EXPECT_EQ(server.Run({"host", "a.test", "--max-crawls", "0"}).code, kAccepted);
  EXPECT_TRUE(server.admin.politeness.has_max_crawls());
  EXPECT_FALSE(server.admin.politeness.has_hours());
  for (const char* cap : {"1000", "0/1d", "x/1d", "1/", "99999999999/1d"}) {
    EXPECT_EQ(server.Run({"host", "a.test", "--max-crawls", cap}).code, kBadUsage) << cap;
  }
}

TEST(HostText, SaysWhereTermsComeFrom) {
  v1::HostState host;
  host.set_host("a.test");
  host.mutable_min_delay()->set_seconds(10);
  host.set_min_delay_origin(v1::TERM_ORIGIN_REPORTED);
  host.set_max_in_flight(1);
  host.set_max_in_flight_origin(v1::TERM_ORIGIN_RULE);
  host.mutable_min_page_interval()->set_seconds(60);
  host.set_min_page_interval_origin(v1::TERM_ORIGIN_DEFAULT);
  host.mutable_max_crawls()->set_count(1000);
  host.mutable_max_crawls()->mutable_per()->set_seconds(86400);
  host.set_max_crawls_origin(v1::TERM_ORIGIN_HOST);
  host.set_crawls_counted(7);
  host.set_hours("22:00-06:00");
  host.set_hours_origin(v1::TERM_ORIGIN_CRAWL_ID);
  host.mutable_crawl_delay()->set_seconds(10);
  host.set_server_address("192.0.2.1");
  host.set_rule("shops");
  host.mutable_group()->set_name("shops");
  host.mutable_group()->mutable_min_delay()->set_seconds(1);
  host.set_customised(true);
  EXPECT_EQ(
      ShowHost(host),
      "a.test: 10 s between crawls, 1 min between crawls of a page, 0 of 1 in flight, 7 of at "
      "most 1,000 crawls in 1 d, within the hours 22:00-06:00\n"
      "  between crawls            10 s              its robots.txt\n"
      "  between crawls of a page  1 min             default\n"
      "  in flight                 1                 rule shops\n"
      "  maximum of crawls         1,000 in 1 d      set for the host\n"
      "  hours                     22:00-06:00       set for crawl ids\n"
      "group shops: 1 s between crawls, any in flight\n"
      "crawl-delay reported: 10 s\n"
      "address reported: 192.0.2.1");
  EXPECT_THAT(ShowHost(host, 3),
              testing::EndsWith("reported: 10 s\n   address reported: 192.0.2.1"));
}

TEST(AdminTest, ShowsAndSetsCrawlIds) {
  FakeServer server;
  EXPECT_THAT(server.Run({"crawls", "list"}).out, HasSubstr("25.0%  shop (being deleted)\n"));
  EXPECT_THAT(server.Run({"crawls", "show", "shop"}).out,
              HasSubstr("shop: 25.0% of the rate, at most 2,000 pages\n1,234 pages of 0 hosts"));
  EXPECT_EQ(server.Run({"crawls", "show", "unknown"}).code, kRefused);
  EXPECT_THAT(server.Run({"crawls", "show", "shpo"}).err, HasSubstr("\ndid you mean shop?\n"));
  EXPECT_EQ(server
                .Run({"crawls", "set", "shop", "--share", "0.5", "--max-rate", "20", "--max-pages",
                      "7", "--min-delay", "2s", "--max-in-flight", "0"})
                .code,
            kAccepted);
  EXPECT_EQ(server.admin.crawl.crawl_id(), "shop");
  EXPECT_EQ(server.admin.crawl.share(), 0.5);
  EXPECT_EQ(server.admin.crawl.max_rate_per_second(), 20);
  EXPECT_EQ(server.admin.crawl.max_pages(), 7U);
  EXPECT_EQ(server.admin.crawl.min_delay().seconds(), 2);
  EXPECT_TRUE(server.admin.crawl.has_max_in_flight());
  EXPECT_FALSE(server.admin.crawl.has_min_page_interval());
  EXPECT_FALSE(server.admin.crawl.reset());
  EXPECT_EQ(server.Run({"crawls", "set", "shop", "--share", "half"}).code, kBadUsage);
  EXPECT_EQ(server.Run({"crawls"}).code, kBadUsage);
}

TEST(AdminTest, ListsHostsToTheLastAndDeletesOne) {
  FakeServer server;
  const Outcome list = server.Run({"hosts", "list", "--prefix", "a", "--contains", "t"});
  EXPECT_EQ(list.code, kAccepted);
  EXPECT_THAT(list.out, HasSubstr("a.test\n"));
  EXPECT_THAT(list.out, HasSubstr("b.test\n"));
  ASSERT_EQ(server.admin.host_lists.size(), 2U);
  EXPECT_EQ(server.admin.host_lists[1].prefix(), "a");
  EXPECT_EQ(server.admin.host_lists[1].contains(), "t");
  EXPECT_EQ(server.Run({"hosts", "delete", "a.test", "--yes"}).out,
            "a.test: being deleted, 7 pages are left\n");
}

// Regression: a command with the URL of a page deleted the whole host without asking.
TEST(AdminTest, DeletesNothingUnasked) {
  // No server listens at this address, because the client must refuse before it calls.
  const auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--server", "127.0.0.1:1", "--connect-timeout", "0"});
    return RunClient(std::move(arguments));
  };
  for (const char* page : {"https://a.test/", "https://a.test/x", "a.test/x", "https://a.test?q"}) {
    const Outcome refused = run({"hosts", "delete", page, "--yes"});
    EXPECT_EQ(refused.code, kBadUsage) << page;
    EXPECT_THAT(refused.err, HasSubstr("is the URL of a page")) << page;
  }
  EXPECT_EQ(run({"hosts", "delete", "https://a.test", "--yes"}).code, kUnreachable);
  for (const char* kind : {"hosts", "crawls"}) {
    const Outcome unasked = run({kind, "delete", "a.test"});
    EXPECT_EQ(unasked.code, kBadUsage) << kind;
    EXPECT_THAT(unasked.err, HasSubstr("freshet: Remove all pages of ")) << kind;
    EXPECT_THAT(unasked.err, HasSubstr("--yes")) << kind;
    EXPECT_EQ(run({kind, "delete", "a.test", "--yes"}).code, kUnreachable) << kind;
  }
}

TEST(AdminTest, RemovesASource) {
  FakeServer server;
  EXPECT_EQ(server.Run({"sources", "--remove", "cdn"}).out,
            "cdn: removed, its signals are refused\n");
  const Outcome unknown = server.Run({"sources", "--remove", "unknown"});
  EXPECT_EQ(unknown.code, kRefused);
  EXPECT_EQ(unknown.err, "freshet: no such source\n");
}

TEST(AdminTest, PassesOnWhatTheServerRefuses) {
  FakeServer server;
  const Outcome run = server.Run({"pause"});  // the fake server does not implement the call
  EXPECT_EQ(run.code, kRefused);
  EXPECT_THAT(run.err, StartsWith("freshet: "));
}

}  // namespace
}  // namespace freshet::cli

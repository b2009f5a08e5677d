// Tests `freshet import` with a fake server: pages that are sent, pages that are refused, and
// interrupted imports that continue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/fake_server.h"
#include "tests/support/temp_dir.h"
#include "tools/cli/transfer/resume_state.h"

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Write(const TempDir& dir, const std::string& name, const std::string& text) {
  std::ofstream(dir / name) << text;
  return dir / name;
}

std::string Url(int i) { return "https://a.test/" + std::to_string(i); }

std::string Lines(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) {
    text += R"({"page":{"url":")" + Url(i) + R"(","importance":1,"last_crawl_time":)" +
            R"("2023-11-13T22:13:20Z","last_outcome":"CRAWL_OUTCOME_CHANGED"}})" + "\n";
  }
  return text;
}

std::vector<std::string> UpsertedUrls(const FakeServer& server) {
  std::vector<std::string> urls;
  for (const auto& request : server.pages.upserts.requests) {
    for (const auto& page : request.pages()) urls.push_back(page.url());
  }
  return urls;
}

// Another user with write access to the directory could make the command overwrite any file of its
// user.
TEST(ImportTest, TheProgressIsWrittenThroughNoLink) {
  const TempDir dir;
  const std::string victim = Write(dir, "victim", "precious");
  const ImportState state{.name = "n", .row = 1, .url = "u"};
  std::filesystem::create_symlink(victim, dir / "state.new");
  ASSERT_TRUE(Save(state, dir / "state").ok());
  EXPECT_EQ(std::filesystem::file_size(victim), 8U);
  ASSERT_TRUE(LoadImportState(dir / "state").ok());
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(LoadImportState(dir / "pipe").ok());
}

TEST(ImportTest, SendsSettingsCrawlsSignalsAndRechecks) {
  FakeServer server;
  const Outcome run = server.Run(
      {"import"},
      R"({"page":{"url":"https://a.test/","crawl_id":"shop","importance":2,"max_interval":"7d"}})"
      "\n"
      R"({"page":{"url":"https://a.test/1","importance":2,"last_crawl_time":"2023-11-13T22:13:20Z",)"
      R"("last_outcome":"CRAWL_OUTCOME_GONE","recheck_pending":true,"pending_signals":[{"source":)"
      R"("cdn","burst_class":"BURST_CLASS_3_TO_9","signals":2}]}})"
      "\n");
  EXPECT_EQ(run.code, kRefused) << "7d is not a duration of JSON";
  EXPECT_THAT(run.err, HasSubstr("freshet: -: row 1: no PageRecord: "));
  EXPECT_THAT(run.out, HasSubstr("1 page imported, 1 refused; with 2 crawls and 2 signals"));
  ASSERT_THAT(server.pages.upserts.requests, SizeIs(1));
  EXPECT_TRUE(server.pages.upserts.requests[0].reset_unset_settings());
  ASSERT_THAT(server.ingest.results.requests, SizeIs(1));
  const auto& results = server.ingest.results.requests[0].results();
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(results[0].outcome(), v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(results[1].outcome(), v1::CRAWL_OUTCOME_GONE);
  ASSERT_THAT(server.ingest.signals.requests, SizeIs(1));
  EXPECT_EQ(server.ingest.signals.requests[0].poll_size(), 3U);
  std::set<std::string> ids;
  for (const auto& signal : server.ingest.signals.requests[0].signals()) {
    ids.insert(signal.signal_id());
  }
  EXPECT_THAT(ids, SizeIs(2)) << "sent again they count once";
  ASSERT_THAT(server.pages.rechecks, SizeIs(1));
  EXPECT_EQ(server.pages.rechecks[0].urls(0), "https://a.test/1");
}

// Previously, a line that repeated an entry of pending signals made millions of signals.
TEST(ImportTest, SendsFewSignalsOfASourceHoweverOftenItIsListed) {
  FakeServer server;
  std::string line =
      R"({"page":{"url":"https://a.test/1","last_crawl_time":"2023-11-13T22:13:20Z",)"
      R"("pending_signals":[)";
  for (int i = 0; i < 50; ++i) {
    line += R"({"source":"cdn","burst_class":"BURST_CLASS_3_TO_9","signals":30},)";
  }
  line.back() = ']';
  const Outcome run = server.Run({"import"}, line + "}}\n");
  EXPECT_THAT(run.out, HasSubstr("and 100 signals"));
}

TEST(ImportTest, CutsALongNameOfWhatIsRefused) {
  FakeServer server;
  server.pages.upserts.judge = [](const v1::UpsertPagesRequest&, v1::BatchAck* ack) {
    *ack->add_statuses() = Refusal(0, v1::ERROR_CODE_INVALID_ARGUMENT, "url", "too long");
  };
  const std::string url = "https://a.test/" + std::string(8000, 'a');
  const Outcome run = server.Run({"import"}, R"({"page":{"url":")" + url + R"("}})" + "\n");
  EXPECT_EQ(run.code, kRefused);
  EXPECT_THAT(run.err, HasSubstr(": url: too long\n"));
  EXPECT_LT(run.err.size(), 500U);
}

TEST(ImportTest, NamesWhatIsRefusedAndSendsNothingMoreOfIt) {
  const TempDir dir;
  FakeServer server;
  server.pages.upserts.judge = [](const v1::UpsertPagesRequest& request, v1::BatchAck* ack) {
    for (int i = 0; i < request.pages_size(); ++i) {
      if (request.pages(i).url() != Url(1)) continue;
      *ack->add_statuses() = Refusal(i, v1::ERROR_CODE_INVALID_ARGUMENT, "url", "no good");
    }
  };
  const std::string path = Write(dir, "pages.jsonl", Lines(0, 2) + "noise\n" + Lines(2, 3));
  const Outcome run = server.Run({"--json", "import", path});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_THAT(run.err, HasSubstr("freshet: " + path + ": row 2: " + Url(1) + ": url: no good\n"));
  EXPECT_THAT(run.err, HasSubstr("freshet: " + path + ": row 3: no PageRecord"));
  const json summary = json::parse(run.out);
  EXPECT_EQ(summary["pages"], 2);
  EXPECT_EQ(summary["refused"], 2);
  for (const auto& request : server.ingest.results.requests) {
    for (const auto& result : request.results()) EXPECT_NE(result.url(), Url(1));
  }
}

// Python and other programs write these numbers, although JSON does not allow them.
TEST(ImportTest, OddNumbersCostTheirFieldAlone) {
  for (const std::string number : {"NaN", "Infinity", "-Infinity", "1e999"}) {
    const std::vector<std::string> lines = {
        R"({"page":{"url":"https://a.test/","importance":)" + number + R"(,"min_interval":"60s"}})",
        R"({"page":{"url":"https://a.test/","http_status":)" + number +
            R"(,"min_interval":"60s"}})",
        R"({"url":"https://a.test/","importance":)" + number + R"(,"min_interval":"60s"})"};
    for (const std::string& line : lines) {
      FakeServer server;
      const Outcome run = server.Run({"import"}, line + "\n");
      EXPECT_EQ(run.code, kAccepted) << line << run.err;
      EXPECT_THAT(run.err, HasSubstr("freshet: -: row 1: https://a.test/: ")) << line;
      EXPECT_THAT(run.err, HasSubstr("; left out\n")) << line;
      ASSERT_THAT(UpsertedUrls(server), SizeIs(1)) << line;
      EXPECT_EQ(server.pages.upserts.requests[0].pages(0).min_interval().seconds(), 60) << line;
    }
  }
  FakeServer server;
  const Outcome nutch = server.Run(
      {"import", "--format", "stormcrawler"},
      R"({"url":"https://a.test/","status":"FETCHED","nextFetchDate":1e999,"metadata":{}})"
      "\n");
  EXPECT_EQ(nutch.code, kAccepted) << nutch.err;
  EXPECT_THAT(nutch.err, HasSubstr("nextFetchDate"));
  EXPECT_THAT(UpsertedUrls(server), SizeIs(1));
  // Inside a text, these words stay unchanged.
  const Outcome text = server.Run(
      {"import"}, R"({"url":"https://a.test/NaN","importance":NaN,"crawl_id":"a NaN, 1e999"})");
  EXPECT_EQ(text.code, kAccepted) << text.err;
  const v1::PageSpec& page = server.pages.upserts.requests.back().pages(0);
  EXPECT_EQ(page.url(), "https://a.test/NaN");
  EXPECT_EQ(page.crawl_id(), "a NaN, 1e999");
}

TEST(ImportTest, ManyBadLinesAreCounted) {
  FakeServer server;
  std::string lines;
  for (int i = 0; i < 1'000; ++i) lines += "noise\n";
  const Outcome run = server.Run({"import", "--format", "freshet"}, "{\"page\":1}\n" + lines);
  EXPECT_EQ(run.code, kRefused);
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 101);
  EXPECT_THAT(run.err, HasSubstr("freshet: 901 more lines like these are not printed\n"));
}

TEST(ImportTest, NamesTheFieldsThatAreLeftOutAndKeepsTheirPage) {
  FakeServer server;
  const Outcome run = server.Run({"import"},
                                 "https://a.test/\tVersion: 7\n"
                                 "Status: 9 (db_lost)\n"
                                 "Score: NaN\n");
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_EQ(run.err,
            "freshet: -: row 1: https://a.test/: statusName: 'db_lost' is not a status of a "
            "crawldb; left "
            "out\n"
            "freshet: -: row 1: https://a.test/: score: 'NaN' is not a finite number; left out\n"
            "1 page without a last crawl: the input does not say when it was (StormCrawler and URL "
            "Frontier: metadata key lastProcessedDate)\n");
  EXPECT_THAT(run.out, HasSubstr("1 page imported, 0 refused"));
}

TEST(ImportTest, ADryRunSendsNothing) {
  const Outcome run =
      RunClient({"--server", "127.0.0.1:1", "--json", "import", "--dry-run"}, Lines(0, 1));
  EXPECT_EQ(run.code, kAccepted) << run.err;
  const json page = json::parse(run.out);
  EXPECT_EQ(page["row"], 1);
  EXPECT_EQ(page["page"]["url"], Url(0));
  EXPECT_EQ(page["results"][0]["outcome"], "CRAWL_OUTCOME_CHANGED");
  const Outcome words = RunClient({"import", "--dry-run"}, Lines(0, 3));
  EXPECT_THAT(words.out, HasSubstr("3 pages would be imported, 0 refused; with 3 crawls"));
}

// The connection breaks in the second chunk of some thousand pages. The next run continues after
// the first chunk.
TEST(ImportTest, AnInterruptedImportGoesOnBehindWhatWasAcknowledged) {
  const TempDir dir;
  const std::string path =
      Write(dir, "pages.jsonl", Lines(0, 8100) + "noise\n" + Lines(8100, 8101));
  const std::vector<std::string> command = {"import", "--resume", dir / "state", path};
  {
    FakeServer server;
    server.pages.upserts.fail_at = 8;
    const Outcome run = server.Run(command);
    EXPECT_EQ(run.code, kUnreachable);
    EXPECT_THAT(run.err, HasSubstr("going down"));
    EXPECT_THAT(run.err, HasSubstr("to continue, run the same command again"));
    EXPECT_THAT(UpsertedUrls(server), SizeIs(8000));
  }
  FakeServer server;
  const Outcome rest = server.Run(command);
  EXPECT_EQ(rest.code, kRefused);
  EXPECT_THAT(rest.err, HasSubstr("row 8101: "));
  EXPECT_THAT(rest.out, HasSubstr("8,101 pages imported, 1 refused; with 8,101 crawls"));
  const std::vector<std::string> urls = UpsertedUrls(server);
  ASSERT_THAT(urls, SizeIs(101));
  EXPECT_EQ(urls.front(), Url(8000));
  // A complete import has nothing more to send.
  const Outcome again = server.Run(command);
  EXPECT_EQ(again.code, kRefused) << "as the import was";
  EXPECT_THAT(again.err, HasSubstr("this import is complete"));
  EXPECT_THAT(UpsertedUrls(server), SizeIs(101));
}

// With other options or files, the second run would send other records than the first run, so it
// sends nothing.
TEST(ImportTest, ACompleteImportDoesNotGoOnWithOtherOptionsOrFiles) {
  const TempDir dir;
  const std::string path = Write(dir, "pages.jsonl", Lines(0, 2));
  const std::string more = Write(dir, "more.jsonl", Lines(2, 3));
  FakeServer server;
  const std::vector<std::string> first = {"import",      "--resume", dir / "state", "--keep-dates",
                                          "--time-zone", "UTC",      path};
  ASSERT_EQ(server.Run(first).code, kAccepted);
  const Outcome again = server.Run(first);
  EXPECT_EQ(again.code, kAccepted);
  EXPECT_THAT(again.err, HasSubstr("is complete, and nothing was left to send"));
  const Outcome options =
      server.Run({"import", "--resume", dir / "state", "--crawl-id", "shop", path});
  EXPECT_EQ(options.code, kBadUsage);
  EXPECT_THAT(options.err,
              HasSubstr("is of an import with other options: --keep-dates --time-zone UTC; now "
                        "they are: --crawl-id shop. To import with these, delete the file"));
  EXPECT_THAT(server.Run({"import", "--resume", dir / "state", path}).err,
              HasSubstr("now they are: none."));
  std::vector<std::string> files = first;
  files.push_back(more);
  const Outcome other = server.Run(files);
  EXPECT_EQ(other.code, kBadUsage);
  EXPECT_THAT(other.err, HasSubstr("is of another import, which is complete: it had 1 input"));
  EXPECT_THAT(UpsertedUrls(server), SizeIs(2));
}

TEST(ImportTest, SaysWhyCrawlsAreNotImported) {
  FakeServer server;
  const auto known = [](const std::string& url, const std::string& metadata) {
    return R"({"known":{"info":{"url":"https://a.test/)" + url + R"(","metadata":{)" + metadata +
           R"(}},"refetchableFromDate":"1700086400"}})" + "\n";
  };
  const std::string lines =
      known("1", R"("signature":{"values":["0f"]},"fetch.statusCode":{"values":["200"]})") +
      known("2", "") + known("3", R"("lastProcessedDate":{"values":["2023-11-13T22:13:20Z"]})") +
      R"({"discovered":{"info":{"url":"https://a.test/4"}}})" + "\n";
  for (const bool dry : {false, true}) {
    std::vector<std::string> command = {"import", "--format", "urlfrontier"};
    if (dry) command.emplace_back("--dry-run");
    const Outcome run = server.Run(command, lines);
    EXPECT_EQ(run.code, kAccepted) << run.err;
    EXPECT_THAT(run.out, HasSubstr("with 1 crawl and"));
    EXPECT_THAT(run.err,
                HasSubstr("2 pages without a last crawl: the input does not say when it was "
                          "(StormCrawler and URL Frontier: metadata key "
                          "lastProcessedDate)\n"));
  }
  EXPECT_EQ(json::parse(server.Run({"--json", "import"}, lines).out)["undated"], 2);
  const Outcome dated =
      server.Run({"import"}, known("3", R"("lastProcessedDate":{"values":["1700000000"]})"));
  EXPECT_EQ(dated.err, "");
}

TEST(ImportTest, AStateIsOfOneInput) {
  const TempDir dir;
  FakeServer server;
  const std::string path = Write(dir, "pages.jsonl", Lines(0, 3));
  Write(dir, "state",
        R"({"freshet":"import","version":1,"input":0,"name":")" + path +
            R"(","row":2,"url":"https://b.test/","complete":false,"counts":{"pages":2,)"
            R"("refused":0,"results":0,"signals":0,"incomplete":0,"histories_left_out":0}})");
  const Outcome other = server.Run({"import", "--resume", dir / "state", path});
  EXPECT_EQ(other.code, kBadUsage);
  EXPECT_THAT(other.err, HasSubstr("row 2 is not https://b.test/"));
  const Outcome input = server.Run({"import", "--resume", dir / "state", dir / "other"});
  EXPECT_EQ(input.code, kBadUsage);
  EXPECT_THAT(input.err, HasSubstr("is of another import"));
  const Outcome noise = server.Run({"import", "--resume", path, path});
  EXPECT_EQ(noise.code, kBadUsage);
  EXPECT_THAT(noise.err, HasSubstr("is not the state of an import"));
  EXPECT_THAT(UpsertedUrls(server), IsEmpty());
}

// Regression: the content of a progress file was printed to the terminal without escaping.
TEST(ImportTest, AProgressFileIsNoOrderToTheTerminal) {
  FakeServer server;
  const TempDir dir;
  const std::string path = Write(dir, "pages", "https://a.test/\n");
  const ImportState state{.name = "a\x1b]0;owned\a\nfreshet: forged", .row = 1, .url = "u"};
  ASSERT_TRUE(Save(state, dir / "state").ok());
  const Outcome run = server.Run({"import", "--resume", dir / "state", path});
  EXPECT_EQ(run.code, kBadUsage);
  EXPECT_THAT(run.err, HasSubstr("its input was a\\x1b]0;owned\\x07\\nfreshet: forged\n"));
}

TEST(ImportTest, BadUsageIsSaid) {
  FakeServer server;
  const Outcome zone = server.Run({"import", "--time-zone", "Nowhere/Land"});
  EXPECT_EQ(zone.code, kBadUsage);
  EXPECT_THAT(zone.err, HasSubstr("--time-zone: 'Nowhere/Land'"));
  EXPECT_EQ(server.Run({"import", "--format", "heritrix"}).code, kBadUsage);
  const Outcome file = server.Run({"import", "/nonexistent/pages"});
  EXPECT_EQ(file.code, kBadUsage);
  EXPECT_THAT(file.err, HasSubstr("/nonexistent/pages"));
}

}  // namespace
}  // namespace freshet::cli

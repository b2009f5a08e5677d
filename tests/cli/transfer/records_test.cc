// Tests that records of other crawlers are read as pages: every field with a counterpart is read,
// and a bad line does not affect the others.
#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"
#include "tools/cli/transfer/foreign_page.h"
#include "tools/cli/transfer/record_reader.h"

namespace freshet::cli {
namespace {

using google::protobuf::util::TimeUtil;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kNow = 1'700'000'000;  // 2023-11-14T22:13:20Z

struct Read {
  std::vector<ImportedPage> pages;
  std::vector<std::string> errors;
  absl::Status end;
};

class RecordsTest : public testing::Test {
 protected:
  RecordsTest() { options_.now = absl::FromUnixSeconds(kNow); }

  Read ReadText(const std::string& text, ImportFormat format = ImportFormat::kAuto) {
    const std::string path = dir_ / "input";
    std::ofstream(path) << text;
    Read read;
    auto reader = OpenRecords(*ByteSource::Open(path), format, options_);
    read.end = reader.status();
    while (read.end.ok()) {
      ImportedPage page;
      const absl::StatusOr<bool> more = (*reader)->Next(&page);
      if (absl::IsInvalidArgument(more.status())) {
        read.errors.emplace_back(more.status().message());
        continue;
      }
      read.end = more.status();
      if (!more.ok() || !*more) break;
      read.pages.push_back(page);
    }
    return read;
  }

  static std::vector<std::string> Urls(const Read& read) {
    std::vector<std::string> urls;
    for (const ImportedPage& page : read.pages) urls.push_back(page.page.url());
    return urls;
  }

  static std::vector<std::string> LeftOut(const Read& read) {
    std::vector<std::string> faults;
    for (const ImportedPage& page : read.pages) {
      for (const std::string& fault : page.left_out) {
        faults.push_back(page.page.url() + ": " + fault);
      }
    }
    return faults;
  }

  const TempDir dir_;
  ImportOptions options_;
};

constexpr const char* kNutchDump =
    "https://a.test/\tVersion: 7\n"
    "Status: 2 (db_fetched)\n"
    "Fetch time: Tue Nov 14 23:13:20 UTC 2023\n"
    "Modified time: Mon Nov 13 22:13:20 UTC 2023\n"
    "Retries since fetch: 0\n"
    "Retry interval: 86400 seconds (1 days)\n"
    "Score: 2.5\n"
    "Signature: 00ff10\n"
    "Metadata: \n"
    " \t_pst_=success(1), lastModified=0\n"
    " \tnutch.protocol.code=200\n"
    "\n"
    "https://a.test/new\tVersion: 7\n"
    "Status: 1 (db_unfetched)\n"
    "Fetch time: Tue Nov 14 20:13:20 UTC 2023\n"
    "Modified time: Thu Jan 01 00:00:00 UTC 1970\n"
    "Retries since fetch: 2\n"
    "Retry interval: 86400 seconds (1 days)\n"
    "Score: 0.0\n"
    "Signature: null\n"
    "Metadata: \n"
    "\n"
    "https://a.test/moved\tVersion: 7\n"
    "Status: 5 (db_redir_perm)\n"
    "Fetch time: Tue Nov 14 23:13:20 UTC 2023\n"
    "Retry interval: 86400 seconds (1 days)\n"
    "Metadata: \n"
    " \t_pst_=moved(12), lastModified=0: https://a.test/there\n"
    "\n"
    "https://a.test/gone\tVersion: 7\n"
    "Status: 3 (db_gone)\n"
    "Fetch time: Tue Nov 14 23:13:20 UTC 2023\n"
    "Retry interval: 86400 seconds (1 days)\n";

// Checks the pages of the plain dump. The other formats must give the same second and third page.
void ExpectNutchPages(const Read& read) {
  ASSERT_TRUE(read.end.ok()) << read.end;
  ASSERT_THAT(read.pages, SizeIs(testing::Ge(2U)));
  const ImportedPage& fetched = read.pages[0];
  EXPECT_EQ(fetched.page.url(), "https://a.test/");
  EXPECT_EQ(fetched.page.importance(), 2.5);
  EXPECT_FALSE(fetched.page.has_last_crawl_time()) << "a result tells more";
  EXPECT_FALSE(fetched.page.has_not_before());
  EXPECT_FALSE(fetched.page.has_max_interval());
  ASSERT_THAT(fetched.results, SizeIs(1));
  const v1::CrawlResult& result = fetched.results[0];
  // The last fetch was one interval before the next fetch.
  EXPECT_EQ(result.fetch_time().seconds(), kNow + 3600 - 86400);
  EXPECT_EQ(result.last_modified().seconds(), kNow - 86400);
  EXPECT_EQ(result.content_digest(), std::string("\x00\xff\x10", 3));
  EXPECT_EQ(result.outcome(), v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(result.http_status(), 200);

  const ImportedPage& unfetched = read.pages[1];
  EXPECT_FALSE(unfetched.page.has_importance()) << "0 would be never";
  ASSERT_THAT(unfetched.results, SizeIs(2));
  EXPECT_EQ(unfetched.results[0].outcome(), v1::CRAWL_OUTCOME_ERROR);
  EXPECT_LT(unfetched.results[0].fetch_time().seconds(),
            unfetched.results[1].fetch_time().seconds());
}

TEST_F(RecordsTest, NutchDumpsArePages) {
  const Read read = ReadText(kNutchDump);
  EXPECT_THAT(read.errors, IsEmpty());
  ExpectNutchPages(read);
  ASSERT_THAT(read.pages, SizeIs(4));
  EXPECT_EQ(read.pages[1].row, 13U);
  ASSERT_THAT(read.pages[2].results, SizeIs(1));
  EXPECT_EQ(read.pages[2].results[0].outcome(), v1::CRAWL_OUTCOME_MOVED);
  EXPECT_EQ(read.pages[2].results[0].moved_to(), "https://a.test/there");
  EXPECT_EQ(read.pages[3].results[0].outcome(), v1::CRAWL_OUTCOME_GONE);
}

TEST_F(RecordsTest, NutchCsvAndJsonSayTheSame) {
  ExpectNutchPages(ReadText(
      "Url,Status code,Status name,Fetch Time,Modified Time,Retries since fetch,Retry interval "
      "seconds,Retry interval days,Score,Signature,Metadata\n"
      "\"https://a.test/\",2,\"db_fetched\",Tue Nov 14 23:13:20 UTC 2023,Mon Nov 13 22:13:20 UTC "
      "2023,0,86400.0,1.0,2.5,\"00ff10\",\"_pst_:success(1), lastModified=0|||"
      "nutch.protocol.code:200|||\"\n"
      "\"https://a.test/new\",1,\"db_unfetched\",Tue Nov 14 20:13:20 UTC 2023,Thu Jan 01 00:00:00 "
      "UTC 1970,2,86400.0,1.0,0.0,\"null\",\"\"\n"));
  ExpectNutchPages(ReadText(
      R"({"url":"https://a.test/","statusCode":2,"statusName":"db_fetched",)"
      R"("fetchTime":"Tue Nov 14 23:13:20 UTC 2023","modifiedTime":"Mon Nov 13 22:13:20 UTC 2023",)"
      R"("retriesSinceFetch":0,"retryIntervalSeconds":86400,"retryIntervalDays":1,"score":2.5,)"
      R"("signature":"00ff10","metadata":{"nutch.protocol.code":"200"}})"
      "\n"
      R"({"url":"https://a.test/new","statusCode":1,"statusName":"db_unfetched",)"
      R"("fetchTime":"Tue Nov 14 20:13:20 UTC 2023","modifiedTime":"Thu Jan 01 00:00:00 UTC 1970",)"
      R"("retriesSinceFetch":2,"retryIntervalSeconds":86400,"score":0.0,"signature":"null"})"
      "\n"));
}

TEST_F(RecordsTest, SomeFaultsOfAPageAreListed) {
  std::string text = "https://a.test/1\tVersion: 7\n";
  for (int i = 0; i < 1000; ++i) text += "\xff\n";
  const Read read = ReadText(text + "https://a.test/2\tVersion: 7\n");
  ASSERT_THAT(read.pages, SizeIs(2));
  ASSERT_THAT(read.pages[0].left_out, SizeIs(kMostNotes + 1));
  EXPECT_EQ(read.pages[0].left_out.back(), "further faults of the page are not listed");
  EXPECT_THAT(read.pages[1].left_out, IsEmpty());
}

TEST_F(RecordsTest, ABadFieldOfNutchCostsItselfAlone) {
  const Read read = ReadText(
      "https://a.test/1\tVersion: 7\n"
      "Status: 2 (db_fetched)\n"
      "Fetch time: Tue Nov 14 23:13:20 CST 2023\n"
      "https://a.test/2\tVersion: 7\n"
      "Status: 9 (db_lost)\n"
      "https://a.test/3\tVersion: 7\n"
      "Retry interval: soon\n"
      "https://a.test/4\tVersion: 7\n"
      "Score: NaN\n"
      "https://a.test/5\tVersion: 7\n"
      "Status: 1 (db_unfetched)\n");
  EXPECT_THAT(read.errors, IsEmpty()) << "a field costs no page";
  ASSERT_THAT(read.pages, SizeIs(5));
  ASSERT_THAT(LeftOut(read), SizeIs(4));
  EXPECT_THAT(LeftOut(read)[0], HasSubstr("https://a.test/1: fetchTime: "));
  EXPECT_THAT(LeftOut(read)[0], HasSubstr("--time-zone"));
  EXPECT_THAT(LeftOut(read)[1], HasSubstr("https://a.test/2: statusName: 'db_lost'"));
  EXPECT_THAT(LeftOut(read)[2], HasSubstr("https://a.test/3: retryIntervalSeconds: 'soon'"));
  EXPECT_THAT(LeftOut(read)[3], HasSubstr("https://a.test/4: score: 'NaN'"));
  EXPECT_FALSE(read.pages[3].page.has_importance());
}

TEST_F(RecordsTest, DatesOfJavaHaveZones) {
  const absl::Time time = absl::FromUnixSeconds(kNow);
  EXPECT_EQ(*ParseJavaDate("Tue Nov 14 22:13:20 GMT 2023", nullptr), time);
  EXPECT_EQ(*ParseJavaDate("Wed Nov 15 00:13:20 GMT+02:00 2023", nullptr), time);
  EXPECT_FALSE(ParseJavaDate("Tue Nov 14 23:13:20 CET 2023", nullptr).ok());
  const absl::TimeZone hour_ahead = absl::FixedTimeZone(3600);
  EXPECT_EQ(*ParseJavaDate("Tue Nov 14 23:13:20 CET 2023", &hour_ahead), time);
  for (const char* text : {"", "Tue Nov 14", "Tue Foo 14 22:13:20 UTC 2023", "a b c d UTC e"}) {
    EXPECT_FALSE(ParseJavaDate(text, nullptr).ok()) << text;
  }
}

// The documents have the form of elasticdump, or of a search in the index.
TEST_F(RecordsTest, DocumentsOfStormCrawlerArePages) {
  const std::string fetched =
      R"({"_index":"status","_id":"1","_score":1,"_source":{"url":"https://a.test/",)"
      R"("status":"FETCHED","metadata":{"signature":["00ff10"],"fetch%2EstatusCode":["200"],)"
      R"("lastProcessedDate":["2023-11-13T22:13:20Z"],"fetchInterval":["1440"],)"
      R"("protocol%2Eetag":["\"x\""],"last-modified":["Mon, 13 Nov 2023 20:13:20 GMT"],)"
      R"("depth":["1"]},"key":"a.test","nextFetchDate":"2023-11-15T22:13:20.000Z"}})";
  const std::string known = R"({"url":"https://a.test/2","status":"DISCOVERED",)"
                            R"("metadata":{},"nextFetchDate":"2023-11-14T00:00:00Z"})";
  const std::string gone = R"({"url":"https://a.test/3","status":"ERROR",)"
                           R"("metadata":{"fetch.statusCode":"404"},"nextFetchDate":null})";
  const Read read =
      ReadText(fetched + "\n" + known + "\n\n" + R"({"took":3,"hits":{"hits":[)" +
               R"({"_source":)" + gone + R"(},{"_source":{"url":"https://a.test/4",)" +
               R"("status":"REDIRECTION","metadata":{"_redirTo":"https://a.test/"},)" +
               R"("nextFetchDate":"2099-12-31T00:00:00Z"}}]}})" + "\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_THAT(Urls(read), ElementsAre("https://a.test/", "https://a.test/2", "https://a.test/3",
                                      "https://a.test/4"));
  ASSERT_THAT(read.pages[0].results, SizeIs(1));
  const v1::CrawlResult& result = read.pages[0].results[0];
  EXPECT_EQ(result.fetch_time().seconds(), kNow - 86400);
  EXPECT_EQ(result.etag(), "\"x\"");
  EXPECT_EQ(result.last_modified().seconds(), kNow - 86400 - 7200);
  EXPECT_EQ(result.content_digest(), std::string("\x00\xff\x10", 3));
  EXPECT_EQ(result.http_status(), 200);
  EXPECT_THAT(read.pages[1].results, IsEmpty());
  EXPECT_EQ(read.pages[2].results[0].outcome(), v1::CRAWL_OUTCOME_GONE);
  EXPECT_EQ(read.pages[2].row, read.pages[3].row) << "one answer of the index";
  EXPECT_EQ(read.pages[3].results[0].moved_to(), "https://a.test/");
  options_.skip_completed = true;
  EXPECT_THAT(Urls(ReadText(fetched + "\n" + gone + "\n")), ElementsAre("https://a.test/"));
}

// After 3.5.1, StormCrawler writes all keys in lower case. Earlier releases write some keys in the
// case that the server used.
TEST_F(RecordsTest, MetadataOfStormCrawlerIsInWhateverCase) {
  const std::string rest =
      R"("fetchinterval":["1440"],"protocol%2Eetag":["\"x\""],)"
      R"("Last-Modified":["Mon, 13 Nov 2023 20:13:20 GMT"],"Signature":["00ff10"]})";
  const Read storm =
      ReadText(R"({"url":"https://a.test/","status":"FETCHED","metadata":{)"
               R"("fetch%2Estatuscode":["200"],"lastprocesseddate":["2023-11-13T22:13:20Z"],)" +
               rest + R"(,"nextFetchDate":"2023-11-15T22:13:20Z"})" + "\n" +
               R"({"url":"https://a.test/2","status":"REDIRECTION","metadata":{)"
               R"("_redirto":"https://a.test/"},"nextFetchDate":"2023-11-15T22:13:20Z"})"
               "\n"
               R"({"url":"https://a.test/3","status":"FETCH_ERROR","metadata":{)"
               R"("FETCH.ERROR.COUNT":"3"},"nextFetchDate":"2023-11-15T22:13:20Z"})"
               "\n");
  EXPECT_THAT(storm.errors, IsEmpty());
  ASSERT_THAT(storm.pages, SizeIs(3));
  ASSERT_THAT(storm.pages[0].results, SizeIs(1));
  const v1::CrawlResult& result = storm.pages[0].results[0];
  EXPECT_EQ(result.fetch_time().seconds(), kNow - 86400);
  EXPECT_EQ(result.http_status(), 200);
  EXPECT_EQ(result.etag(), "\"x\"");
  EXPECT_EQ(result.last_modified().seconds(), kNow - 86400 - 7200);
  EXPECT_EQ(result.content_digest(), std::string("\x00\xff\x10", 3));
  EXPECT_EQ(storm.pages[1].results[0].moved_to(), "https://a.test/");
  EXPECT_THAT(storm.pages[2].results, SizeIs(3));
  const Read frontier =
      ReadText(R"({"known":{"info":{"url":"https://a.test/","metadata":{"fetch.statuscode":)"
               R"({"values":["200"]},"lastprocesseddate":{"values":["2023-11-13T22:13:20Z"]}}},)"
               R"("refetchableFromDate":"1700086400"}})"
               "\n");
  EXPECT_THAT(frontier.errors, IsEmpty());
  ASSERT_THAT(frontier.pages, SizeIs(1));
  ASSERT_THAT(frontier.pages[0].results, SizeIs(1));
  EXPECT_EQ(frontier.pages[0].results[0].fetch_time().seconds(), kNow - 86400);
}

TEST_F(RecordsTest, TheTableOfStormCrawlerIsPages) {
  const Read csv = ReadText(
      "id,url,status,nextfetchdate,metadata,bucket,host\n"
      "7,https://a.test/,FETCHED,2023-11-15 "
      "22:13:20,\"\tfetchInterval=1440\tsignature=00ff10\",0,a\n"
      "8,https://a.test/2,LOST,2023-11-15 22:13:20,,0,a\n"
      "9,https://a.test/3,FETCHED,someday,,0,a\n"
      "10,https://a.test/4,DISCOVERED,2023-11-15 22:13:20,,0,a\n");
  EXPECT_THAT(Urls(csv), ElementsAre("https://a.test/", "https://a.test/2", "https://a.test/3",
                                     "https://a.test/4"));
  EXPECT_THAT(csv.errors, IsEmpty()) << "a field costs no page";
  ASSERT_THAT(LeftOut(csv), SizeIs(2));
  EXPECT_THAT(LeftOut(csv)[0], HasSubstr("https://a.test/2: status: 'LOST'"));
  EXPECT_THAT(LeftOut(csv)[1], HasSubstr("https://a.test/3: nextFetchDate: 'someday'"));
  ASSERT_THAT(csv.pages[0].results, SizeIs(1));
  EXPECT_EQ(csv.pages[0].results[0].fetch_time().seconds(), kNow);
  const Read tsv = ReadText(
      "url\tstatus\tnextfetchdate\tmetadata\n"
      "https://a.test/\tFETCH_ERROR\t2023-11-15 22:13:20\t\\tfetch.error.count=3\n");
  ASSERT_THAT(tsv.pages, SizeIs(1)) << testing::PrintToString(tsv.errors);
  EXPECT_THAT(tsv.pages[0].results, SizeIs(3));
  EXPECT_FALSE(ReadText("status\tnextfetchdate\turls\n", ImportFormat::kStorm).end.ok());
}

// StormCrawler stores the status -1 if a fetch failed without an answer.
TEST_F(RecordsTest, AStatusThatIsNoneCostsItselfAlone) {
  const Read storm =
      ReadText(R"({"url":"https://a.test/","status":"FETCH_ERROR",)"
               R"("metadata":{"fetch.statusCode":["-1"],"fetch.error.count":["2"]},)"
               R"("nextFetchDate":"2023-11-15T22:13:20Z"})"
               "\n"
               R"({"url":"https://a.test/2","status":"FETCHED","nextFetchDate":null,)"
               R"("metadata":{"lastProcessedDate":["soon"],"signature":["00ff10"]}})"
               "\n");
  EXPECT_THAT(storm.errors, IsEmpty());
  EXPECT_THAT(LeftOut(storm),
              ElementsAre(HasSubstr("https://a.test/: metadata: fetch.statusCode: '-1'"),
                          HasSubstr("https://a.test/2: metadata: lastProcessedDate: 'soon'")));
  ASSERT_THAT(storm.pages, SizeIs(2));
  EXPECT_THAT(storm.pages[0].results, SizeIs(2)) << "two failures";
  const Read frontier =
      ReadText(R"({"known":{"info":{"url":"https://a.test/","metadata":{"fetch.statusCode":)"
               R"({"values":["-1"]}}},"refetchableFromDate":"1700086400"}})"
               "\n");
  EXPECT_THAT(frontier.errors, IsEmpty());
  EXPECT_THAT(LeftOut(frontier), ElementsAre(HasSubstr("fetch.statusCode: '-1'")));
}

TEST_F(RecordsTest, WhatALaterReleaseMayWriteCostsItselfAlone) {
  const Read read =
      ReadText(R"({"page":{"url":"https://a.test/","importance":"NaN","http_status":-1,)"
               R"("known_change_rate_per_day":"Infinity","last_crawl_time":"2023-11-13T22:13:20Z",)"
               R"("last_outcome":"CRAWL_OUTCOME_CHANGED"}})"
               "\n"
               R"({"page":{"url":"https://a.test/2","importance":3,)"
               R"("last_outcome":"CRAWL_OUTCOME_OF_TOMORROW"},"of_tomorrow":1})"
               "\n"
               R"({"page":{"url":"https://a.test/3","importance":{}}})"
               "\n");
  ASSERT_THAT(Urls(read), ElementsAre("https://a.test/", "https://a.test/2"));
  EXPECT_THAT(read.errors, ElementsAre(HasSubstr("row 3: no PageRecord: ")));
  ASSERT_THAT(LeftOut(read), SizeIs(4));
  EXPECT_THAT(LeftOut(read)[0], HasSubstr("importance: nan is not a number"));
  EXPECT_THAT(LeftOut(read)[1], HasSubstr("known_change_rate_per_day: inf is not a number"));
  EXPECT_THAT(LeftOut(read)[2], HasSubstr("http_status: -1 is not 100 to 599"));
  EXPECT_THAT(LeftOut(read)[3], HasSubstr("https://a.test/2: "));
  EXPECT_FALSE(read.pages[0].page.has_importance());
  ASSERT_THAT(read.pages[0].results, SizeIs(1));
  EXPECT_FALSE(read.pages[0].results[0].has_http_status());
  EXPECT_EQ(read.pages[1].page.importance(), 3);
}

// Previously, a line of 70 bytes took a gigabyte and made half a million results.
TEST_F(RecordsTest, ALineMakesNoMoreFailuresThanTheServerCounts) {
  const Read read = ReadText(R"({"page":{"url":"https://a.test/","consecutiveErrors":4294967295}})"
                             "\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_THAT(read.pages, SizeIs(1));
  EXPECT_THAT(read.pages[0].results, SizeIs(255));
  EXPECT_THAT(LeftOut(read),
              ElementsAre(HasSubstr("consecutive_errors: 4294967040 of 4294967295")));
}

// Each crawl of a page is sent with the page's URL. Previously, a line that had only a few
// kilobytes in a compressed file took gigabytes.
TEST_F(RecordsTest, ALineMakesNoMoreCrawlsThanTheServerKeeps) {
  std::string line =
      R"({"page":{"url":"https://a.test/","lastCrawlTime":"2026-01-02T00:00:00Z","crawls":1000},)"
      R"("observations":[)";
  for (int i = 0; i < 1000; ++i) line += R"({"fetchTime":"2026-01-01T00:00:00Z"},)";
  line.back() = ']';
  const Read read = ReadText(line + "}\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_THAT(read.pages, SizeIs(1));
  EXPECT_THAT(read.pages[0].results, SizeIs(24));
  EXPECT_THAT(LeftOut(read), ElementsAre(HasSubstr("observations: 976 of 1000")));
  const std::string longest = "https://a.test/" + std::string(8192 - 15, 'x');
  EXPECT_THAT(ReadText(R"({"page":{"url":")" + longest + "\"}}\n").errors, IsEmpty());
  EXPECT_THAT(ReadText(R"({"page":{"url":")" + longest + "x\"}}\n").errors,
              ElementsAre(HasSubstr("page.url: is longer than 8192 bytes")));
}

// Previously, a calculation with the dates of one line ended the command, and no page of the file
// was imported.
TEST_F(RecordsTest, DatesMayBeTheFirstAndTheLast) {
  const Read read = ReadText(
      R"({"page":{"url":"https://a.test/","last_crawl_time":"9999-12-31T23:59:59Z","crawls":1,)"
      R"("consecutive_errors":1}})"
      "\n"
      R"({"page":{"url":"https://b.test/"},"observations":[{"fetch_time":"0001-01-01T00:00:00Z",)"
      R"("elapsed":"1.5s","changed":true}]})"
      "\n"
      R"({"page":{"url":"https://c.test/"},"observations":[{"fetch_time":"2024-01-01T00:00:01Z",)"
      R"("elapsed":"1.5s","changed":true}]})"
      "\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_THAT(read.pages, SizeIs(3));
  const auto& results = read.pages[2].results;
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(TimeUtil::ToString(results[0].fetch_time()), "2023-12-31T23:59:59.500Z");
}

TEST_F(RecordsTest, ExportsOfCrawlFrontiersArePages) {
  const std::string lines =
      R"({"known":{"info":{"url":"https://a.test/","key":"a.test","metadata":{"signature":)"
      R"({"values":["00ff10"]},"lastProcessedDate":{"values":["2023-11-13T22:13:20Z"]}},)"
      R"("crawlID":"shop"},"refetchableFromDate":"1700086400"},"creationDate":"1690000000"})"
      "\n"
      R"({"known":{"info":{"url":"https://a.test/2"},"refetchable_from_date":1700086400}})"
      "\n"
      R"({"discovered":{"info":{"url":"https://a.test/3"}}})"
      "\n"
      R"({"known":{"info":{"url":"https://a.test/4"}}})"
      "\n"
      R"({"known":{"info":{}}})"
      "\n{\"known\":\n";
  const Read read = ReadText(lines);
  ASSERT_THAT(Urls(read), ElementsAre("https://a.test/", "https://a.test/2", "https://a.test/3",
                                      "https://a.test/4"));
  ASSERT_THAT(read.errors, SizeIs(2));
  EXPECT_THAT(read.errors[0], HasSubstr("row 5: url: missing"));
  EXPECT_THAT(read.errors[1], HasSubstr("row 6: no URLItem"));
  EXPECT_EQ(read.pages[0].page.crawl_id(), "shop");
  ASSERT_THAT(read.pages[0].results, SizeIs(1));
  EXPECT_EQ(read.pages[0].results[0].fetch_time().seconds(), kNow - 86400);
  EXPECT_FALSE(read.pages[0].page.has_not_before());
  // This record has a date for the next fetch, but no time of the last one. Without the date, its
  // page would be due at once.
  EXPECT_EQ(read.pages[1].page.not_before().seconds(), kNow + 86400);
  EXPECT_THAT(read.pages[2].results, IsEmpty());
  EXPECT_FALSE(read.pages[2].page.has_not_before());
  options_.skip_completed = options_.keep_dates = true;
  const Read kept = ReadText(lines);
  EXPECT_THAT(kept.pages, SizeIs(3));
  EXPECT_EQ(kept.pages[0].page.not_before().seconds(), kNow + 86400);
}

TEST_F(RecordsTest, RowsHaveSettingsAndTheLastCrawl) {
  options_.crawl_id = "shop";
  const Read read = ReadText(
      "url\timportance\tmax_interval\tlast_crawl_time\toutcome\tetag\tcontent_digest\thttp_status\n"
      "https://a.test/\t2\t7d\t2023-11-13T22:13:20Z\tunchanged\t\"x\"\tAP8Q\t304\n"
      "https://a.test/2\t\t\t2023-11-13T22:13:20Z\n"
      "https://a.test/3\tmuch\n"
      "https://a.test/4\t\t\t\t\t\"x\"\n"
      "https://a.test/5\n");
  ASSERT_THAT(Urls(read), ElementsAre("https://a.test/", "https://a.test/2", "https://a.test/3",
                                      "https://a.test/5"));
  EXPECT_THAT(LeftOut(read), ElementsAre(HasSubstr("https://a.test/3: importance: 'much'")));
  ASSERT_THAT(read.errors, SizeIs(1));
  EXPECT_THAT(read.errors[0], HasSubstr("row 5: last_crawl_time: missing"));
  EXPECT_EQ(read.pages[0].page.crawl_id(), "shop");
  EXPECT_EQ(read.pages[0].page.max_interval().seconds(), 7 * 86400);
  ASSERT_THAT(read.pages[0].results, SizeIs(1));
  EXPECT_EQ(read.pages[0].results[0].outcome(), v1::CRAWL_OUTCOME_UNCHANGED);
  EXPECT_EQ(read.pages[0].results[0].http_status(), 304);
  EXPECT_EQ(read.pages[1].page.last_crawl_time().seconds(), kNow - 86400);
  EXPECT_THAT(read.pages[1].results, IsEmpty());
  // A header with an unknown column ends the input, as every later line would be wrong.
  const Read bad = ReadText("url\tcolour\nhttps://a.test/\tred\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(bad.end)) << bad.end;
  EXPECT_THAT(bad.pages, IsEmpty());
}

TEST_F(RecordsTest, LinesHaveALimitAndWhatComesAfterItIsRead) {
  const std::string huge = R"({"page":{"url":"https://a.test/)" +
                           std::string(kMaxRecordBytes + (1 << 17), 'x') + "\"}}\n";
  const Read read = ReadText(R"({"page":{"url":"https://a.test/1"}})"
                             "\n" +
                             huge + "\xff\n" + R"({"page":{"url":"https://a.test/2"}})" + "\n");
  EXPECT_THAT(Urls(read), ElementsAre("https://a.test/1", "https://a.test/2"));
  ASSERT_THAT(read.errors, SizeIs(2));
  EXPECT_THAT(read.errors[0], HasSubstr("row 2: longer than 16777216 bytes"));
  EXPECT_THAT(read.errors[1], HasSubstr("row 3: not valid UTF-8"));
  ASSERT_THAT(read.pages, SizeIs(2));
  EXPECT_EQ(read.pages[1].row, 4U);
  EXPECT_THAT(std::string(ReadText("[{}]").end.message()), HasSubstr("an object a line"));
}

}  // namespace
}  // namespace freshet::cli

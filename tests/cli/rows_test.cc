// Tests that unreadable rows are reported and skipped, or end the input.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/fake_server.h"
#include "tests/support/gzip.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;

TEST(RowsTest, NamesAMalformedRowAndGoesOnUnlessItIsToBeStrict) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"url\timportance\nhttp://a.test/\t1\nhttp://b.test/\tnan\nhttp://c.test/\t1\n",
       "freshet: row 3: importance: 'nan' is not a finite number\n"},
      {"http://a.test/\nhttp://b.test/ -1\nhttp://c.test/\n",
       "freshet: row 2: importance: '-1' is not a number of at least 0\n"},
      {"http://a.test/\nhttp://b.test/,http://d.test/\nhttp://c.test/\n",
       "freshet: row 2: looks like CSV, which needs a first line that names its columns, such as "
       "'url,importance'; 'url' alone there means that commas belong to the URLs\n"},
      {"url\timportance\nhttp://a.test/\t1\n\t1\nhttp://c.test/\n",
       "freshet: row 3: url: missing\n"},
      {"url\timportance\nhttp://b.test/\t1\t2\nhttp://a.test/\nhttp://c.test/\n",
       "freshet: row 2: 3 columns where at most 2 are expected\n"},
      {"url,importance\nhttp://a.test/,1\n\"http://b.test/,2\n\"http://c.test/\",3\n",
       "freshet: row 3: a quote is not closed in its line\n"},
      {"{\"url\":\"http://a.test/\"}\n{\"url\":\n{\"url\":\"http://c.test/\"}\n",
       "freshet: row 2: not an object of JSON\n"},
      {"{\"url\":\"http://b.test/\",\"prio\":1}\n{\"url\":\"http://a.test/\"}\n"
       "{\"url\":\"http://c.test/\"}\n",
       "freshet: row 1: unknown field 'prio'\n"},
      {"http://b.test/\xFF\nhttp://a.test/\nhttp://c.test/\n",
       "freshet: row 1: not valid UTF-8\n"}};
  for (const auto& [input, error] : bad) {
    FakeServer server;
    const Outcome run = server.Run({"upsert"}, input);
    EXPECT_EQ(run.code, kRefused) << input;
    EXPECT_EQ(run.err, error) << input;
    EXPECT_EQ(run.out, "3 pages: 2 applied, 1 refused\n") << input;
    std::string taken;
    for (const auto& request : server.pages.upserts.requests) {
      for (const auto& page : request.pages()) taken += page.url();
    }
    EXPECT_EQ(taken, "http://a.test/http://c.test/") << input;
    const Outcome strict = server.Run({"upsert", "--strict"}, input);
    EXPECT_EQ(strict.code, kBadUsage) << input;
    EXPECT_EQ(strict.err, error) << input;
  }
  FakeServer server;
  // A plain line can be any text. The server checks whether it is a URL.
  EXPECT_EQ(server.Run({"upsert"}, "http://a.test/\n{}\n").code, kAccepted);
  const std::string out = server.Run({"--json", "upsert"}, bad[1].first).out;
  const auto refused = nlohmann::json::parse(out.substr(0, out.find('\n')));
  EXPECT_EQ(refused["row"], 2);
  EXPECT_EQ(refused["outcome"], "ITEM_OUTCOME_REFUSED");
  EXPECT_EQ(refused["error"]["code"], "ERROR_CODE_INVALID_ARGUMENT");
  EXPECT_EQ(nlohmann::json::parse(out.substr(out.find('\n')))["refused"], 1);
}

TEST(RowsTest, EndsWhereNothingBehindCanBeUnderstood) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"url\tpriority\nhttp://a.test/\t1\n", "freshet: row 1: unknown column 'priority'\n"},
      {"url\turl\n", "freshet: row 1: column 'url' is there twice\n"},
      {Gzip("http://a.test/\n").substr(0, 20), "freshet: the compressed input is cut off\n"}};
  for (const auto& [input, error] : bad) {
    FakeServer server;
    const Outcome run = server.Run({"upsert"}, input);
    EXPECT_EQ(run.code, kBadUsage) << input;
    EXPECT_EQ(run.err, error) << input;
  }
}

// Previously, each line of a UTF-16 input was reported as an unreadable row, "not valid UTF-8".
TEST(RowsTest, AnInputInUtf16IsRefusedAsAWhole) {
  for (const std::string& mark : {std::string("\xFF\xFE"), std::string("\xFE\xFF")}) {
    for (const char* command : {"upsert", "remove", "import"}) {
      FakeServer server;
      const Outcome run = server.Run({command}, mark + std::string("h\0t\0t\0p\0\n\0", 10));
      EXPECT_EQ(run.code, kBadUsage) << command;
      EXPECT_THAT(run.err, HasSubstr("it is UTF-16: make it UTF-8 first")) << command;
      EXPECT_TRUE(server.pages.upserts.requests.empty()) << command;
    }
  }
}

TEST(RowsTest, IfStrictSendsTheRowsBeforeAMalformedOne) {
  FakeServer server;
  const Outcome run = server.Run({"upsert", "--strict"}, "http://a.test/\nhttp://b.test/ x\n");
  EXPECT_EQ(run.code, kBadUsage);
  EXPECT_EQ(run.out, "1 page: 1 applied\n");
  ASSERT_EQ(server.pages.upserts.requests.size(), 1U);
  EXPECT_EQ(server.pages.upserts.requests[0].pages_size(), 1);
}

TEST(RowsTest, EveryCommandReadsOnBehindAnUnreadableLine) {
  for (const char* command : {"report", "signal", "remove", "recheck"}) {
    FakeServer server;
    const std::string input = "http://a.test/ changed\n\xFF\nhttp://c.test/ changed\n";
    const Outcome run = server.Run({command}, input);
    if (*command == 'r' && command[2] != 'p') {  // commands that take only URLs
      EXPECT_THAT(run.err, HasSubstr("row 1: 2 columns where at most 1 are expected"));
      EXPECT_THAT(run.err, HasSubstr("row 3: 2 columns where at most 1 are expected"));
    }
    EXPECT_EQ(run.code, kRefused) << command;
    EXPECT_THAT(run.err, HasSubstr("row 2: not valid UTF-8")) << command;
    const Outcome strict = server.Run({command, "--strict"}, "\xFF\n" + input);
    EXPECT_EQ(strict.code, kBadUsage) << command;
    EXPECT_THAT(strict.err, HasSubstr("row 1: not valid UTF-8")) << command;
  }
}

}  // namespace
}  // namespace freshet::cli

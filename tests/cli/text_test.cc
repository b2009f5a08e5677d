// Tests values in the form in which people write and read them, and messages as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "freshet/v1/admin.pb.h"
#include "freshet/v1/pages.pb.h"
#include "tools/cli/display.h"
#include "tools/cli/json.h"
#include "tools/cli/lines.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

TEST(ParseTest, ReadsTimesAndRefusesWhatIsNone) {
  const std::vector<std::pair<const char*, int64_t>> good = {
      {"0", 0},
      {"1700000000", 1'700'000'000},
      {"-86400", -86400},
      {"2024-02-29", 1'709'164'800},
      {"2024-02", 1'706'745'600},
      {"2024-02-29T12:00Z", 1'709'208'000},
      {"2024-02-29T12:00:00+02:00", 1'709'200'800},
      {"2024-02-29T12:00:00", 1'709'208'000},
      {"2024-02-29 12:00:00", 1'709'208'000},
      {"9999-12-31", 253'402'214'400}};
  for (const auto& [text, seconds] : good) {
    const auto time = ParseTime(text);
    ASSERT_TRUE(time.ok()) << text << time.status();
    EXPECT_EQ(time->seconds(), seconds) << text;
    EXPECT_EQ(time->nanos(), 0) << text;
  }
  EXPECT_EQ(ParseTime("-0.25")->seconds(), -1);
  EXPECT_EQ(ParseTime("-0.25")->nanos(), 750'000'000);
  EXPECT_EQ(ParseTime("2024-02-29T12:00:00.5Z")->nanos(), 500'000'000);
  for (const char* bad : {"", "soon", "2024-13-01", "2024-02-30", "1e300", "nan", "253402300800",
                          "12024-01-01", "2024-02-29T25:00Z", "1700000000 "}) {
    EXPECT_FALSE(ParseTime(bad).ok()) << bad;
  }
}

TEST(ParseTest, ReadsDurationsAndRefusesWhatIsNone) {
  EXPECT_EQ(ParseDuration("90")->seconds(), 90);
  EXPECT_EQ(ParseDuration("1h30m")->seconds(), 5400);
  EXPECT_EQ(ParseDuration("7d")->seconds(), 7 * 86400);
  EXPECT_EQ(ParseDuration("250ms")->nanos(), 250'000'000);
  EXPECT_EQ(ParseDuration("5us")->nanos(), 5000);
  EXPECT_EQ(ParseDuration("0")->seconds(), 0);
  for (const char* bad :
       {"", "h", "-1s", "1w", "1 h", "nan", "inf", "1e99", "1..5s", "400000000000"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(ParseTest, ReadsNumbersAndWordsAndRefusesWhatIsNone) {
  EXPECT_EQ(*ParseNumber("-1.5e3"), -1500);
  EXPECT_EQ(*ParseCount("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*ParseOutcome("Gone"), v1::CRAWL_OUTCOME_GONE);
  EXPECT_EQ(*ParseOutcome("CRAWL_OUTCOME_MOVED"), v1::CRAWL_OUTCOME_MOVED);
  EXPECT_TRUE(*ParseBool("Yes"));
  for (const char* bad : {"", " 1", "1x", "nan", "-inf", "0x10", "1e999"}) {
    EXPECT_FALSE(ParseNumber(bad).ok()) << bad;
  }
  EXPECT_FALSE(ParseNonNegative("-0.1").ok());
  EXPECT_FALSE(ParseCount("-1").ok());
  EXPECT_FALSE(ParseCount("18446744073709551616").ok());
  EXPECT_FALSE(ParseBool("perhaps").ok());
  EXPECT_FALSE(ParseOutcome("").ok());
}

TEST(Utf8Test, RefusesWhatIsMalformed) {
  for (const char* good : {"", "plain", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xE0\x80\x80", "\xFF", "\xE2\x82"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
}

TEST(JsonTest, FollowsTheStandardForm) {
  v1::PageRecord record;
  v1::Page& page = *record.mutable_page();
  page.set_url("http://a.test/\xC3\xA4\"");
  page.set_importance(std::numeric_limits<double>::infinity());
  page.set_known_change_rate_per_day(0);
  page.set_content_digest(std::string("\0\xFF", 2));
  page.set_last_outcome(v1::CRAWL_OUTCOME_GONE);
  page.set_crawls((uint64_t{1} << 53) + 1);
  page.set_changes(uint64_t{1} << 53);
  page.mutable_min_interval()->set_nanos(1'500'000);
  page.mutable_first_seen_time()->set_seconds(1);
  record.add_observations()->set_changed(true);
  const auto printed = ToJson(record);
  EXPECT_EQ(printed["page"]["url"], "http://a.test/\xC3\xA4\"");
  EXPECT_EQ(printed["page"]["importance"], "Infinity");
  EXPECT_EQ(printed["page"]["known_change_rate_per_day"], 0.0);
  EXPECT_EQ(printed["page"]["content_digest"], "AP8=");
  EXPECT_EQ(printed["page"]["last_outcome"], "CRAWL_OUTCOME_GONE");
  EXPECT_EQ(printed["page"]["crawls"], "9007199254740993");
  EXPECT_EQ(printed["page"]["changes"], 9007199254740992);
  EXPECT_EQ(printed["page"]["min_interval"], "0.001500s");
  EXPECT_EQ(printed["page"]["first_seen_time"], "1970-01-01T00:00:01Z");
  EXPECT_EQ(printed["page"]["complete_signals"], false);
  EXPECT_FALSE(printed["page"].contains("max_interval"));
  EXPECT_FALSE(printed["page"].contains("http_status"));
  EXPECT_EQ(printed["observations"][0]["changed"], true);
  EXPECT_EQ(ToJsonLine(record).find('\n'), std::string::npos);
}

TEST(TableTest, AlignsColumnsAcrossFlushes) {
  std::ostringstream out;
  Table table(out, {{"n", Table::Align::kRight}, {"name"}, {"url"}});
  table.Add({"1", "\xC3\xA4", "u"});
  table.Add({"10", "abc", "v"});
  table.Flush();
  table.Add({"5", "d", "w"});
  table.Flush();
  EXPECT_EQ(out.str(), " n  name  url\n 1  \xC3\xA4     u\n10  abc   v\n 5  d     w\n");
}

TEST(DisplayTest, WideCharactersTakeTwoCellsAndMarksNone) {
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("\u65E5\u672C"), 4U);  // two Japanese characters
  EXPECT_EQ(DisplayWidth("e\u0301"), 1U);       // a lone accent
  EXPECT_EQ(DisplayWidth("\U0001F600"), 2U);    // an emoji
  EXPECT_EQ(DisplayWidth("\xff\xfe"), 2U);
  EXPECT_EQ(CutEnd("abcdef", 4), "abc\u2026");
  EXPECT_EQ(CutEnd("\u65E5\u672C\u8A9E", 4), "\u65E5\u2026") << "no half of one";
  EXPECT_EQ(CutMiddle("https://a.test/long/path", 11), "https\u2026/path");
  EXPECT_EQ(CutMiddle("abcde\u0301", 3), "a\u2026e\u0301");
  for (size_t width = 0; width < 9; ++width) {
    const std::string text = "a\u65E5b\u672Cc\u8A9E";
    EXPECT_LE(DisplayWidth(CutMiddle(text, width)), width);
    EXPECT_LE(DisplayWidth(CutEnd(text, width)), width);
  }
}

TEST(TableTest, FitsATerminal) {
  std::ostringstream out;
  const std::string url = "https://a.test/some/long/path/to/page-1";
  Table table(out, {{"n", Table::Align::kRight}, {"name"}, {"url"}}, 40);
  table.Add({"123456", "a name that is long", url});
  table.Flush();
  table.Add({"7", "x", url + "/and/more"});
  table.Add({"7", "x", "https://b.test/"});
  table.Flush();
  std::istringstream lines(out.str());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(DisplayWidth(line), 40U) << line;
  }
  EXPECT_EQ(count, 4);
  EXPECT_THAT(out.str(), testing::HasSubstr("123456  "));
  EXPECT_THAT(out.str(), testing::HasSubstr("page-1\n"));
  EXPECT_THAT(out.str(), testing::HasSubstr("https://b.test/\n"));
  // Output that does not go to a terminal is not cut.
  std::ostringstream whole;
  Table free(whole, {{"name"}, {"url"}});
  free.Add({"x", std::string(500, 'u')});
  free.Flush();
  EXPECT_THAT(whole.str(), testing::HasSubstr(std::string(500, 'u')));
}

TEST(TableTest, CutsTimesToTheMinuteOrTheDay) {
  const auto first = [](size_t columns) {
    std::ostringstream out;
    Table table(out, {{"last crawl"}, {"url"}}, columns);
    table.Add({"2024-05-17 08:30:01Z", "https://a.test/" + std::string(60, 'u')});
    table.Flush();
    const std::string text = out.str();
    const std::string row = text.substr(text.find('\n') + 1);
    return row.substr(0, row.find("  "));
  };
  EXPECT_EQ(first(120), "2024-05-17 08:30:01Z");
  EXPECT_EQ(first(32 + 2 + 17), "2024-05-17 08:30");
  EXPECT_EQ(first(32 + 2 + 11), "2024-05-17");
  EXPECT_EQ(first(32 + 2 + 10), "2024-05-17");
}

TEST(TableTest, ShowsValuesForPeople) {
  EXPECT_EQ(ShowCounted(1, "page"), "1 page");
  EXPECT_EQ(ShowCounted(0, "page"), "0 pages");
  EXPECT_EQ(ShowCounted(1234, "entry", "entries"), "1,234 entries");
  google::protobuf::Duration duration;
  duration.set_seconds(93'784);
  EXPECT_EQ(ShowDuration(duration), "1 d 2 h");
  duration.set_seconds(3600);
  EXPECT_EQ(ShowDuration(duration), "1 h");
  EXPECT_EQ(ShowCount(1'234'567), "1,234,567");
  EXPECT_EQ(ShowCount(123), "123");
  EXPECT_EQ(ShowNumber(0.000123456), "0.0001235");
  EXPECT_EQ(ShowBytes(1536), "1.5 KiB");
  EXPECT_EQ(ShowShare(0.9312), "93.1%");
  EXPECT_EQ(ShowText("a\x1b[2Jb\n"), "a\\x1b[2Jb\\n");
  // A C1 byte that starts a control sequence, and a character that changes the text direction.
  EXPECT_EQ(ShowText("a\u009b2Jb\u202ec\xff"), "a\\u009b2Jb\\u202ec\\xff");
}

TEST(TableTest, CutsNamesThatNobodyCouldRead) {
  EXPECT_EQ(ShowName("http://a.test/1"), "http://a.test/1");
  const std::string shown = ShowName("http://a.test/" + std::string(1 << 20, 'z'));
  EXPECT_LE(shown.size(), 210U);
  EXPECT_THAT(shown, testing::StartsWith("http://a.test/zzz"));
  EXPECT_LE(ShowName(std::string(1 << 20, '\x1b')).size(), 210U);
}

}  // namespace
}  // namespace freshet::cli

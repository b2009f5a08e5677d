#include "tools/cli/feed_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace freshet::cli {
namespace {

using testing::HasSubstr;

struct Parsed {
  absl::Status status;
  FeedKind kind = FeedKind::kUnknown;
  std::vector<FeedEntry> entries;
};

int64_t SecondsOf(const FeedEntry& entry) {
  return entry.modified.ok() ? entry.modified->seconds() : -1;
}

// In pieces, as a network gives them.
Parsed Parse(const std::string& bytes, size_t piece = 7) {
  Parsed parsed;
  FeedParser parser([&parsed](FeedEntry entry) { parsed.entries.push_back(std::move(entry)); });
  for (size_t i = 0; i < bytes.size() && parsed.status.ok(); i += piece) {
    parsed.status = parser.Feed(std::string_view(bytes).substr(i, piece));
  }
  if (parsed.status.ok()) parsed.status = parser.Finish();
  parsed.kind = parser.kind();
  return parsed;
}

TEST(FeedParser, ReadsSitemapsAndTheirIndexes) {
  const Parsed map = Parse(
      "<?xml version='1.0'?><s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'>"
      "<s:url><s:loc> http://a.test/?a=1&amp;b=2\n</s:loc><s:lastmod>2024-05-17</s:lastmod>"
      "<s:priority>0.7</s:priority></s:url>"
      "<s:url><s:loc><![CDATA[http://a.test/b]]></s:loc><s:lastmod>soon</s:lastmod>"
      "<image:image xmlns:image='i'><image:loc>http://a.test/i.png</image:loc></image:image>"
      "</s:url><s:url/></s:urlset>");
  ASSERT_TRUE(map.status.ok()) << map.status;
  EXPECT_EQ(map.kind, FeedKind::kSitemap);
  ASSERT_EQ(map.entries.size(), 2U);
  EXPECT_EQ(map.entries[0].url, "http://a.test/?a=1&b=2");
  EXPECT_EQ(SecondsOf(map.entries[0]), 1715904000);
  EXPECT_EQ(map.entries[1].url, "http://a.test/b");
  EXPECT_TRUE(absl::IsInvalidArgument(map.entries[1].modified.status()));
  const Parsed index =
      Parse("<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap></sitemapindex>");
  EXPECT_EQ(index.kind, FeedKind::kIndex);
  ASSERT_EQ(index.entries.size(), 1U);
}

TEST(FeedParser, ReadsRssAndAtom) {
  const Parsed rss = Parse(
      "<rss version='2.0'><channel><link>http://a.test/</link><item><title>x</title>"
      "<link>http://a.test/1</link><pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate></item>"
      "</channel></rss>");
  ASSERT_EQ(rss.entries.size(), 1U) << rss.status;
  EXPECT_EQ(rss.kind, FeedKind::kRss);
  EXPECT_EQ(rss.entries[0].url, "http://a.test/1");
  EXPECT_EQ(SecondsOf(rss.entries[0]), 1055217600);
  const Parsed atom = Parse(
      "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a.test/'/><entry>"
      "<link rel='edit' href='http://a.test/e'/><link href='http://a.test/2'/>"
      "<updated>2003-12-13T18:30:02Z</updated></entry></feed>");
  ASSERT_EQ(atom.entries.size(), 1U) << atom.status;
  EXPECT_EQ(atom.kind, FeedKind::kAtom);
  EXPECT_EQ(atom.entries[0].url, "http://a.test/2");
  EXPECT_EQ(SecondsOf(atom.entries[0]), 1071340202);
}

TEST(FeedParser, DatesOfRssHaveManyForms) {
  for (const char* text : {"Tue, 10 Jun 2003 04:00:00 GMT", "10 Jun 2003 04:00:00 +0000",
                           "Tue, 10 Jun 2003 00:00 EDT", " 10 Jun 2003 04:00 Z "}) {
    const auto time = ParseRssDate(text);
    ASSERT_TRUE(time.ok()) << time.status();
    EXPECT_EQ(time->seconds(), 1055217600) << text;
  }
  for (const char* text : {"", "yesterday", "10 Jun", "2003-06-10"}) {
    EXPECT_FALSE(ParseRssDate(text).ok()) << text;
  }
}

TEST(FeedParser, WhatIsNoFeedIsRefusedWithAReason) {
  const auto why = [](const std::string& bytes) {
    const Parsed parsed = Parse(bytes, 4096);
    EXPECT_FALSE(parsed.status.ok()) << bytes.substr(0, 60);
    return std::string(parsed.status.message());
  };
  EXPECT_THAT(why("<!DOCTYPE html><html><body>"), HasSubstr("root is <html>"));
  EXPECT_THAT(why("<urlset><url></urlset>"), HasSubstr("no XML: mismatched tag"));
  EXPECT_THAT(why("<urlset><url><loc>http://a.test/"), HasSubstr("no XML"));
  EXPECT_THAT(why("{\"a\": 1}"), HasSubstr("no XML"));
  EXPECT_THAT(why(""), HasSubstr("no XML"));
  EXPECT_THAT(why("<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]>"
                  "<urlset><url><loc>&b;</loc></url></urlset>"),
              HasSubstr("declares entities"));
  EXPECT_THAT(why("<!DOCTYPE urlset [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><urlset/>"),
              HasSubstr("declares entities"));
  std::string deep = "<urlset>";
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_THAT(why(deep), HasSubstr("deep"));
  EXPECT_THAT(why("<urlset><url><loc>" + std::string(20'000, 'a')), HasSubstr("more than 16384"));
}

TEST(FeedParser, TheirCountHasACap) {
  std::string many = "<urlset>";
  for (int i = 0; i <= 50'000; ++i) many += "<url><loc>http://a.test/</loc></url>";
  const Parsed counted = Parse(many + "</urlset>", 65'536);
  EXPECT_THAT(counted.status.message(), HasSubstr("more than 50000 entries"));
}

}  // namespace
}  // namespace freshet::cli

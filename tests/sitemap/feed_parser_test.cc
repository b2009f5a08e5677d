#include "tools/sitemap/feed_parser.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/sitemap/document.h"

namespace freshet::sitemap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  absl::StatusOr<FeedSummary> summary = absl::UnknownError("");
  std::vector<FeedEntry> entries;

  [[nodiscard]] std::vector<std::string> Urls() const {
    std::vector<std::string> urls;
    for (const FeedEntry& entry : entries) {
      urls.push_back(entry.why.empty() ? entry.url : "(" + entry.why + ")");
    }
    return urls;
  }
};

int64_t SecondsOf(const FeedEntry& entry) {
  return entry.modified.ok() ? entry.modified->told.micros() / 1'000'000 : -1;
}

// Parses text that arrives in pieces of `piece` bytes, as from a network.
Parsed Parse(const std::string& bytes, size_t piece = 7, const DocumentSource& source = {}) {
  Parsed parsed;
  size_t at = 0;
  parsed.summary = ReadDocumentText(
      [&](std::string* out) -> absl::StatusOr<bool> {
        if (at >= bytes.size()) return false;
        out->append(bytes, at, piece);
        at += piece;
        return true;
      },
      source, [&parsed](FeedEntry entry) { parsed.entries.push_back(std::move(entry)); });
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
  ASSERT_TRUE(map.summary.ok()) << map.summary.status();
  EXPECT_EQ(map.summary->kind, FeedKind::kSitemap);
  EXPECT_EQ(map.summary->mended, 0U);
  ASSERT_EQ(map.entries.size(), 3U);
  EXPECT_EQ(map.entries[0].url, "http://a.test/?a=1&b=2");
  EXPECT_EQ(SecondsOf(map.entries[0]), 1715904000);
  EXPECT_EQ(map.entries[0].priority, 0.7);
  EXPECT_EQ(map.entries[1].url, "http://a.test/b");
  EXPECT_TRUE(absl::IsInvalidArgument(map.entries[1].modified.status()));
  EXPECT_EQ(map.entries[2].url, "") << "one without a URL is one, too";
  const Parsed index =
      Parse("<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap></sitemapindex>");
  ASSERT_TRUE(index.summary.ok()) << index.summary.status();
  EXPECT_EQ(index.summary->kind, FeedKind::kIndex);
  ASSERT_EQ(index.entries.size(), 1U);
}

TEST(FeedParser, ReadsRssAndAtom) {
  const Parsed rss = Parse(
      "<rss version='2.0'><channel><link>http://a.test/</link><item><title>x</title>"
      "<link>http://a.test/1</link><pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate></item>"
      "</channel></rss>");
  ASSERT_EQ(rss.entries.size(), 1U) << rss.summary.status();
  EXPECT_EQ(rss.summary->kind, FeedKind::kRss);
  EXPECT_EQ(rss.entries[0].url, "http://a.test/1");
  EXPECT_EQ(SecondsOf(rss.entries[0]), 1055217600);
  const Parsed atom = Parse(
      "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a.test/'/><entry>"
      "<link rel='edit' href='http://a.test/e'/><link href='http://a.test/2'/>"
      "<updated>2003-12-13T18:30:02Z</updated></entry></feed>");
  ASSERT_EQ(atom.entries.size(), 1U) << atom.summary.status();
  EXPECT_EQ(atom.summary->kind, FeedKind::kAtom);
  EXPECT_EQ(atom.entries[0].url, "http://a.test/2");
  EXPECT_EQ(SecondsOf(atom.entries[0]), 1071340202);
}

TEST(FeedParser, TheFirstOfItsOwnNamespaceIsTheUrl) {
  EXPECT_THAT(
      Parse("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' "
            "xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'><url>"
            "<image:loc>http://a.test/0.png</image:loc><loc>http://a.test/1</loc>"
            "<loc>http://a.test/2</loc><image:loc>http://a.test/3.png</image:loc></url></urlset>")
          .Urls(),
      ElementsAre("http://a.test/1"));
  EXPECT_THAT(Parse("<urlset><url><loc>http://a.test/1</loc><image:loc>http://a.test/i</image:loc>"
                    "</url></urlset>")
                  .Urls(),
              ElementsAre("http://a.test/1"))
      << "a prefix that nobody declared is another namespace all the same";
  EXPECT_THAT(Parse("<feed xmlns='http://www.w3.org/2005/Atom'><entry>"
                    "<link rel='alternate' type='application/json' href='http://a.test/json'/>"
                    "<link rel='alternate' type='text/html' href='http://a.test/html'/>"
                    "<link rel='alternate' type='text/html' href='http://a.test/second'/>"
                    "<link rel='alternate' href='http://a.test/any'/></entry></feed>")
                  .Urls(),
              ElementsAre("http://a.test/html"));
}

TEST(FeedParser, APermalinkWillDo) {
  const Parsed rss = Parse(
      "<rss><channel><item><guid>http://a.test/1</guid></item>"
      "<item><guid isPermaLink='true'>http://a.test/2</guid></item>"
      "<item><guid isPermaLink='false'>http://a.test/3</guid></item>"
      "<item><guid>tag:a.test,2024:4</guid></item>"
      "<item><guid>http://a.test/guid</guid><link>http://a.test/5</link></item></channel></rss>");
  EXPECT_THAT(rss.Urls(),
              ElementsAre("http://a.test/1", "http://a.test/2", "", "", "http://a.test/5"));
}

TEST(FeedParser, DatesOfRssMayBeOfAnyForm) {
  for (const char* text : {"Tue, 10 Jun 2003 04:00:00 GMT", "2003-06-10T04:00:00Z",
                           "tue, 10 jun 03 06:00:00 +02:00"}) {
    const Parsed rss = Parse("<rss><channel><item><link>http://a.test/</link><pubDate>" +
                             std::string(text) + "</pubDate></item></channel></rss>");
    ASSERT_EQ(rss.entries.size(), 1U) << text;
    EXPECT_EQ(SecondsOf(rss.entries[0]), 1055217600) << text;
  }
  const Parsed both = Parse(
      "<rss xmlns:a10='http://www.w3.org/2005/Atom'><item><link>http://a.test/</link>"
      "<pubDate>soon</pubDate><a10:updated>2003-06-10T04:00:00Z</a10:updated>"
      "<pubDate>Tue, 10 Jun 2002 04:00:00 GMT</pubDate></item></rss>");
  EXPECT_EQ(SecondsOf(both.entries.at(0)), 1055217600);
}

TEST(FeedParser, RelativeUrlsAreThoseOfTheirBase) {
  const DocumentSource source{.url = "http://a.test/feeds/all.xml"};
  EXPECT_THAT(Parse("<urlset><url><loc>/1</loc></url><url><loc>2?x=1&amp;y</loc></url>"
                    "<url><loc>//b.test/3</loc></url><url><loc>?page=4</loc></url></urlset>",
                    7, source)
                  .Urls(),
              ElementsAre("http://a.test/1", "http://a.test/feeds/2?x=1&y", "http://b.test/3",
                          "http://a.test/feeds/all.xml?page=4"));
  EXPECT_THAT(Parse("<rss><channel><item><link>/1</link></item></channel></rss>", 7, source).Urls(),
              ElementsAre("http://a.test/1"));
  const std::string atom =
      "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://b.test/x/'>"
      "<entry><link href='1'/></entry><entry xml:base='y/'><link href='2'/></entry>"
      "<entry><link xml:base='/z/' href='3'/></entry><entry><link href='/4'/></entry></feed>";
  for (const DocumentSource& any : {source, DocumentSource()}) {
    EXPECT_THAT(Parse(atom, 7, any).Urls(), ElementsAre("http://b.test/x/1", "http://b.test/x/y/2",
                                                        "http://b.test/z/3", "http://b.test/4"));
  }
  EXPECT_THAT(Parse("<urlset><url><loc>/1</loc></url></urlset>").Urls(),
              ElementsAre("(its URL is relative, and that of the document is not known)"));
}

TEST(FeedParser, WhatIsAroundAUrlIsNotOfIt) {
  EXPECT_THAT(Parse("<urlset><url><loc>\u00a0http://a.test/1\u200b</loc></url>"
                    "<url><loc>\ufeffhttp://a.test/2\u3000\n</loc></url>"
                    "<url><loc>&nbsp;http://a.test/3&#8203;</loc></url></urlset>")
                  .Urls(),
              ElementsAre("http://a.test/1", "http://a.test/2", "http://a.test/3"));
  EXPECT_THAT(Parse("<urlset><url><loc>mailto:a@a.test</loc></url></urlset>").Urls(),
              ElementsAre("(neither http nor https but mailto)"));
}

// One of 500 entries is not well-formed. All others are read.
TEST(FeedParser, AFaultCostsOneEntryAtMost) {
  const auto feed = [](const std::string& bad) {
    std::string text = "<rss><channel>";
    for (int i = 0; i < 500; ++i) {
      text += i == 250 ? bad
                       : "<item><title>x</title><link>http://a.test/" + std::to_string(i) +
                             "</link></item>";
    }
    return text + "</channel></rss>";
  };
  struct Case {
    const char* bad;
    std::vector<std::string> urls;
  };
  const std::string in_url = "(its URL has bytes that are not characters of its encoding)";
  for (const Case& one : std::vector<Case>{
           {"<item><link>http://a.test/?a=1&b=2&copy=3&</link></item>",
            {"http://a.test/?a=1&b=2&copy=3&"}},
           {"<item><title>Q & A &nbsp;&eacute;&bogus; "
            "&#8;</title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<item><title>a\x08\x01</title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<item><title>a\xff\xc3</title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<item><link>http://a.test/\xff</link></item>", {in_url}},
           {"<item><link>http://a.test/\x08x</link></item>", {in_url}},
           {"<item><title>1 < 2 <3</title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<item><title><b>x</title><link>http://a.test/x</link></item>", {"http://a.test/x"}},
           {"<item><title>x</b></i></title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<item><title a=1 b='2' b='3' c>x</title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<!-- a -- b ---><item><title>]]></title><link>http://a.test/x</link></item>",
            {"http://a.test/x"}},
           {"<item><title>x<link>http://a.test/x</link></item>", {""}},
           {"<item><link>http://a.test/x</link>", {"http://a.test/x"}}}) {
    const Parsed parsed = Parse(feed(one.bad), 4096);
    ASSERT_TRUE(parsed.summary.ok()) << one.bad << parsed.summary.status();
    ASSERT_EQ(parsed.entries.size(), 499 + one.urls.size()) << one.bad;
    const std::vector<std::string> urls = parsed.Urls();
    for (size_t i = 0; i < urls.size(); ++i) {
      EXPECT_EQ(urls[i], i == 250 ? one.urls[0] : "http://a.test/" + std::to_string(i)) << one.bad;
    }
    EXPECT_EQ(parsed.summary->mended > 0, !std::string(one.bad).starts_with("<!--")) << one.bad;
  }
}

TEST(FeedParser, WhatIsAroundTheDocumentIsNotOfIt) {
  const std::string map = "<urlset><url><loc>http://a.test/</loc></url></urlset>";
  for (const std::string& text :
       {" \n<?xml version='1.0'?>" + map, "\xEF\xBB\xBF\n" + map, map + "\n<!-- 12 ms -->",
        map + "generated in 12 ms", map + "<script>1</script>", map + map,
        "<!DOCTYPE urlset>" + map, "<?xml-stylesheet href='a'?>" + map}) {
    EXPECT_THAT(Parse(text).Urls(), ElementsAre("http://a.test/")) << text;
  }
}

TEST(FeedParser, AListOfUrlsIsASitemap) {
  const Parsed list =
      Parse("\xEF\xBB\xBFhttp://a.test/1\r\n\n  http://a.test/2 \nnone\nhttps://a.test/3");
  ASSERT_TRUE(list.summary.ok()) << list.summary.status();
  EXPECT_EQ(list.summary->kind, FeedKind::kText);
  EXPECT_THAT(list.Urls(), ElementsAre("http://a.test/1", "http://a.test/2", "(it is not a URL)",
                                       "https://a.test/3"));
  EXPECT_FALSE(Parse("Not found\nhttp://a.test/").summary.ok());
}

TEST(FeedParser, EncodingsAreRead) {
  const std::string items =
      "<rss><channel><item><title>\xc6</title><link>http://a.test/</link></item></channel></rss>";
  for (const char* encoding :
       {"windows-1251", "koi8-r", "iso-8859-5", "utf8", "Shift_JIS", "big5"}) {
    EXPECT_THAT(
        Parse("<?xml version='1.0' encoding='" + std::string(encoding) + "'?>" + items).Urls(),
        ElementsAre("http://a.test/"))
        << encoding;
  }
  const Parsed named = Parse(
      "<?xml version='1.0' encoding='windows-1251'?><urlset><url><loc>"
      "http://a.test/\xc6</loc></url></urlset>");
  EXPECT_THAT(named.Urls(), ElementsAre("http://a.test/\u0416"));
  EXPECT_EQ(named.summary->mended, 0U);
}

TEST(FeedParser, WhatIsNoFeedIsRefusedWithAReason) {
  const auto why = [](const std::string& bytes) {
    const Parsed parsed = Parse(bytes, 4096);
    EXPECT_FALSE(parsed.summary.ok()) << bytes.substr(0, 60);
    return std::string(parsed.summary.status().message());
  };
  EXPECT_THAT(why("<!DOCTYPE html><html><body>"), HasSubstr("root is <html>"));
  EXPECT_THAT(why("<urlset><url>"), HasSubstr("not XML, or cut off"));
  EXPECT_THAT(why("<urlset><url><loc>http://a.test/"), HasSubstr("not XML, or cut off"));
  EXPECT_THAT(why("<urlset><url><loc>http://a.test/</loc></url></urlset"), HasSubstr("cut off"));
  EXPECT_THAT(why("{\"a\": 1}"), HasSubstr("not XML"));
  EXPECT_THAT(why(""), HasSubstr("not XML"));
  EXPECT_THAT(why("<"), HasSubstr("not XML"));
  EXPECT_THAT(why("<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]>"
                  "<urlset><url><loc>&b;</loc></url></urlset>"),
              HasSubstr("declares XML entities"));
  EXPECT_THAT(why("<!DOCTYPE urlset [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><urlset/>"),
              HasSubstr("declares XML entities"));
  std::string deep = "<urlset>";
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_THAT(why(deep), HasSubstr("deep"));
  EXPECT_THAT(why("<urlset><url><loc>" + std::string(20'000, 'a')), HasSubstr("more than 16384"));
  std::string wide = "<urlset";
  for (int i = 0; i < 300; ++i) wide += " a" + std::to_string(i) + "=''";
  EXPECT_THAT(why(wide + "/>"), HasSubstr("more than 256 attributes"));
  EXPECT_THAT(why("<urlset><!--" + std::string(600 << 10, ' ') + "--></urlset>"),
              HasSubstr("more than 512 KiB"));
}

// Returns the processor time of this thread, in seconds.
double Busy() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Each of these texts takes a second to parse without optimization. Previously, the parser searched
// the rest of the text for `<` at each `>`, and each of them took more than half a minute. A file
// of 49 MB took 78 s.
TEST(FeedParser, NoByteCostsMoreThanAnother) {
  constexpr size_t kBytes = 2 << 20;
  for (const std::string_view repeated : {">", "& ", "< ", "&;", "<>", "</a>", "<a/>"}) {
    std::string text = "<urlset>";
    while (text.size() < kBytes) text += repeated;
    const double before = Busy();
    (void)Parse(text, text.size());
    EXPECT_LT(Busy() - before, 15) << repeated;
  }
}

// The robots.txt has ten thousand relative URLs. The robots.txt's URL makes each of them 2,000
// bytes longer.
TEST(FeedParser, RobotsNameSoManyBytes) {
  const std::string base = "https://a/" + std::string(2000, 'b') + "/";
  bool first = true;
  const TextSource bytes = [&first](std::string* out) -> absl::StatusOr<bool> {
    for (int i = 0; i < 10'000; ++i) *out += "Sitemap: " + std::to_string(i) + "\n";
    return std::exchange(first, false);
  };
  size_t named = 0;
  const std::vector<std::string> urls = *SitemapsOfRobots(bytes, base, 10'000);
  for (const std::string& url : urls) named += url.size();
  EXPECT_GT(named, kMaxNamesBytes);
  EXPECT_LT(named, kMaxNamesBytes + 2 * base.size());
}

// A gzip file of 25 KB can decompress to half a million pieces of one byte. Previously, the parser
// searched the whole unfinished line for its end after each piece, which took minutes.
TEST(FeedParser, ALineThatComesByTheByteIsSearchedOnce) {
  size_t left = kMaxRobotsBytes / 2;
  const TextSource bytes = [&left](std::string* out) -> absl::StatusOr<bool> {
    if (left == 0) return false;
    --left;
    out->push_back('a');
    return true;
  };
  const double before = Busy();
  EXPECT_TRUE(SitemapsOfRobots(bytes, "https://a/robots.txt", 10).ok());
  EXPECT_EQ(left, 0U);
  EXPECT_LT(Busy() - before, 15);
}

// Nested relative bases can become long. Previously, each element had a copy of its base.
TEST(FeedParser, ABaseCostsOnceWhatItCosts) {
  std::string text = "<urlset xml:base='http://a.test/'>";
  for (int i = 0; i < 60; ++i) text += "<a xml:base='" + std::string(16'000, 'b') + "/'>";
  for (int i = 0; i < 500'000; ++i) text += "<a/>";
  const double before = Busy();
  (void)Parse(text, 64 << 10);
  EXPECT_LT(Busy() - before, 15);
}

// Joining two URLs takes long. Previously, a document of 127 KB, gzipped, took 100 s.
TEST(FeedParser, BasesHaveALimit) {
  const auto read = [](uint64_t bases) {
    std::string text = "<urlset xml:base='http://a.test/x/'>";
    for (uint64_t i = 1; i < bases; ++i) text += "<a xml:base='b/../c'/>";
    text += "<url><loc>1</loc></url></urlset>";
    return Parse(text, 64 << 10);
  };
  EXPECT_TRUE(read(kMaxFeedBases).summary.ok());
  EXPECT_FALSE(read(kMaxFeedBases + 1).summary.ok());
}

// The XML parser searches a list of names that grows with every new name. Previously, 6 MB of
// different names took 9 s.
TEST(FeedParser, DifferentNamesHaveALimit) {
  const auto read = [](int count, std::string_view before, std::string_view behind) {
    std::string text = "<urlset>";
    for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", before, i, behind);
    const auto none = [](const FeedEntry&) {};
    bool given = false;
    const auto source = [&](std::string* out) -> absl::StatusOr<bool> {
      if (!given) out->append(text + "</urlset>");
      return !std::exchange(given, true);
    };
    return ReadFeed(source, none).status();
  };
  EXPECT_TRUE(read(5'000, "<n", "/>").ok());
  EXPECT_TRUE(read(5'000, "<n a='", "'/>").ok());
  for (const std::string_view before : {"<n", "<n a", "<n xmlns='", "<n xmlns:p='"}) {
    const std::string_view behind = before == "<n" ? "/>" : before == "<n a" ? "=''/>" : "'/>";
    EXPECT_THAT(read(20'000, before, behind).message(), HasSubstr("10000 different names"))
        << before;
  }
  EXPECT_TRUE(read(20'000, "<n a='", "'/>").ok()) << "values are not kept";
}

// Default attributes that a document type declares would be added to each element.
TEST(FeedParser, TheDocumentTypeDeclaresNothing) {
  const Parsed atom = Parse(
      "<!DOCTYPE feed [<!ATTLIST link href CDATA 'http://a.test/default'><!ELEMENT feed ANY>]>"
      "<feed><entry><link/></entry><entry><link href='http://a.test/1'/></entry></feed>");
  EXPECT_THAT(atom.Urls(), ElementsAre("", "http://a.test/1"));
}

TEST(FeedParser, TheirCountHasACap) {
  std::string many = "<urlset>";
  std::string list;
  for (int i = 0; i <= 50'000; ++i) {
    many += "<url><loc>http://a.test/</loc></url>";
    list += "http://a.test/\n";
  }
  for (const std::string& text : {many + "</urlset>", list}) {
    EXPECT_THAT(Parse(text, 65'536).summary.status().message(),
                HasSubstr("more than 50000 entries"));
  }
}

}  // namespace
}  // namespace freshet::sitemap

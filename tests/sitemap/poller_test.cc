#include "tools/sitemap/poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <set>

#include "tests/sitemap/poller_fixture.h"
#include "tests/support/gzip.h"
#include "tests/support/small_site.h"

namespace freshet::sitemap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Result = DocumentReport::Result;

TEST_F(PollerTest, NewUrlsArePagesAndNewerDatesSignals) {
  site_.Put("/map", Map({{"/a", "2024-05-17"}, {"/b", ""}}));
  const DocumentReport first = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(first.kind, "sitemap");
  EXPECT_EQ(first.entries, 2U);
  EXPECT_EQ(first.new_pages, 2U);
  EXPECT_EQ(first.undated, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a"), Page("/b")));
  Reopen();
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).result, Result::kUnchanged);
  site_.Put("/map", Map({{"/c", "2024-05-17"},
                         {"/a", "2024-05-18"},
                         {"/a", "2024-05-19"},
                         {"/b", "2024-05-20"}}));
  const DocumentReport second = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(second.signals, 2U);
  EXPECT_THAT(notes_.Take(),
              ElementsAre(Page("/c"), Signal("/a", "1716076800"), Signal("/b", "1716163200")));
  site_.Put("/map", Map({{"/a", "2024-05-10"}, {"/b", ""}}));
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).signals, 0U) << "no date moved forward";
  EXPECT_THAT(notes_.Take(), IsEmpty());
  EXPECT_THAT(site_.Asked(), ElementsAre("/map", "/map 304", "/map", "/map"));
}

TEST_F(PollerTest, DatesThatCannotBeAreNoSignals) {
  const std::vector<std::pair<std::string, std::string>> pages = {
      {"/a", "2024-06-11"}, {"/b", "soon"}, {"/c", "1980-01-01"}};
  site_.Put("/map", Map(pages));
  const DocumentReport first = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(first.future, 1U);
  EXPECT_EQ(first.unreadable, 2U);
  EXPECT_EQ(notes_.Take().size(), 3U) << "pages they are all the same";
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).signals, 0U);
  EXPECT_THAT(notes_.Take(), IsEmpty());
  now_ = now_ + Duration::Days(2);
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).signals, 1U) << "the future is over";
  EXPECT_THAT(notes_.Take(), ElementsAre(Signal("/a", "1718064000")));
  EXPECT_THAT(site_.Asked(), ElementsAre("/map", "/map", "/map"));
}

TEST_F(PollerTest, IndexesFeedsAndGzip) {
  site_.Put("/index", "<sitemapindex><sitemap><loc>" + site_.url() +
                          "/1</loc></sitemap><sitemap><loc>" + site_.url() +
                          "/2</loc></sitemap><sitemap><loc>" + site_.url() +
                          "/index</loc></sitemap></sitemapindex>");
  site_.Put("/1", Gzip(Map({{"/a", ""}})));
  site_.Put("/2", "<rss><channel><item><link>" + site_.url() +
                      "/b</link><pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate></item></channel>"
                      "</rss>");
  site_.Put("/atom", "<feed><entry><link href='" + site_.url() +
                         "/c'/><updated>2003-12-13T18:30:02Z</updated></entry></feed>");
  const auto reports = Poll(site_.url() + "/index");
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].kind, "index");
  EXPECT_EQ(reports[0].entries, 3U);
  EXPECT_EQ(reports[1].kind, "sitemap");
  EXPECT_EQ(reports[2].kind, "RSS");
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a"), Page("/b")));
  EXPECT_EQ(Poll(site_.url() + "/atom").at(0).kind, "Atom");
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/c")));
  // The documents of an unchanged index are polled again.
  site_.Put("/1", Map({{"/a", "2024-05-17"}}));
  EXPECT_EQ(Poll(site_.url() + "/index").size(), 3U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Signal("/a", "1715904000")));
}

TEST_F(PollerTest, RemembersNoUrlThatIsTooLongToFetch) {
  const std::string longest = site_.url() + "/" + std::string(3000, 'x');
  site_.Put("/index", "<sitemapindex><sitemap><loc>" + longest + "</loc></sitemap></sitemapindex>");
  const auto reports = Poll(site_.url() + "/index");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_THAT(reports[0].left_out, ElementsAre(HasSubstr("its URL is longer than 2048 bytes")));
  EXPECT_TRUE(Known(longest).polled.is_none());
}

TEST_F(PollerTest, IndexesMayBeTwoDeep) {
  for (const auto& [path, below] :
       std::vector<std::pair<std::string, std::string>>{{"/1", "/2"}, {"/2", "/3"}, {"/3", "/4"}}) {
    site_.Put(path, "<sitemapindex><sitemap><loc>" + site_.url() + below +
                        "</loc></sitemap></sitemapindex>");
  }
  const auto reports = Poll(site_.url() + "/1");
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[2].why, "sitemap indexes are nested more than 2 deep");
  EXPECT_THAT(site_.Asked(), ElementsAre("/1", "/2", "/3"));
}

TEST_F(PollerTest, AnArgumentLeadsToSoManyDocuments) {
  options_.max_documents = 3;
  std::string index = "<sitemapindex>";
  for (const char* path : {"/1", "/2", "/3"}) {
    site_.Put(path, Map({{path, ""}}));
    index += "<sitemap><loc>" + site_.url() + path + "</loc></sitemap>";
  }
  site_.Put("/index", index + "</sitemapindex>");
  const auto reports = Poll(site_.url() + "/index");
  ASSERT_EQ(reports.size(), 4U);
  EXPECT_EQ(reports[3].document, site_.url() + "/index");
  EXPECT_EQ(reports[3].why,
            "leads to more than 3 documents in all: the rest of them is not fetched");
  EXPECT_EQ(notes_.Take().size(), 2U);
}

TEST_F(PollerTest, DocumentsNameNoFiles) {
  const std::string path = dir_ / "secret.xml";
  std::ofstream(path) << Map({{"/secret", ""}});
  std::ofstream(dir_ / "index.xml") << "<sitemapindex><sitemap><loc>" + path +
                                           "</loc></sitemap><sitemap><loc>file://" + path +
                                           "</loc></sitemap><sitemap><loc>-</loc></sitemap>"
                                           "</sitemapindex>";
  options_.other_hosts = true;
  const auto reports = Poll(dir_ / "index.xml");
  ASSERT_EQ(reports.size(), 1U) << "no file was opened";
  EXPECT_EQ(reports[0].bad_urls, 3U);
  EXPECT_TRUE(reports[0].Useless());
  EXPECT_THAT(notes_.Take(), IsEmpty());
}

TEST_F(PollerTest, RobotsAreReadSoFar) {
  site_.Put("/map", Map({{"/a", ""}}));
  site_.Put("/robots.txt", std::string(500 << 10, '#') + "\nSitemap: " + site_.url() + "/map\n");
  EXPECT_EQ(Poll(site_.url()).at(0).entries, 0U);
}

TEST_F(PollerTest, RobotsNameTheSitemapsOfASite) {
  site_.Put("/robots.txt", "User-agent: *\nDisallow: /x\nsitemap : " + site_.url() +
                               "/a # the first\r\nSitemap:\u00a0/b\nSitemap: ftp://other.test/c\n");
  site_.Put("/a", Map({{"/1", ""}}));
  site_.Put("/b", Map({{"/2", ""}}));
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].kind, "robots");
  EXPECT_EQ(reports[0].bad_urls, 1U);
  EXPECT_THAT(reports[0].left_out,
              ElementsAre("entry 3: ftp://other.test/c: neither http nor https but ftp"));
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/1"), Page("/2")));
  options_.robots = true;
  EXPECT_EQ(Poll(site_.url() + "/any").size(), 3U);
}

// Windows editors begin files with a byte order mark.
TEST_F(PollerTest, AByteOrderMarkHidesNoLineOfRobots) {
  site_.Put("/map", Map({{"/a", ""}}));
  site_.Put("/robots.txt", "\xEF\xBB\xBFSitemap: " + site_.url() + "/map\nUser-agent: *\n");
  EXPECT_EQ(Poll(site_.url()).size(), 2U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
  std::string wide = "\xFF\xFE";
  for (const char c : "Sitemap: " + site_.url() + "/map") {
    wide.push_back(c);
    wide.push_back('\0');
  }
  site_.Put("/robots.txt", wide);
  EXPECT_EQ(Poll(site_.url()).size(), 2U);
  EXPECT_THAT(site_.Asked(), ElementsAre("/robots.txt", "/map", "/robots.txt", "/map 304"));
}

// RFC 9309: a status of 400 to 499, or a loop of redirects, means that there is no robots.txt. A
// status of 500 to 599 means that the site cannot be reached.
TEST_F(PollerTest, RobotsMayBeNone) {
  site_.Put("/sitemap.xml", Map({{"/a", ""}}));
  int status = 0;
  site_.PutAnswer("/robots.txt", [&](const auto&, auto& response) { response.status = status; });
  for (status = 400; status < 500; status += 1) {
    const auto reports = Poll(site_.url());
    ASSERT_EQ(reports.size(), 2U) << status;
    EXPECT_NE(reports[0].result, Result::kFailed) << status;
  }
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
  for (status = 500; status < 600; status += 11) {
    EXPECT_EQ(
        Why(site_.url()),
        "robots.txt cannot be fetched, so nothing else of the site is fetched: the site answers " +
            std::to_string(status));
  }
  site_.PutAnswer("/robots.txt", [](const auto&, auto& response) {
    response.status = 429;
    response.set_header("Retry-After", "120");
  });
  EXPECT_THAT(Why(site_.url()), HasSubstr("come again in 120 s")) << "who asks to wait, asks";
  now_ = now_ + Duration::Seconds(121);
  site_.PutRedirect("/robots.txt", "/robots.txt");
  EXPECT_EQ(Poll(site_.url()).size(), 2U);
  const SmallSite none;
  EXPECT_EQ(Poll(none.url() + "/").at(1).why, "the site answers 404");
  EXPECT_THAT(none.Asked(), ElementsAre("/robots.txt", "/sitemap.xml"));
}

// Another site names the sitemap of this site. Previously, the other site's poll of the sitemap
// found no page of the other site. After that, this site's poll of the sitemap was delayed more and
// more, and got "not modified".
TEST_F(PollerTest, WhatAnotherSiteNamesOfThisOneChangesNothingHere) {
  SmallSite other(kPublic);
  other.Put("/robots.txt", "Sitemap: " + site_.url() + "/map");
  site_.Put("/robots.txt", "Sitemap: /map");
  site_.PutAnswer("/map", [this](const auto& request, auto& response) {
    response.set_header("ETag", "\"1\"");
    response.status = request.has_header("If-None-Match") ? 304 : 200;
    if (response.status == 200) response.set_content(Map({{"/a", ""}}), "text/xml");
  });
  options_.only_due = true;
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  const auto reports = Poll(other.url());
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[1].other_hosts, 1U);
  ASSERT_EQ(Poll(site_.url()).size(), 2U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
}

// Previously, a site could make the state grow by 160 MB with each poll.
TEST_F(PollerTest, DocumentsThatAreNowhereLeaveNothingBehind) {
  const std::string longer = site_.url() + "/" + std::string(3'000, 'x');
  site_.Put("/robots.txt", "Sitemap: /none\nSitemap: " + longer + "\nSitemap: /map\n");
  site_.Put("/map", Map({{"/a", ""}}));
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].bad_urls, 1U);
  const auto known = [this](const std::string& url) { return Known(url).polled != Instant(); };
  EXPECT_TRUE(known(site_.url() + "/map"));
  EXPECT_FALSE(known(site_.url() + "/none"));
  EXPECT_FALSE(known(longer));
  // A document that has disappeared might come back. It is polled less and less often.
  SmallSite gone;
  gone.Put("/robots.txt", "Sitemap: /map\n");
  gone.Put("/map", "<urlset/>");
  EXPECT_EQ(Poll(gone.url()).size(), 2U);
  const Instant before = Known(gone.url() + "/map").polled;
  now_ = now_ + Duration::Hours(1);
  gone.PutAnswer("/map", [](const auto&, auto& response) { response.status = 404; });
  EXPECT_EQ(Poll(gone.url()).size(), 2U);
  EXPECT_GT(Known(gone.url() + "/map").polled, before);
}

TEST_F(PollerTest, OnlyTheSiteThatAsksIsLeftAlone) {
  SmallSite other(kPublic);
  other.Put("/robots.txt", "Sitemap: " + site_.url() + "/login\n");
  site_.PutRedirect("/login", other.url() + "/busy");
  site_.Put("/map", Map({{"/a", ""}}));
  other.PutAnswer("/busy", [](const auto&, auto& response) {
    response.status = 503;
    response.set_header("Retry-After", "86400");
  });
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  EXPECT_THAT(Poll(other.url()).at(1).why, HasSubstr("come again in 86400 s"));
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
  EXPECT_THAT(Why(other.url() + "/map"), HasSubstr("not fetched: "));
  EXPECT_THAT(Why(site_.url() + "/login"), HasSubstr("leads to another site: the site asked"));
}

TEST_F(PollerTest, RobotsAreThoseOfTheSiteWhereverTheyLie) {
  SmallSite other(kPublic);
  for (int i = 0; i < 4; ++i) {
    site_.PutRedirect("/" + std::to_string(i), "/" + std::to_string(i + 1));
  }
  site_.PutRedirect("/robots.txt", "/0");
  site_.PutRedirect("/4", other.url() + "/robots");
  other.Put("/robots", "Sitemap: /map");
  options_.fetch.is_public = [](const IpAddress&) { return false; };
  site_.Put("/map", Map({{"/a", ""}}));
  // Five redirects at one host use up the allowed number, so the sixth, to another host, is
  // refused. The poller then asks for /sitemap.xml.
  EXPECT_EQ(Poll(site_.url()).at(1).document, site_.url() + "/sitemap.xml");
  site_.PutRedirect("/robots.txt", "/1");
  EXPECT_EQ(Poll(site_.url()).at(1).document, site_.url() + "/map");
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
}

TEST_F(PollerTest, SitesSpeakForThemselves) {
  site_.Put("/map",
            "<urlset><url><loc>http://other.test/</loc></url><url><loc>http://127.0.0.1:1/a"
            "</loc></url><url><loc>b</loc></url></urlset>");
  const DocumentReport report = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(report.other_hosts, 1U);
  EXPECT_THAT(report.left_out, ElementsAre("entry 1: http://other.test/: it is of another host"));
  EXPECT_FALSE(report.Useless());
  EXPECT_THAT(notes_.Take(), ElementsAre("page http://127.0.0.1:1/a", Page("/b")));
  options_.other_hosts = true;
  site_.Put("/map", "<urlset><url><loc>http://other.test/</loc></url></urlset>");
  Poll(site_.url() + "/map");
  EXPECT_THAT(notes_.Take(), ElementsAre("page http://other.test/"));
}

// The owner of example.org also owns www.example.org, so both are one site, with sitemaps at either
// host.
TEST_F(PollerTest, WwwIsOfTheSiteBelowIt) {
  const std::string port = site_.url().substr(site_.url().rfind(':'));
  const std::string apex = "http://a.localhost" + port;
  const std::string www = "http://www.a.localhost" + port;
  site_.Put("/map", "<urlset><url><loc>" + apex + "/1</loc></url><url><loc>" + www +
                        "/2</loc></url><url><loc>http://b.localhost/</loc></url></urlset>");
  for (const std::string& host : {apex, www}) {
    state_.reset();
    std::filesystem::remove(dir_ / "state");
    Reopen();
    EXPECT_EQ(Poll(host + "/map").at(0).other_hosts, 1U);
    EXPECT_THAT(notes_.Take(), ElementsAre("page " + apex + "/1", "page " + www + "/2"));
  }
}

// The robots.txt of a site may name sitemaps at other hosts (sitemaps.org: cross submission). Such
// a sitemap may only name pages of this site.
TEST_F(PollerTest, RobotsNameSitemapsOfOtherHosts) {
  SmallSite other(kPublic);
  site_.Put("/robots.txt", "Sitemap: " + other.url() + "/index");
  other.Put("/index",
            "<sitemapindex><sitemap><loc>" + other.url() + "/map</loc></sitemap></sitemapindex>");
  other.Put("/map", "<urlset><url><loc>" + site_.url() + "/a</loc></url><url><loc>" + other.url() +
                        "/b</loc></url></urlset>");
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[2].other_hosts, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
  // If this sitemap is polled directly, it may only name pages of its host.
  EXPECT_EQ(Poll(other.url() + "/map").at(0).other_hosts, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre("page " + other.url() + "/b"));
}

// A redirect may lead to any host, but gives no right to name pages of other hosts.
TEST_F(PollerTest, ARedirectBringsInNoOtherHost) {
  SmallSite other(kPublic);
  other.Put("/map", "<urlset><url><loc>" + other.url() +
                        "/a</loc></url><url><loc>/b</loc></url>"
                        "</urlset>");
  other.Put("/index",
            "<sitemapindex><sitemap><loc>" + other.url() + "/map</loc></sitemap></sitemapindex>");
  for (const char* path : {"/map", "/index"}) {
    site_.PutRedirect(path, other.url() + path);
    const auto reports = Poll(site_.url() + path);
    ASSERT_EQ(reports.size(), 1U) << path;
    EXPECT_TRUE(reports[0].Useless()) << path;
    EXPECT_EQ(reports[0].other_hosts, reports[0].entries) << path;
    EXPECT_THAT(notes_.Take(), IsEmpty()) << path;
  }
  other.Put("/map", Map({{"/c", ""}}));
  Poll(site_.url() + "/map");
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/c"))) << "what is its own it may keep elsewhere";
}

TEST_F(PollerTest, WhatIsLeftOutIsNamed) {
  site_.Put("/map",
            "<rss><channel><item><title>no link</title></item><item><link>mailto:a@a.test</link>"
            "</item><item><guid isPermaLink='false'>7</guid></item></channel></rss>");
  const DocumentReport report = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(report.entries, 3U);
  EXPECT_EQ(report.without_url, 2U);
  EXPECT_EQ(report.bad_urls, 1U);
  EXPECT_TRUE(report.Useless());
  EXPECT_THAT(report.left_out,
              ElementsAre("entry 1: it names no URL",
                          "entry 2: mailto:a@a.test: neither http nor https but mailto",
                          "entry 3: it names no URL"));
  std::string many = "<urlset>";
  for (int i = 0; i < 100; ++i) many += "<url/>";
  site_.Put("/map", many + "</urlset>");
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).left_out.size(), kMaxNamedLeftOut);
}

// Polling the same document again gives no signals.
TEST_F(PollerTest, OfAPageThatIsListedTwiceTheLatestDateCounts) {
  const auto map = [this] {
    return Map({{"/a", "2024-05-17"}, {"/b", ""}, {"/a", "2024-05-19"}, {"/a", "2024-05-18"}});
  };
  site_.Put("/map", map());
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 2U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/b"), Page("/a")));
  site_.Put("/map", map() + " ");
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).signals, 0U);
  site_.Put("/map", Map({{"/a", "2024-05-21"}, {"/a", "2024-05-22"}, {"/a", "2024-05-20"}}));
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).signals, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Signal("/a", "1716336000")));
}

// A date without a time can mean any instant of the day. If the change might be later than the last
// crawl, it counts.
TEST_F(PollerTest, ADayMayBeAnyOfItsInstants) {
  site_.Put("/map", Map({{"/a", ""}, {"/b", ""}, {"/c", ""}, {"/d", ""}}));
  Poll(site_.url() + "/map");
  notes_.Take();
  now_ = Instant::FromUnixSeconds(1'718'013'600);  // 2024-06-10T10:00Z
  site_.Put("/map", Map({{"/a", "2024-06-10"},     // today
                         {"/b", "2024-06-11"},     // has begun in the time zone +14:00
                         {"/c", "2024-06-12"},     // has not begun in any time zone
                         {"/d", "2024-06-01"}}));  // has ended
  const DocumentReport report = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(report.signals, 3U);
  EXPECT_EQ(report.future, 1U);
  const Instant first = Instant::FromUnixSeconds(1'717'200'000);
  EXPECT_THAT(notes_.changes,
              ElementsAre(now_, now_, first + Duration::Hours(36) - Duration::Micros(1)));
}

TEST_F(PollerTest, LastModifiedIsKeptIfItCanBeTrue) {
  std::string value;
  std::vector<std::string> asked;
  site_.PutAnswer("/map", [&](const auto& request, auto& response) {
    asked.push_back(request.get_header_value("If-Modified-Since"));
    response.set_header("Last-Modified", value);
    response.set_content(Map({{"/a", ""}}), "application/xml");
  });
  const std::string map = site_.url() + "/map";
  for (const char* impossible :
       {"Thu, 01 Jan 1970 00:00:00 GMT", "Tue, 01 Jan 1980 00:00:00 GMT",
        "Fri, 01 Jan 2099 00:00:00 GMT", "yesterday", "-1", "Mon, 10 Jun 2024 06:13:21 GMT"}) {
    value = impossible;
    Poll(map);
    EXPECT_EQ(Known(map).last_modified, "") << value;
  }
  value = "Mon, 10 Jun 2024 06:13:20 GMT";
  Poll(map);
  EXPECT_EQ(Known(map).last_modified, value);
  Poll(map);
  EXPECT_EQ(asked.back(), value);
  // The state of an older version can have an impossible date. The poller does not send this date
  // either.
  DocumentState document = Known(map);
  document.last_modified = "Fri, 01 Jan 2099 00:00:00 GMT";
  ASSERT_TRUE(state_->PutDocument({kHere, map}, document).ok());
  Poll(map);
  EXPECT_EQ(asked.back(), "");
}

TEST_F(PollerTest, ASiteHasSoMuchTime) {
  site_.Put("/robots.txt", "Sitemap: /1\nSitemap: /2\nSitemap: /3\n");
  for (const char* path : {"/1", "/2", "/3"}) site_.Put(path, Map({{path, ""}}));
  step_ = Duration::Seconds(60);  // the robots.txt takes ten minutes
  options_.site_timeout = Duration::Seconds(600);
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_THAT(reports[1].why, HasSubstr("the rest is left for another time"));
  step_ = Duration();
  options_.max_documents = 2;
  Poll(site_.url());
  now_ = now_ + Duration::Seconds(1);
  Poll(site_.url());
  now_ = now_ + Duration::Seconds(1);
  Poll(site_.url());
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/1"), Page("/2"), Page("/3")))
      << "what was left longest comes first";
}

// A small compressed document can take minutes to read.
TEST_F(PollerTest, ReadingIsOfTheTimeOfTheSite) {
  site_.Put("/robots.txt", "Sitemap: /1\nSitemap: /2\nSitemap: /3\n");
  for (const char* path : {"/1", "/2", "/3"}) site_.Put(path, Map({{path, ""}}));
  step_ = Duration::Seconds(60);  // nine minutes for a document, ten for the robots.txt
  options_.site_timeout = Duration::Seconds(1680);
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 4U);
  EXPECT_THAT(reports[3].why, HasSubstr("the rest is left for another time"));
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/1"), Page("/2")));
}

TEST_F(PollerTest, ReadingEndsWithTheTimeOfTheSite) {
  site_.Put("/map", Map({{"/a", ""}}) + std::string(8 << 20, ' '));
  step_ = Duration::Seconds(60);
  EXPECT_THAT(Why(site_.url() + "/map"), HasSubstr("took more than 3600 s"));
}

// Previously, all other sites waited for more than a minute because of one document of 49 MB.
TEST_F(PollerTest, NobodyWaitsWhileADocumentIsRead) {
  site_.Put("/map", Map({{"/a", ""}}) + std::string(1 << 20, ' '));
  int looks = 0;
  on_clock_ = [&] {
    // This runs on another thread, like the poll of another site.
    const bool free = std::async(std::launch::async, [&] {
                        const bool taken = turn_.TryLock();
                        if (taken) turn_.Unlock();
                        return taken;
                      }).get();
    looks += free ? 1 : 0;
  };
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 1U);
  EXPECT_GE(looks, 16) << "one for each piece";
  EXPECT_LT(looks, 32) << "it is read once";
}

TEST_F(PollerTest, ASignalEndsReading) {
  site_.Put("/map", Map({{"/a", ""}}) + std::string(1 << 20, ' '));
  int looks = 0;
  on_clock_ = [&looks] { ++looks; };
  options_.fetch.cancelled = [&looks] { return looks > 8; };
  EXPECT_THAT(Poll(site_.url() + "/map"), IsEmpty());
  EXPECT_TRUE(absl::IsCancelled(status_)) << status_;
  EXPECT_LT(looks, 12);
  EXPECT_THAT(notes_.Take(), IsEmpty());
}

TEST_F(PollerTest, ARelativeUrlWithBytesThatAreNoCharactersIsLeftOut) {
  site_.Put("/map",
            "<urlset><url><loc>/a</loc></url><url><loc>/b\x01</loc></url>"
            "<url><loc>/\xFF</loc></url></urlset>");
  const auto reports = Poll(site_.url() + "/map");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].bad_urls, 2U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
}

TEST_F(PollerTest, BytesBehindGzipAreNotOfIt) {
  for (const std::string& behind : {std::string(512, '\0'), std::string("generated"),
                                    std::string("\x1f"), std::string("\x1fz")}) {
    site_.Put("/map", Gzip(Map({{"/a", ""}})) + behind);
    EXPECT_EQ(Poll(site_.url() + "/map").at(0).entries, 1U) << behind;
  }
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
  site_.Put("/map", Gzip(Map({{"/a", ""}})) + Gzip(" ").substr(0, 12));
  EXPECT_THAT(Why(site_.url() + "/map"), HasSubstr("cut off")) << "a member, and not whole";
}

TEST_F(PollerTest, ListsOfUrlsAreSitemaps) {
  const std::string list = site_.url() + "/1\r\n" + site_.url() + "/2\n";
  for (const std::string& body : {list, Gzip(list)}) {
    site_.Put("/list", body);
    EXPECT_EQ(Poll(site_.url() + "/list").at(0).kind, "text");
  }
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/1"), Page("/2")));
}

TEST_F(PollerTest, PublicIndexesLeadToNoPrivateAddress) {
  SmallSite open(kPublic);
  site_.Put("/map", Map({{"/a", ""}}));
  options_.other_hosts = true;
  open.Put("/index",
           "<sitemapindex><sitemap><loc>" + site_.url() + "/map</loc></sitemap></sitemapindex>");
  open.Put("/robots.txt", "Sitemap: " + site_.url() + "/map");
  for (const char* path : {"/index", "/"}) {
    const auto reports = Poll(open.url() + path);
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_THAT(reports[1].why, HasSubstr("127.0.0.1, which is not a public address"));
  }
  EXPECT_THAT(site_.Asked(), IsEmpty());
}

// A refused document sends no pages, even if the mistake is at its end.
TEST_F(PollerTest, BadDocumentsAreRefusedAsAWhole) {
  const std::string good = Map({{"/a", ""}});
  const std::string map = site_.url() + "/map";
  const auto why = [&](const std::string& body) {
    site_.Put("/map", body);
    return Why(map);
  };
  EXPECT_THAT(why(good.substr(0, good.size() - 1)), HasSubstr("the document is not XML"));
  EXPECT_THAT(why(good.substr(0, good.size() / 2)), HasSubstr("cut off"));
  EXPECT_THAT(why("<!DOCTYPE html><html><body>Not found</body></html>"),
              HasSubstr("the document's root is <html>"));
  EXPECT_THAT(why("<!DOCTYPE urlset [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]>" + good),
              HasSubstr("declares XML entities"));
  EXPECT_THAT(why(std::string(size_t{60} << 20, ' ') + good), HasSubstr("larger than 50 MiB"));
  EXPECT_THAT(why(Gzip(good + std::string(size_t{60} << 20, ' '))),
              HasSubstr("larger than 50 MiB, when decompressed"));
  EXPECT_THAT(why(Gzip(good).substr(0, 40)), HasSubstr("cut off"));
  site_.PutRedirect("/map", "/map");
  EXPECT_THAT(Why(map), HasSubstr("more than 5 redirects"));
  site_.Put("/map", good);
  Poll(map);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a"))) << "and nothing was taken for known";
}

TEST_F(PollerTest, OneBadDocumentSpoilsNoOther) {
  site_.Put("/index", "<sitemapindex><sitemap><loc>" + site_.url() +
                          "/bad</loc></sitemap><sitemap><loc>" + site_.url() +
                          "/good</loc></sitemap></sitemapindex>");
  site_.Put("/good", Map({{"/a", ""}}));
  const auto reports = Poll(site_.url() + "/index");
  EXPECT_EQ(reports.at(1).result, Result::kFailed);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
}

TEST_F(PollerTest, SitesAreLeftAloneForAsLongAsTheyAsk) {
  site_.PutAnswer("/busy", [](const auto&, auto& response) {
    response.status = 429;
    response.set_header("Retry-After", "120");
  });
  site_.Put("/map", Map({{"/a", ""}}));
  EXPECT_THAT(Why(site_.url() + "/busy"), HasSubstr("the site answers 429"));
  now_ = now_ + Duration::Seconds(60);
  Reopen();
  EXPECT_EQ(Why(site_.url() + "/map"),
            "not fetched: the site asked for a wait of another 60 s (Retry-After)");
  EXPECT_EQ(Known(site_.url() + "/map").next, now_ + Duration::Seconds(60));
  now_ = now_ + Duration::Seconds(60);
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 1U);
  EXPECT_THAT(site_.Asked(), ElementsAre("/busy", "/map"));
}

TEST_F(PollerTest, WhatWasNotTakenIsSentAgain) {
  const std::string map = site_.url() + "/map";
  site_.Put("/map", Map({{"/a", ""}, {"/b", ""}}));
  notes_.status = absl::UnavailableError("the server is gone");
  EXPECT_EQ(Poll(map).at(0).why, "the server is gone");
  EXPECT_TRUE(absl::IsUnavailable(status_));
  notes_.Take();
  notes_.status = absl::OkStatus();
  notes_.receipt = {.refused = 1, .again = {2}};
  EXPECT_EQ(Poll(map).at(0).refused, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a"), Page("/b")));
  Poll(map);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/b")));
  EXPECT_EQ(Poll(map).at(0).result, Result::kUnchanged);
}

// The process is killed after the server's acknowledgement, before the state is written.
TEST_F(PollerTest, AfterAKillNothingIsMissed) {
  const std::string map = site_.url() + "/map";
  site_.Put("/map", Map({{"/a", "2024-05-17"}}));
  Poll(map);
  notes_.Take();
  site_.Put("/map", Map({{"/a", "2024-05-18"}, {"/b", ""}}));
  state_.reset();
  const pid_t process = fork();
  if (process == 0) {
    state_ = *PollState::Open(dir_ / "state", "");
    notes_.settle = [] { kill(getpid(), SIGKILL); };
    Poll(map);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  Reopen();
  Poll(map);
  EXPECT_THAT(notes_.Take(), ElementsAre(Signal("/a", "1715990400"), Page("/b")));
  Poll(map);
  EXPECT_THAT(notes_.Take(), IsEmpty());
}

TEST_F(PollerTest, ADryRunLeavesNothingBehind) {
  site_.Put("/map", Map({{"/a", ""}}));
  options_.dry_run = true;
  Poll(site_.url() + "/map");
  options_.dry_run = false;
  Poll(site_.url() + "/map");
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a"), Page("/a")));
}

TEST_F(PollerTest, FilesAreDocumentsToo) {
  std::ofstream(dir_ / "map.xml.gz", std::ios::binary) << Gzip(Map({{"/a", ""}}));
  EXPECT_EQ(Poll(dir_ / "map.xml.gz").at(0).new_pages, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/a")));
  EXPECT_THAT(Why(dir_ / "none.xml"), HasSubstr("No such file"));
  std::ofstream(dir_ / "large.xml") << std::string(size_t{60} << 20, ' ');
  EXPECT_THAT(Why(dir_ / "large.xml"), HasSubstr("larger than 50 MiB"));
}

TEST_F(PollerTest, AFileWithoutAnEndIsReadSoFar) {
  EXPECT_THAT(Why("/dev/zero"), HasSubstr("the document is not XML"));
}

TEST_F(PollerTest, AWatchedDocumentIsLeftUntilItIsDue) {
  site_.Put("/index",
            "<sitemapindex><sitemap><loc>" + site_.url() + "/map</loc></sitemap></sitemapindex>");
  site_.Put("/map", Map({{"/a", ""}}));
  options_.only_due = true;
  Poll(site_.url() + "/index");
  EXPECT_EQ(Poll(site_.url() + "/index").size(), 1U);
  now_ = now_ + Duration::Hours(2);
  EXPECT_EQ(Poll(site_.url() + "/index").size(), 2U);
  EXPECT_EQ(Known(site_.url() + "/map").interval, Duration::Seconds(5400))
      << "nothing was new, so it grew";
  options_.fetch.cancelled = [] { return true; };
  EXPECT_THAT(Poll(site_.url() + "/index"), IsEmpty());
  EXPECT_TRUE(absl::IsCancelled(status_));
}

}  // namespace
}  // namespace freshet::sitemap

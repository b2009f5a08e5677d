// What a site may take of the poller's time, place and neighbours.
#include <set>
#include <string>

#include "tests/sitemap/poller_fixture.h"

namespace freshet::sitemap {
namespace {

using testing::HasSubstr;

TEST_F(PollerTest, RobotsFloodNoOtherHost) {
  SmallSite other(kPublic);
  std::string robots;
  for (int i = 0; i < 70; ++i) {
    const std::string path = "/map" + std::to_string(i);
    robots += "Sitemap: " + other.url() + path + "\n";
    other.Put(path, "<urlset/>");
  }
  site_.Put("/robots.txt", robots);
  const auto reports = Poll(site_.url());
  EXPECT_THAT(reports.back().why, HasSubstr("leads to more than 50 documents at other hosts"));
  EXPECT_EQ(other.Asked().size(), kMaxForeignDocuments);
  Poll(site_.url());
  std::set<std::string> paths;
  for (const std::string& asked : other.Asked()) paths.insert(asked.substr(0, asked.find(' ')));
  EXPECT_THAT(paths, testing::SizeIs(70)) << "those that were left come first";
}

// A site that had many documents polled had the poller forget those of all other sites, which it
// then polled at once although they had asked it to wait.
TEST_F(PollerTest, ASiteTakesNoOtherSitesPlaceInTheState) {
  options_.most_remembered = 4;
  SmallSite other(kPublic);
  site_.Put("/map", Map({{"/a", ""}}));
  site_.PutAnswer("/busy", [](const auto&, auto& response) {
    response.status = 503;
    response.set_header("Retry-After", "36000");
  });
  Poll(site_.url() + "/map");
  Poll(site_.url() + "/busy");
  const DocumentState before = Known(site_.url() + "/map");
  EXPECT_NE(before.etag, "");
  notes_.Take();
  // All that the hostile site has is polled later, asks for a wait, or leads to the other site.
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  for (int i = 0; i < 4; ++i) {
    now_ = now_ + Duration::Seconds(1);
    std::string robots = "Sitemap: " + site_.url() + "/map\n";
    for (int k = 0; k < 3; ++k) {
      const std::string path = "/" + std::to_string(i) + "-" + std::to_string(k);
      robots += "Sitemap: " + path + "\n";
      k == 0 ? other.PutRedirect(path, site_.url() + "/busy") : other.Put(path, "<urlset/>");
    }
    other.Put("/robots.txt", robots);
    Poll(other.url());
  }
  EXPECT_THAT(other.Asked(), testing::SizeIs(testing::Ge(8)));
  EXPECT_EQ(Known(site_.url() + "/map").etag, before.etag);
  EXPECT_EQ(Known(site_.url() + "/map").next, before.next);
  EXPECT_EQ(Known(site_.url() + "/map").interval, before.interval);
  const size_t asked = site_.Asked().size();
  EXPECT_THAT(Why(site_.url() + "/map"), HasSubstr("not fetched: the site asked for a wait"));
  EXPECT_THAT(Why(site_.url() + "/new"), HasSubstr("not fetched: the site asked for a wait"));
  EXPECT_THAT(site_.Asked(), testing::SizeIs(asked));
}

// Whoever runs the DNS of a site may name another address between two polls.
TEST_F(PollerTest, APublicSiteIsNotPrivateAtTheNextPoll) {
  site_.Put("/map", Map({{"/a", ""}}));
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 1U);
  const size_t asked = site_.Asked().size();
  options_.fetch.is_public = [](const IpAddress&) { return false; };
  EXPECT_THAT(Why(site_.url() + "/map"), HasSubstr("which is not a public address"));
  EXPECT_THAT(site_.Asked(), testing::SizeIs(asked));
}

TEST_F(PollerTest, AClockThatWasAheadKeepsNoSiteWaiting) {
  site_.Put("/map", Map({{"/a", ""}}));
  site_.PutAnswer("/busy", [](const auto&, auto& response) {
    response.status = 429;
    response.set_header("Retry-After", "120");
  });
  const Instant right = now_;
  for (const Duration ahead : {Duration::Hours(1), Duration::Days(3650)}) {
    now_ = right + ahead;
    Poll(site_.url() + "/map");
    Poll(site_.url() + "/busy");
    notes_.Take();
    now_ = right;
    Poller poller(
        options_, *state_, notes_, turn_, [this] { return now_; }, [](const DocumentReport&) {});
    EXPECT_EQ(*poller.Due(site_.url() + "/map"), right);
    EXPECT_THAT(Why(site_.url() + "/busy"),
                HasSubstr("not fetched: the site asked for a wait of another "));
    // At most as long as a site may ask for.
    now_ = right + kMaxRetryAfter + Duration::Seconds(1);
    EXPECT_THAT(Poll(site_.url() + "/map"), testing::SizeIs(1));
    EXPECT_GT(*poller.Due(site_.url() + "/map"), now_);
    EXPECT_LT(*poller.Due(site_.url() + "/map"), now_ + Duration::Days(2));
  }
}

// The server takes none of them, however they are escaped.
TEST_F(PollerTest, UrlsThatAreTooLongTakeNoPlace) {
  std::string accents;
  for (int i = 0; i < 2900; ++i) accents += "\xc3\xa9";
  const std::string longest(8000, 'a');
  site_.Put("/map", Map({{"/" + longest, ""}, {"/" + accents, ""}, {"/" + longest + longest, ""}}));
  const DocumentReport report = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(report.bad_urls, 2U);
  EXPECT_THAT(report.left_out.front(), HasSubstr("its URL is longer than 8192 bytes"));
  EXPECT_THAT(notes_.Take(), testing::ElementsAre(Page("/" + longest)));
  EXPECT_TRUE(state_->FindPage(site_.url() + "/" + longest)->known);
  EXPECT_FALSE(state_->FindPage(site_.url() + "/" + accents)->known);
}

// A megabyte of links, each of which a base makes longer by two thousand bytes.
TEST_F(PollerTest, ABaseMakesNoMoreOfADocumentThanADocumentMayHave) {
  std::string feed = R"(<feed xmlns="http://www.w3.org/2005/Atom" xml:base=")" + site_.url() + "/" +
                     std::string(1900, 'b') + R"(/">)";
  for (int i = 0; i < 30'000; ++i) {
    feed += R"(<entry><link href=")" + std::to_string(i) + R"("/></entry>)";
  }
  site_.Put("/feed", feed + "</feed>");
  EXPECT_THAT(Why(site_.url() + "/feed"),
              HasSubstr("the URLs of the document have more than 50 MiB"));
  const std::string first = site_.url() + "/" + std::string(1900, 'b') + "/0";
  EXPECT_FALSE(state_->FindPage(first)->known);
}

TEST_F(PollerTest, ASiteAddsSoManyPagesInAPoll) {
  options_.site_pages = 5;
  std::string robots;
  for (int i = 0; i < 3; ++i) {
    const std::string path = "/map" + std::to_string(i);
    robots += "Sitemap: " + site_.url() + path + "\n";
    site_.Put(path, Map({{path + "/a", ""}, {path + "/b", ""}, {path + "/c", ""}}));
  }
  site_.Put("/robots.txt", robots);
  const DocumentReport left = Poll(site_.url()).back();
  EXPECT_EQ(left.result, DocumentReport::Result::kFailed);
  EXPECT_THAT(left.why, HasSubstr("the site has added 5 pages in this poll"));
  EXPECT_THAT(notes_.Take(), testing::SizeIs(6)) << "the second map comes to it, and is read";
  const DocumentReport last = Poll(site_.url()).back();
  EXPECT_EQ(last.result, DocumentReport::Result::kUnchanged) << "each poll has its own";
  EXPECT_THAT(notes_.Take(), testing::SizeIs(3)) << "those that were left come first";
}

TEST_F(PollerTest, ALongUrlCountsAsSeveralPages) {
  options_.site_pages = 5;
  site_.Put("/robots.txt", "Sitemap: " + site_.url() + "/one\nSitemap: " + site_.url() + "/two\n");
  site_.Put("/one", Map({{"/" + std::string(4 * kUrlBytesPerPage, 'a'), ""}}));
  site_.Put("/two", Map({{"/b", ""}}));
  EXPECT_THAT(Poll(site_.url()).back().why, HasSubstr("the rest is left for another time"));
  EXPECT_THAT(notes_.Take(), testing::SizeIs(1));
}

}  // namespace
}  // namespace freshet::sitemap

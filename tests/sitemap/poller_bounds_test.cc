// Tests limits on how much of the poller's time and space a site can use, and on its effects on
// other sites.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <future>
#include <set>
#include <string>

#include "tests/sitemap/poller_fixture.h"
#include "tests/support/gzip.h"
#include "tests/support/wall_time.h"
#include "tools/sitemap/document.h"

namespace freshet::sitemap {
namespace {

using testing::HasSubstr;
using Result = DocumentReport::Result;

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

// Previously, each of 10,000 documents of a site could redirect to the same other site, which then
// got 10,000 requests.
TEST_F(PollerTest, RedirectsFloodNoOtherHost) {
  SmallSite other(kPublic);
  std::string robots;
  for (int i = 0; i < 70; ++i) {
    const std::string path = "/map" + std::to_string(i);
    robots += "Sitemap: " + path + "\n";
    site_.PutRedirect(path, other.url() + path);
    other.Put(path, "<urlset/>");
  }
  site_.Put("/robots.txt", robots);
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  EXPECT_THAT(Poll(site_.url()).back().why, HasSubstr("leads to more than 50 documents"));
  EXPECT_EQ(other.Asked().size(), kMaxForeignDocuments);
}

// Previously, if a site named a sitemap at another site that answered 503, the polls of the other
// site waited, too.
TEST_F(PollerTest, WhatASiteNamesKeepsNoOtherWaiting) {
  SmallSite other(kPublic);
  other.Put("/robots.txt", "Sitemap: " + site_.url() + "/busy\n");
  site_.PutAnswer("/busy", [](const auto&, auto& response) {
    response.status = 503;
    response.set_header("Retry-After", "86400");
  });
  site_.Put("/map", Map({{"/a", ""}}));
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  EXPECT_THAT(Poll(other.url()).at(1).why, HasSubstr("come again in 86400 s"));
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 1U);
  EXPECT_THAT(Poll(other.url()).at(1).why, HasSubstr("asked for a wait")) << "who was told to wait";
}

// Previously, polls of a site with many documents made the poller forget the documents of all other
// sites. The poller then polled those documents immediately, although their sites had asked it to
// wait.
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
  // All documents of the hostile site `other` are polled later, ask for a wait, or lead to `site_`.
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

// At the next poll, the DNS might return another address for the site.
TEST_F(PollerTest, APublicSiteIsNotPrivateAtTheNextPoll) {
  site_.Put("/map", Map({{"/a", ""}}));
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 1U);
  notes_.Take();
  const size_t asked = site_.Asked().size();
  options_.fetch.is_public = [](const IpAddress&) { return false; };
  EXPECT_THAT(Why(site_.url() + "/map"), HasSubstr("which is not a public address"));
  EXPECT_THAT(site_.Asked(), testing::SizeIs(asked));
}

// Previously, a robots.txt with a redirect to itself made its site private.
TEST_F(PollerTest, APublicSiteThatLeadsToNothingIsNotPrivateAtTheNextPoll) {
  site_.PutRedirect("/robots.txt", "/robots.txt");
  options_.fetch.is_public = [](const IpAddress&) { return true; };
  EXPECT_THAT(Poll(site_.url()), testing::SizeIs(2));
  const size_t asked = site_.Asked().size();
  options_.fetch.is_public = [](const IpAddress&) { return false; };
  EXPECT_THAT(Why(site_.url()), HasSubstr("which is not a public address"));
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
        options_, *state_, make_sender_, turn_, [this] { return now_; },
        [](const DocumentReport&) {});
    EXPECT_EQ(*poller.Due(site_.url() + "/map"), right);
    EXPECT_THAT(Why(site_.url() + "/busy"),
                HasSubstr("not fetched: the site asked for a wait of another "));
    // A site can ask for a wait of at most kMaxRetryAfter.
    now_ = right + kMaxRetryAfter + Duration::Seconds(1);
    EXPECT_THAT(Poll(site_.url() + "/map"), testing::SizeIs(1));
    EXPECT_GT(*poller.Due(site_.url() + "/map"), now_);
    EXPECT_LT(*poller.Due(site_.url() + "/map"), now_ + Duration::Days(2));
  }
}

// The server refuses URLs of this length, escaped or not.
TEST_F(PollerTest, UrlsThatAreTooLongTakeNoPlace) {
  std::string accents;
  for (int i = 0; i < 2900; ++i) accents += "\xc3\xa9";
  const std::string longest(8000, 'a');
  const std::string braces(4000, '{');
  site_.Put("/map", Map({{"/" + longest, ""},
                         {"/" + accents, ""},
                         {"/" + longest + longest, ""},
                         {"/" + braces, ""}}));
  const DocumentReport report = Poll(site_.url() + "/map").at(0);
  EXPECT_EQ(report.bad_urls, 3U);
  EXPECT_THAT(report.left_out.front(), HasSubstr("at most 8192 are allowed"));
  EXPECT_THAT(notes_.Take(), testing::ElementsAre(Page("/" + longest)));
  EXPECT_TRUE(state_->FindPage(site_.url() + "/" + longest)->known);
  EXPECT_FALSE(state_->FindPage(site_.url() + "/" + accents)->known);
}

// The document has a megabyte of links, and its base makes each of them 2,000 bytes longer.
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
  EXPECT_EQ(left.result, Result::kFailed);
  EXPECT_THAT(left.why, HasSubstr("the site has announced 5 pages in this poll"));
  EXPECT_THAT(notes_.Take(), testing::SizeIs(6)) << "the second map comes to it, and is read";
  const DocumentReport last = Poll(site_.url()).back();
  EXPECT_EQ(last.result, Result::kUnchanged) << "each poll has its own";
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

TEST_F(PollerTest, ASiteSendsSoManySignalsInAPoll) {
  options_.site_pages = 5;
  std::string robots;
  const auto put = [this](int map, const std::string& date) {
    const std::string path = "/map" + std::to_string(map);
    site_.Put(path, Map({{path + "/a", date}, {path + "/b", date}, {path + "/c", date}}));
    return path;
  };
  for (int i = 0; i < 3; ++i) robots += "Sitemap: " + put(i, "2024-05-17") + "\n";
  site_.Put("/robots.txt", robots);
  Poll(site_.url());
  Poll(site_.url());
  EXPECT_THAT(notes_.Take(), testing::SizeIs(9));
  for (int i = 0; i < 3; ++i) put(i, "2024-05-18");
  now_ = now_ + Duration::Seconds(1);
  EXPECT_THAT(Poll(site_.url()).back().why, HasSubstr("has announced 5 pages in this poll"));
  EXPECT_THAT(notes_.Take(), testing::SizeIs(6)) << "signals";
  EXPECT_EQ(Poll(site_.url()).back().result, Result::kUnchanged);
  EXPECT_THAT(notes_.Take(), testing::SizeIs(3)) << "those that were left come first";
}

// While an object exists, the files that this process writes have a maximum size, as on a full
// disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

// A document of a few kilobytes with 3 MB of URLs needs twice as much temporary space. Previously,
// it ended the poller for all sites.
TEST_F(PollerTest, AFullDirectoryForTemporaryFilesFailsADocumentAlone) {
  std::vector<std::pair<std::string, std::string>> pages;
  for (int i = 0; i < 400; ++i) {
    pages.emplace_back("/" + std::to_string(i) + std::string(7500, 'a'), "");
  }
  site_.Put("/robots.txt", "Sitemap: /large\nSitemap: /small\n");
  site_.Put("/large", Gzip(Map(pages)));
  site_.Put("/small", Map({{"/a", ""}}));
  std::vector<DocumentReport> reports;
  {
    const SmallFiles small(rlim_t{4} << 20);
    reports = Poll(site_.url());
  }
  EXPECT_TRUE(status_.ok()) << status_;
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[1].result, Result::kFailed);
  EXPECT_THAT(reports[1].why,
              HasSubstr("a temporary file in " + TemporaryDirectory() + " cannot be written"));
  EXPECT_EQ(reports[2].new_pages, 1U);
  EXPECT_THAT(notes_.Take(), testing::ElementsAre(Page("/a")));
  reports = Poll(site_.url());
  EXPECT_EQ(reports.at(1).new_pages, 400U) << reports.at(1).why;
}

TEST_F(PollerTest, WithoutADirectoryForTemporaryFilesDocumentsFail) {
  site_.Put("/map", Map({{"/a", ""}}));
  const std::string before = TemporaryDirectory();
  setenv("TMPDIR", "/proc/none", 1);
  EXPECT_THAT(Why(site_.url() + "/map"), HasSubstr("a temporary file in /proc/none"));
  setenv("TMPDIR", before.c_str(), 1);
  EXPECT_GT(Known(site_.url() + "/map").next, now_) << "it is not polled at once again";
}

TEST_F(PollerTest, AStateThatCannotBeWrittenEndsThePoll) {
  site_.Put("/map", Map({{"/a", ""}}));
  const SmallFiles small(4096);
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).result, Result::kFailed);
  EXPECT_TRUE(absl::IsInternal(status_)) << status_;
}

// Previously, a site could cause 120,000 log lines, and the poller then lost the lines about other
// sites.
TEST_F(PollerTest, APollTellsSoManyComplaints) {
  std::string robots;
  for (uint64_t i = 0; i < kMaxComplaints + 10; ++i) {
    robots += "Sitemap: /none" + std::to_string(i) + "\n";
  }
  site_.Put("/robots.txt", robots + "Sitemap: /last\n");
  site_.Put("/last", Map({{"/a", ""}}));
  std::vector<uint64_t> untold;
  options_.untold = [&](const std::string& argument, const PollTally& of) {
    EXPECT_EQ(argument, site_.url());
    untold.push_back(of.untold);
  };
  notes_.status = absl::UnavailableError("gone");
  for (int poll = 0; poll < 2; ++poll) {
    const std::vector<DocumentReport> reports = Poll(site_.url());
    uint64_t told = 0;
    for (const DocumentReport& report : reports) {
      if (report.untold) {
        EXPECT_FALSE(report.why.empty()) << "it is only not to be told";
      } else {
        told += report.Complaints().size();
      }
    }
    EXPECT_EQ(told, kMaxComplaints + (status_.ok() ? 0 : 1)) << "each poll has its own";
    EXPECT_FALSE(reports.back().untold) << "that the server is gone, or a page sent";
    notes_.status = absl::OkStatus();
  }
  EXPECT_THAT(untold, testing::ElementsAre(10, 10));
}

// Previously, a site with 10,000 documents caused 10,000 log lines every five minutes.
TEST_F(PollerTest, APollTellsOfSoManyDocuments) {
  std::string robots;
  for (uint64_t i = 0; i < kMaxListed + 9; ++i) {
    const std::string path = "/map" + std::to_string(i);
    robots += "Sitemap: " + path + "\n";
    site_.Put(path, Map({{"/" + std::to_string(i), ""}}));
  }
  site_.Put("/robots.txt", robots);
  std::vector<PollTally> tallies;
  options_.untold = [&](const std::string&, const PollTally& of) { tallies.push_back(of); };
  for (int poll = 0; poll < 2; ++poll) {
    const std::vector<DocumentReport> reports = Poll(site_.url());
    EXPECT_EQ(reports.size(), kMaxListed + 10);
    EXPECT_EQ(std::ranges::count_if(reports, [](const auto& report) { return !report.unlisted; }),
              kMaxListed);
  }
  ASSERT_EQ(tallies.size(), 2U);
  EXPECT_EQ(tallies[0].unlisted, 10U);
  EXPECT_EQ(tallies[0].new_pages, 10U);
  EXPECT_EQ(tallies[1].unlisted, 10U) << "each poll has its own";
  EXPECT_EQ(tallies[1].new_pages, 0U);
  EXPECT_EQ(tallies[1].untold, 0U);
}

// Returns `count` new pages of a document. Their names are numbers.
std::vector<std::pair<std::string, std::string>> Pages(size_t count) {
  std::vector<std::pair<std::string, std::string>> pages;
  for (size_t i = 0; i < count; ++i) pages.emplace_back("/" + std::to_string(i), "");
  return pages;
}

// Previously, all other sites waited until the server had taken all 50,000 entries of a document.
TEST_F(PollerTest, NobodyWaitsWhileADocumentIsSent) {
  site_.Put("/map", Map(Pages(4 * PieceSize::kLeast)));
  std::future<size_t> other;
  std::vector<size_t> had_turn;  // number of entries that were sent before
  notes_.settle = [&] {
    now_ = now_ + Duration::Seconds(1);
    if (other.valid()) had_turn.push_back(other.get());
    other = std::async(std::launch::async, [this] {
      turn_.Lock();
      const size_t sent = notes_.sent.size();
      turn_.Unlock();
      return sent;
    });
    WaitUntil([&] { return turn_.Waiting() > 0; });
  };
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 4 * PieceSize::kLeast);
  EXPECT_THAT(had_turn, testing::ElementsAre(PieceSize::kLeast, 2 * PieceSize::kLeast,
                                             3 * PieceSize::kLeast));
}

TEST_F(PollerTest, PiecesGrowWhereTheServerIsQuick) {
  site_.Put("/map", Map(Pages(7 * PieceSize::kLeast)));
  std::vector<size_t> settled;
  notes_.settle = [&] { settled.push_back(notes_.sent.size()); };
  Poll(site_.url() + "/map");
  EXPECT_THAT(settled, testing::ElementsAre(PieceSize::kLeast, 3 * PieceSize::kLeast,
                                            7 * PieceSize::kLeast));
}

// The server is so slow that the time of the site is used up before all entries are sent.
TEST_F(PollerTest, SendingIsOfTheTimeOfTheSite) {
  options_.site_timeout = Duration::Seconds(60);
  const std::string map = site_.url() + "/map";
  const size_t all = 5 * PieceSize::kLeast;
  site_.Put("/map", Map(Pages(all)));
  notes_.settle = [this] { now_ = now_ + Duration::Seconds(25); };
  const DocumentReport first = Poll(map).at(0);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(first.result, Result::kFailed);
  EXPECT_THAT(first.why, HasSubstr("took more than 60 s: the rest is left for another time"));
  EXPECT_EQ(first.new_pages, 3 * PieceSize::kLeast)
      << "the time ends in the middle of the document";
  std::vector<std::string> sent = notes_.Take();
  EXPECT_EQ(sent.size(), 3 * PieceSize::kLeast);
  EXPECT_EQ(Known(map).etag, "") << "there is more of it";
  Reopen();
  const DocumentReport second = Poll(map).at(0);
  EXPECT_EQ(second.result, Result::kRead) << second.why;
  EXPECT_EQ(second.new_pages, 2 * PieceSize::kLeast)
      << "what the server has taken is not sent again";
  for (const std::string& one : notes_.Take()) sent.push_back(one);
  EXPECT_EQ(std::set<std::string>(sent.begin(), sent.end()).size(), all);
  EXPECT_EQ(Poll(map).at(0).result, Result::kUnchanged);
}

// Previously, the time limit of a site included the time in which the site waited for the turn of
// another site to end.
TEST_F(PollerTest, ItsTurnIsNotOfTheTimeOfTheSite) {
  site_.Put("/robots.txt", "Sitemap: /1\nSitemap: /2\n");
  site_.Put("/2", Map({{"/b", ""}}));
  std::future<void> other;
  // One thread takes the turn, and another thread releases it.
  site_.PutAnswer(
      "/1", [&](const auto&, auto& response) FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
        turn_.Lock();
        other = std::async(std::launch::async,
                           [this]() FRESHET_THREAD_ANNOTATION(no_thread_safety_analysis) {
                             WaitUntil([&] { return turn_.Waiting() > 0; });
                             now_ = now_ + Duration::Hours(2);
                             turn_.Unlock();
                           });
        response.set_content(Map({{"/a", ""}}), "application/xml");
      });
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[2].result, Result::kRead) << reports[2].why;
  EXPECT_THAT(notes_.Take(), testing::ElementsAre(Page("/a"), Page("/b")));
}

// Looking up the 10,000 sitemaps of an index takes time.
TEST_F(PollerTest, LookingUpAnIndexIsOfTheTimeOfTheSite) {
  options_.max_documents = 2 * kMaxPiece;
  std::string index = "<sitemapindex>";
  for (size_t i = 0; i < options_.max_documents; ++i) {
    index += "<sitemap><loc>/" + std::to_string(i) + "</loc></sitemap>";
  }
  site_.Put("/index", index + "</sitemapindex>");
  options_.site_timeout = Duration::Seconds(60);
  size_t looks = 0;
  on_clock_ = [&] {
    // Each lookup reads the clock once. The site's time is used up before the first sitemap is
    // fetched.
    if (++looks > 2 * kMaxPiece) now_ = now_ + Duration::Hours(1);
  };
  EXPECT_THAT(Poll(site_.url() + "/index").back().why, HasSubstr("took more than 60 s"));
  EXPECT_THAT(site_.Asked(), testing::SizeIs(1));
}

// Returns a gzip file of many parts, for a robots.txt.
std::string ManyParts(int parts) {
  std::string packed;
  for (int i = 0; i < parts; ++i) packed += Gzip("a");
  return packed;
}

// Previously, all other sites waited for minutes because of a robots.txt of 25 KB.
TEST_F(PollerTest, ReadingRobotsIsOfTheTimeOfTheSite) {
  site_.Put("/robots.txt", ManyParts(100));
  options_.site_timeout = Duration::Seconds(60);
  int without_turn = 0;
  on_clock_ = [&] {
    if (!turn_.TryLock()) return;
    turn_.Unlock();
    ++without_turn;
    now_ = now_ + Duration::Seconds(1);
  };
  EXPECT_THAT(Why(site_.url()), HasSubstr("took more than 60 s"));
  EXPECT_GE(without_turn, 60);
  EXPECT_LT(without_turn, 70);
}

// Previously, a stop waited until the robots.txt was read.
TEST_F(PollerTest, AStopEndsTheReadingOfRobots) {
  site_.Put("/robots.txt", ManyParts(100));
  int without_turn = 0;
  on_clock_ = [&] {
    if (!turn_.TryLock()) return;
    turn_.Unlock();
    ++without_turn;
  };
  options_.fetch.cancelled = [&] { return without_turn >= 10; };
  EXPECT_THAT(Poll(site_.url()), testing::IsEmpty());
  EXPECT_TRUE(absl::IsCancelled(status_)) << status_;
  EXPECT_EQ(without_turn, 11) << "the last look tells how long the reading took";
}

// Previously, the URLs of a site's documents could take 150 MB.
TEST_F(PollerTest, AnIndexNamesSoManyBytes) {
  constexpr size_t kNamed = 3000;
  const std::string head = site_.url() + "/" + std::string(2000 - site_.url().size(), 'a');
  std::string index = "<sitemapindex>";
  for (size_t i = 0; i < kNamed; ++i) {
    index += "<sitemap><loc>" + head + std::to_string(10'000 + i) + "</loc></sitemap>";
  }
  site_.Put("/index", index + "</sitemapindex>");
  size_t looks = 0;
  on_clock_ = [&] {
    // The site's time is used up while its documents are looked up, before the first one is
    // fetched.
    if (++looks > 1000) now_ = now_ + Duration::Hours(1);
  };
  const DocumentReport report = Poll(site_.url() + "/index").at(0);
  EXPECT_EQ(report.entries, kNamed);
  EXPECT_EQ(report.bad_urls, kNamed - kMaxNamesBytes / (head.size() + 5));
  EXPECT_THAT(report.left_out.at(0), HasSubstr("URLs of documents have more than 4 MiB"));
  EXPECT_THAT(site_.Asked(), testing::SizeIs(1));
}

// A poll of another site can send a page while this document waits for its turn.
TEST_F(PollerTest, WhatIsSentMeanwhileIsNotSentAgain) {
  site_.Put("/map", Map(Pages(2 * PieceSize::kLeast)));
  const std::string late = site_.url() + "/" + std::to_string(2 * PieceSize::kLeast - 1);
  bool committed = false;
  notes_.settle = [&] {
    if (std::exchange(committed, true)) return;
    const uint64_t stage = state_->NewStage();
    EXPECT_TRUE(state_->Stage(stage, 1, late, now_).ok());
    EXPECT_TRUE(state_->Commit(stage, 1).ok());
  };
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).new_pages, 2 * PieceSize::kLeast - 1);
  EXPECT_THAT(notes_.Take(), testing::Not(testing::Contains("page " + late)));
  EXPECT_EQ(state_->FindPage(late)->modified, now_) << "what is known stays so";
}

// Signals that are sent in many turns still belong to one poll, and the size of the poll is
// announced before them.
TEST_F(PollerTest, TheSizeOfAPollIsKnownBeforeItIsSent) {
  auto pages = Pages(3 * PieceSize::kLeast);
  site_.Put("/map", Map(pages));
  Poll(site_.url() + "/map");
  for (size_t i = 0; i < 2 * PieceSize::kLeast; ++i) pages[i].second = "2024-05-18";
  pages.emplace_back("/new", "");
  site_.Put("/map", Map(pages));
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).signals, 2 * PieceSize::kLeast);
  Poll(site_.url() + "/map");
  EXPECT_THAT(signals_, testing::ElementsAre(0, 2 * PieceSize::kLeast));
}

}  // namespace
}  // namespace freshet::sitemap

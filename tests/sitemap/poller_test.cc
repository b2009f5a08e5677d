#include "tools/sitemap/poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>

#include "tests/sitemap/public_here.h"
#include "tests/support/gzip.h"
#include "tests/support/small_site.h"
#include "tests/support/temp_dir.h"

namespace freshet::sitemap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Result = DocumentReport::Result;

// Remembers what it gets. Thread-compatible.
class Notes : public Sender {
 public:
  bool SendPage(uint64_t, const cli::FeedEntry& entry) override {
    sent.push_back("page " + entry.url);
    return true;
  }
  bool SendSignal(uint64_t, const cli::FeedEntry& entry) override {
    sent.push_back("signal " + entry.url + " " + std::to_string(entry.modified->seconds()));
    return true;
  }
  [[nodiscard]] absl::StatusOr<Receipt> Finish() override {
    if (finish) finish();
    if (!status.ok()) return status;
    return std::exchange(receipt, {});
  }
  std::vector<std::string> Take() { return std::exchange(sent, {}); }

  std::vector<std::string> sent;
  std::function<void()> finish;
  absl::Status status;
  Receipt receipt;
};

class PollerTest : public testing::Test {
 protected:
  PollerTest() {
    options_.fetch.user_agent = "freshet/test";
    options_.fetch.is_public = IsPublicHere;
    Reopen();
  }
  void Reopen() {
    state_.reset();
    state_ = *PollState::Open(dir_ / "state", "");
  }
  // The reports of one poll.
  std::vector<DocumentReport> Poll(const std::string& argument) {
    std::vector<DocumentReport> reports;
    Poller poller(
        options_, *state_, notes_, [this] { return now_; },
        [&reports](const DocumentReport& report) { reports.push_back(report); });
    status_ = poller.Poll(argument, 0);
    return reports;
  }
  // Of a poll that fails, of one document.
  std::string Why(const std::string& argument) {
    const std::vector<DocumentReport> reports = Poll(argument);
    EXPECT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports.at(0).result, Result::kFailed);
    EXPECT_THAT(notes_.Take(), IsEmpty());
    EXPECT_TRUE(status_.ok()) << status_;
    return reports.at(0).why;
  }
  // A sitemap of pages and their dates; without one if it is empty.
  std::string Map(const std::vector<std::pair<std::string, std::string>>& pages) const {
    std::string text = "<urlset>";
    for (const auto& [path, date] : pages) {
      text += "<url><loc>" + site_.url() + path + "</loc>";
      if (!date.empty()) text += "<lastmod>" + date + "</lastmod>";
      text += "</url>";
    }
    return text + "</urlset>";
  }
  std::string Page(const std::string& path) const { return "page " + site_.url() + path; }
  std::string Signal(const std::string& path, const std::string& seconds) const {
    return "signal " + site_.url() + path + " " + seconds;
  }

  SmallSite site_;
  const TempDir dir_;
  PollerOptions options_;
  std::unique_ptr<PollState> state_;
  Notes notes_;
  Instant now_ = Instant::FromUnixSeconds(1'718'000'000);  // 2024-06-10
  absl::Status status_;
};

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
              ElementsAre(Page("/c"), Signal("/a", "1715990400"), Signal("/b", "1716163200")));
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
  // What is below an index is looked at again although the index has not changed.
  site_.Put("/1", Map({{"/a", "2024-05-17"}}));
  EXPECT_EQ(Poll(site_.url() + "/index").size(), 3U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Signal("/a", "1715904000")));
}

TEST_F(PollerTest, IndexesMayBeTwoDeep) {
  for (const auto& [path, below] :
       std::vector<std::pair<std::string, std::string>>{{"/1", "/2"}, {"/2", "/3"}, {"/3", "/4"}}) {
    site_.Put(path, "<sitemapindex><sitemap><loc>" + site_.url() + below +
                        "</loc></sitemap></sitemapindex>");
  }
  const auto reports = Poll(site_.url() + "/1");
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[2].why, "indexes are more than 2 deep");
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
  EXPECT_EQ(reports[3].why, "leads to more than 3 documents: the rest is left");
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
  ASSERT_EQ(reports.size(), 4U);
  for (size_t i = 1; i < reports.size(); ++i) EXPECT_EQ(reports[i].result, Result::kFailed);
  EXPECT_THAT(notes_.Take(), IsEmpty());
}

TEST_F(PollerTest, RobotsAreReadSoFar) {
  site_.Put("/map", Map({{"/a", ""}}));
  site_.Put("/robots.txt", std::string(500 << 10, '#') + "\nSitemap: " + site_.url() + "/map\n");
  EXPECT_EQ(Poll(site_.url()).at(0).entries, 0U);
}

TEST_F(PollerTest, RobotsNameTheSitemapsOfASite) {
  site_.Put("/robots.txt", "User-agent: *\nDisallow: /x\nsitemap : " + site_.url() +
                               "/a # the first\r\nSitemap:" + site_.url() +
                               "/b\nSitemap: http://other.test/c\n");
  site_.Put("/a", Map({{"/1", ""}}));
  site_.Put("/b", Map({{"/2", ""}}));
  const auto reports = Poll(site_.url());
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].kind, "robots");
  EXPECT_EQ(reports[0].other_hosts, 1U);
  EXPECT_THAT(notes_.Take(), ElementsAre(Page("/1"), Page("/2")));
  const SmallSite none;
  EXPECT_EQ(Poll(none.url() + "/").at(1).why, "the site answers 404");
  EXPECT_THAT(none.Asked(), ElementsAre("/robots.txt", "/sitemap.xml"));
  options_.robots = true;
  EXPECT_EQ(Poll(site_.url() + "/any").size(), 3U);
}

TEST_F(PollerTest, SitesSpeakForThemselves) {
  site_.Put("/map",
            "<urlset><url><loc>http://other.test/</loc></url><url><loc>http://127.0.0.1:1/a"
            "</loc></url><url><loc>a</loc></url></urlset>");
  EXPECT_EQ(Poll(site_.url() + "/map").at(0).other_hosts, 2U);
  EXPECT_THAT(notes_.Take(), ElementsAre("page http://127.0.0.1:1/a"));
  options_.other_hosts = true;
  site_.Put("/map", "<urlset><url><loc>http://other.test/</loc></url></urlset>");
  Poll(site_.url() + "/map");
  EXPECT_THAT(notes_.Take(), ElementsAre("page http://other.test/"));
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

// Nothing of what is refused is sent, however late it shows.
TEST_F(PollerTest, BadDocumentsAreRefusedAsAWhole) {
  const std::string good = Map({{"/a", ""}});
  const std::string map = site_.url() + "/map";
  const auto why = [&](const std::string& body) {
    site_.Put("/map", body);
    return Why(map);
  };
  EXPECT_THAT(why(good.substr(0, good.size() - 1)), HasSubstr("it is no XML"));
  EXPECT_THAT(why(good + "<urlset>"), HasSubstr("it is no XML"));
  EXPECT_THAT(why("<!DOCTYPE html><html><body>Not found</body></html>"),
              HasSubstr("its root is <html>"));
  EXPECT_THAT(why("<!DOCTYPE urlset [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]>" + good),
              HasSubstr("declares entities"));
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
  EXPECT_EQ(Why(site_.url() + "/map"), "left alone: the site has asked to come again in 60 s");
  EXPECT_EQ(state_->FindDocument(site_.url() + "/map")->next, now_ + Duration::Seconds(60));
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

// Killed between the server's acknowledgement and its own memory of it.
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
    notes_.finish = [] { kill(getpid(), SIGKILL); };
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
  EXPECT_THAT(Why("/dev/zero"), HasSubstr("it is no XML"));
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
  EXPECT_EQ(state_->FindDocument(site_.url() + "/map")->interval, Duration::Seconds(5400))
      << "nothing was new, so it grew";
  options_.fetch.cancelled = [] { return true; };
  EXPECT_THAT(Poll(site_.url() + "/index"), IsEmpty());
  EXPECT_TRUE(absl::IsCancelled(status_));
}

}  // namespace
}  // namespace freshet::sitemap

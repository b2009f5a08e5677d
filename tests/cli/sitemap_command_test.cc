// Tests `freshet sitemap`, with sites on this machine and a fake server.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "core/base/sanitized.h"
#include "tests/cli/real_server.h"
#include "tests/support/gzip.h"
#include "tests/support/run_program.h"
#include "tests/support/small_site.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"
#include "tools/sitemap/state.h"

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string Entry(const std::string& url, const std::string& date, const std::string& more = "") {
  return "<url><loc>" + url + "</loc><lastmod>" + date + "</lastmod>" + more + "</url>";
}

// Each test has a separate state file.
class SitemapCommandTest : public testing::Test {
 protected:
  Outcome Poll(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"sitemap", "--state", dir_ / "state"});
    return server_.Run(std::move(arguments));
  }

  const TempDir dir_;
  SmallSite site_;
  FakeServer server_;
};

TEST_F(SitemapCommandTest, SendsPagesThenSignalsAsOnePoll) {
  const std::string a = site_.url() + "/a";
  site_.Put("/map", "<urlset>" + Entry(a, "2024-05-17") + "</urlset>");
  const Outcome first = Poll({site_.url() + "/map"});
  EXPECT_EQ(first.code, kAccepted) << first.err;
  EXPECT_EQ(first.out, site_.url() + "/map: sitemap, 1 entry: 1 new page, 0 signals\n");
  ASSERT_EQ(server_.pages.upserts.requests.size(), 1U);
  EXPECT_EQ(server_.pages.upserts.requests[0].pages(0).url(), a);
  EXPECT_FALSE(server_.pages.upserts.requests[0].pages(0).has_importance());
  EXPECT_TRUE(server_.ingest.signals.requests.empty());

  EXPECT_THAT(Poll({site_.url() + "/map"}).out, HasSubstr("/map: unchanged\n"));
  site_.Put("/map", "<urlset>" + Entry(a, "2024-05-18") + "</urlset>");
  EXPECT_EQ(Poll({site_.url() + "/map", "--source", "shop"}).code, kAccepted);
  EXPECT_EQ(Poll({site_.url() + "/map"}).code, kAccepted);
  EXPECT_EQ(server_.pages.upserts.requests.size(), 1U);
  ASSERT_EQ(server_.ingest.signals.requests.size(), 1U);
  const v1::SignalChangesRequest& poll = server_.ingest.signals.requests[0];
  ASSERT_EQ(poll.signals_size(), 1);
  EXPECT_FALSE(poll.has_poll_size());
  EXPECT_EQ(poll.signals(0).url(), a);
  EXPECT_EQ(poll.signals(0).source(), "shop");
  EXPECT_EQ(poll.signals(0).change_time().seconds(), 1'716'119'999) << "where the day ends last";
  EXPECT_EQ(poll.signals(0).signal_id(), "lastmod 1715990400.000000000");
}

// The server judges a poll by its size, even if the poll arrives in several messages.
TEST_F(SitemapCommandTest, SignalsOfSeveralTurnsAreOnePoll) {
  const auto map = [this](const std::string& date) {
    std::string text = "<urlset>";
    for (int i = 0; i < 120; ++i) text += Entry(site_.url() + "/" + std::to_string(i), date);
    return text + "</urlset>";
  };
  for (const char* date : {"2024-05-17", "2024-05-18"}) {
    site_.Put("/map", map(date));
    EXPECT_EQ(Poll({site_.url() + "/map"}).code, kAccepted);
  }
  int signals = 0;
  for (const v1::SignalChangesRequest& part : server_.ingest.signals.requests) {
    EXPECT_EQ(part.poll_size(), 120U);
    EXPECT_EQ(part.poll_id(), server_.ingest.signals.requests[0].poll_id());
    EXPECT_GT(part.poll_id(), 0U);
    signals += part.signals_size();
  }
  EXPECT_EQ(signals, 120);
  EXPECT_GT(server_.ingest.signals.requests.size(), 1U);
}

TEST_F(SitemapCommandTest, PriorityIsImportanceIfAskedFor) {
  std::string map = "<urlset>";
  for (const char* priority : {"0.0", "0.5", "1.0", "7"}) {
    map += Entry(site_.url() + "/" + priority, "2024-05-17",
                 "<priority>" + std::string(priority) + "</priority>");
  }
  site_.Put("/map", map + "</urlset>");
  EXPECT_EQ(Poll({"--priority", site_.url() + "/map"}).code, kAccepted);
  const auto& pages = server_.pages.upserts.requests.at(0).pages();
  EXPECT_EQ(pages[0].importance(), 0.1);
  EXPECT_EQ(pages[1].importance(), 1);
  EXPECT_EQ(pages[2].importance(), 2);
  EXPECT_FALSE(pages[3].has_importance());
}

TEST_F(SitemapCommandTest, SaysWhatWouldBeSent) {
  site_.Put("/map", "<urlset>" + Entry("http://127.0.0.1/a", "2024-05-17") + "</urlset>");
  const Outcome dry = Poll({"--dry-run", site_.url() + "/map"});
  EXPECT_EQ(dry.code, kAccepted) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("page http://127.0.0.1/a\n"));
  EXPECT_TRUE(server_.pages.upserts.requests.empty());
  const Outcome run = Poll({"--json", site_.url() + "/map"});
  const json object = json::parse(run.out);
  EXPECT_EQ(object["document"], site_.url() + "/map");
  EXPECT_EQ(object["result"], "read");
  EXPECT_EQ(object["new_pages"], 1);
}

TEST_F(SitemapCommandTest, WhatWouldBeSentCanBeSeenWhileAnotherPolls) {
  site_.Put("/map", "<urlset>" + Entry(site_.url() + "/a", "2024-05-17") + "</urlset>");
  ASSERT_EQ(Poll({site_.url() + "/map"}).code, kAccepted);
  site_.Put("/map", "<urlset>" + Entry(site_.url() + "/a", "2024-05-18") +
                        Entry(site_.url() + "/b", "2024-05-18") + "</urlset>");
  const auto other = sitemap::PollState::Open(dir_ / "state", "");
  ASSERT_TRUE(other.ok()) << other.status();
  const Outcome dry = Poll({"--dry-run", site_.url() + "/map"});
  EXPECT_EQ(dry.code, kAccepted) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("page " + site_.url() + "/b\n"));
  EXPECT_THAT(dry.out, HasSubstr("signal " + site_.url() + "/a "));
  EXPECT_THAT(Poll({site_.url() + "/map"}).err, HasSubstr("another process has it open"));
  const Outcome none =
      server_.Run({"sitemap", "--state", dir_ / "none", "--dry-run", site_.url() + "/map"});
  EXPECT_THAT(none.out, HasSubstr("page " + site_.url() + "/a\n"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "none"));
}

TEST_F(SitemapCommandTest, UrlsThatAreLeftOutAreShownShort) {
  const std::string odd = "http://other.test/\u009b31m\u202e" + std::string(9'000, 'x');
  site_.Put("/map", "<urlset>" + Entry(odd, "2024-05-17") + "</urlset>");
  for (const bool as_json : {false, true}) {
    const std::string path = site_.url() + "/map";
    const Outcome run = as_json
                            ? server_.Run({"--json", "sitemap", "--state", dir_ / "state", path})
                            : Poll({path});
    EXPECT_THAT(run.err, HasSubstr("left out: entry 1: http://other.test/"));
    EXPECT_LT(run.err.size() + run.out.size(), 2'000U);
    EXPECT_EQ((run.err + run.out).find("\u009b"), std::string::npos);
    EXPECT_EQ((run.err + run.out).find("\u202e"), std::string::npos);
  }
}

TEST_F(SitemapCommandTest, RefusedItemsAreToldAndTriedAgainIfThatMayHelp) {
  site_.Put("/map", "<urlset>" + Entry(site_.url() + "/a", "2024-05-17") +
                        Entry(site_.url() + "/b", "2024-05-17") + "</urlset>");
  server_.pages.upserts.judge = [](const auto&, v1::BatchAck* ack) {
    *ack->add_statuses() = Refusal(0, v1::ERROR_CODE_INVALID_ARGUMENT, "url", "is ugly");
    *ack->add_statuses() = Refusal(1, v1::ERROR_CODE_PERMISSION_DENIED, "url", "not yours");
  };
  const Outcome run = Poll({site_.url() + "/map"});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_THAT(run.err, HasSubstr("/a: url: is ugly"));
  EXPECT_THAT(run.out, HasSubstr("2 refused"));
  server_.pages.upserts.judge = [](const auto&, v1::BatchAck*) {};
  EXPECT_EQ(Poll({site_.url() + "/map"}).code, kAccepted);
  ASSERT_EQ(server_.pages.upserts.requests.size(), 2U);
  ASSERT_EQ(server_.pages.upserts.requests[1].pages_size(), 1);
  EXPECT_EQ(server_.pages.upserts.requests[1].pages(0).url(), site_.url() + "/b");
}

TEST_F(SitemapCommandTest, OfOnePollSoManyComplaintsArePrinted) {
  std::string robots;
  for (int i = 0; i < 12; ++i) {
    const std::string path = "/" + std::to_string(i);
    std::string map = "<urlset>";
    for (int k = 0; k < 20; ++k) {
      map += Entry(path + "/" + std::to_string(k), "2024-05-17");
      if (i < 6) map += Entry("http://other.test/", "2024-05-17");
    }
    site_.Put(path, map + "</urlset>");
    robots += "Sitemap: " + path + "\n";
  }
  site_.Put("/robots.txt", robots);
  server_.pages.upserts.judge = [](const auto& request, v1::BatchAck* ack) {
    for (int i = 0; i < request.pages_size(); ++i) {
      *ack->add_statuses() =
          Refusal(static_cast<uint32_t>(i), v1::ERROR_CODE_INVALID_ARGUMENT, "url", "is ugly");
    }
  };
  const Outcome run = Poll({site_.url()});
  EXPECT_EQ(run.code, kRefused);
  EXPECT_THAT(run.err, HasSubstr("/0: refused: entry 1: " + site_.url() + "/0/0: url: is ugly\n"));
  // Each of the first three documents prints ten refusals, ten skipped entries, and a line with the
  // number of its other entries. The last line counts the lines that are not printed: those of
  // three more such documents, and of six documents that have only refusals.
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 3 * 21 + 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr(site_.url() + ": 123 more lines about this site's documents"));
  const std::string out =
      server_.Run({"--json", "sitemap", "--state", dir_ / "other", site_.url()}).out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 13);
  EXPECT_EQ(json::parse(out.substr(out.rfind('\n', out.size() - 2)))["refused"], 20);
}

TEST_F(SitemapCommandTest, OfOnePollSoManyDocumentsArePrinted) {
  std::string robots;
  for (int i = 0; i < 60; ++i) {
    const std::string path = "/" + std::to_string(i);
    site_.Put(path, "<urlset>" + Entry(path + "/a", "2024-05-17") + "</urlset>");
    robots += "Sitemap: " + path + "\n";
  }
  site_.Put("/robots.txt", robots);
  const Outcome run = Poll({site_.url()});
  EXPECT_EQ(run.code, kAccepted);
  // The report has the line of the robots.txt, 49 other lines, and a line with the number of the
  // rest.
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 51) << run.out;
  EXPECT_THAT(run.out, HasSubstr(site_.url() + ": 11 more documents: 11 new pages, 0 signals\n"));
}

TEST_F(SitemapCommandTest, WhatIsLeftOutIsNamedAndNothingUsableIsAFailure) {
  const std::string other = "<url><loc>http://other.test/</loc></url>";
  site_.Put("/map", "<urlset>" + other + Entry("/a", "2024-05-17") + "</urlset>");
  const Outcome some = Poll({site_.url() + "/map"});
  EXPECT_EQ(some.code, kAccepted) << some.err;
  EXPECT_THAT(some.err, HasSubstr("left out: entry 1: http://other.test/: it is of another host"));
  EXPECT_THAT(some.out, HasSubstr("1 of other hosts left out"));
  EXPECT_EQ(server_.pages.upserts.requests.at(0).pages(0).url(), site_.url() + "/a");
  site_.Put("/none", "<urlset>" + other + "<url/></urlset>");
  const Outcome none = Poll({"--json", site_.url() + "/none"});
  EXPECT_EQ(none.code, kRefused);
  EXPECT_THAT(none.err, HasSubstr("/none: no page or sitemap of this document could be used"));
  const json object = json::parse(none.out);
  EXPECT_EQ(object["other_hosts"], 1);
  EXPECT_EQ(object["without_url"], 1);
  EXPECT_EQ(object["left_out"].size(), 2U);
  site_.Put("/mended", "<urlset><url><loc>/?a=1&b=2</loc></url></urlset>");
  const Outcome mended = Poll({site_.url() + "/mended"});
  EXPECT_EQ(mended.code, kAccepted) << mended.err;
  EXPECT_THAT(mended.out, HasSubstr("1 fault mended"));
}

TEST_F(SitemapCommandTest, BadUsageAndBadDocumentsHaveTheirCodes) {
  site_.Put("/html", "<html/>");
  const Outcome html = Poll({site_.url() + "/html"});
  EXPECT_EQ(html.code, kRefused);
  EXPECT_THAT(html.err, HasSubstr("/html: the document's root is <html>"));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"--every", "soon", "x"},
                                             {"--every", "0", "x"},
                                             {"--watch", "-"},
                                             {"--min-interval", "2h", "--max-interval", "1h", "x"},
                                             {"--watch", "--dry-run", "x"},
                                             {"--every", "1h", "--dry-run", "x"},
                                             {"--site-timeout", "0", "x"},
                                             {"--sites-at-once", "0", "x"},
                                             {"--site-pages", "0", "x"},
                                             {"--state", "/proc/none/x", "x"}}) {
    EXPECT_EQ(Poll(arguments).code, kBadUsage) << testing::PrintToString(arguments);
  }
  server_.pages.upserts.fail_at = 0;
  site_.Put("/map", "<urlset>" + Entry(site_.url() + "/a", "2024-05-17") + "</urlset>");
  EXPECT_EQ(Poll({site_.url() + "/map"}).code, kUnreachable);
}

// The client as a process with arguments. Thread-compatible.
class Client {
 public:
  Client(const std::string& server, std::vector<std::string> arguments, const std::string& out) {
    arguments.insert(arguments.begin(), {"freshet", "--server", server, "sitemap"});
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) {
      dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
      execv(FRESHET_BIN_DIR "/freshet", words.data());
      _exit(127);
    }
  }
  ~Client() {
    if (process_ > 0) kill(process_, SIGKILL);
    (void)Wait();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Signal(int number) const { kill(process_, number); }
  // Returns the exit code; -1 = a signal ended the process.
  int Wait() {
    if (process_ <= 0) return -1;
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The peak of the memory so far. The figure of wait4 is not used, because it includes the process
  // before exec.
  [[nodiscard]] int64_t MaxKilobytes() const {
    const std::string status = ReadWholeFile("/proc/" + std::to_string(process_) + "/status");
    const size_t found = status.find("VmHWM:");
    EXPECT_NE(found, std::string::npos) << status;
    return found == std::string::npos ? 0 : std::stoll(status.substr(found + 6));
  }

 private:
  pid_t process_ = 0;
};

TEST_F(SitemapCommandTest, WatchesUntilItIsToldToStop) {
  const std::string out = dir_ / "out";
  site_.Put("/map", "<urlset>" + Entry(site_.url() + "/a", "2024-05-17") + "</urlset>");
  Client client(server_.address, {"--state", dir_ / "state", "--every", "1s", site_.url() + "/map"},
                out);
  EXPECT_TRUE(
      Eventually([&] { return ReadWholeFile(out).find("1 new page,") != std::string::npos; }));
  const Outcome second = Poll({site_.url() + "/map"});
  EXPECT_EQ(second.code, kBadUsage);
  EXPECT_THAT(second.err, HasSubstr("another process has it open"));
  site_.Put("/map", "<urlset>" + Entry(site_.url() + "/a", "2024-05-18") + "</urlset>");
  EXPECT_TRUE(
      Eventually([&] { return ReadWholeFile(out).find("1 signal\n") != std::string::npos; }));
  client.Signal(SIGTERM);
  EXPECT_EQ(client.Wait(), kAccepted);
  EXPECT_EQ(server_.ingest.signals.requests.size(), 1U);
  EXPECT_THAT(Poll({site_.url() + "/map"}).out, HasSubstr("unchanged"));
}

TEST_F(SitemapCommandTest, AStopEndsAFetchAtOnce) {
  std::promise<void> over;
  const auto wait = over.get_future().share();
  std::promise<void> asked;
  site_.PutAnswer("/slow", [&asked, wait](const auto&, auto&) {
    asked.set_value();
    wait.wait();
  });
  Client client(server_.address, {"--state", dir_ / "state", "--watch", site_.url() + "/slow"},
                dir_ / "out");
  asked.get_future().wait();
  client.Signal(SIGINT);
  EXPECT_EQ(client.Wait(), kAccepted);
  over.set_value();
}

TEST_F(SitemapCommandTest, MemoryDoesNotGrowWithTheDocument) {
  if (kSanitized) GTEST_SKIP() << "their memory is another";
  const auto map = [this](size_t length) {
    std::string text = "<urlset>";
    for (int i = 0; i < 50'000; ++i) {
      const std::string url = site_.url() + "/" + std::to_string(i);
      text += Entry(url + std::string(length - url.size(), 'a'), "2024-05-17");
    }
    return text + "</urlset>";
  };
  const auto peak = [this](const std::string& path) {
    const std::string out = dir_ / "out";
    std::ofstream(out).close();
    Client client(server_.address,
                  {"--state", dir_ / path, "--watch", "--max-interval", "1s", "--min-interval",
                   "1s", site_.url() + "/" + path},
                  out);
    EXPECT_TRUE(Eventually([&] { return ReadWholeFile(out).find(" entr") != std::string::npos; }));
    const int64_t kilobytes = client.MaxKilobytes();
    client.Signal(SIGTERM);
    EXPECT_EQ(client.Wait(), kAccepted);
    return kilobytes;
  };
  site_.Put("/small", "<urlset>" + Entry(site_.url(), "2024-05-17") + "</urlset>");
  const std::string large = map(980);
  ASSERT_GT(large.size(), size_t{49} << 20);
  ASSERT_LE(large.size(), size_t{50} << 20);
  site_.Put("/large", large);
  const int64_t small_peak = peak("small");
  const int64_t large_peak = peak("large");
  site_.Put("/large", large + " ");
  const int64_t again_peak = peak("large");
  RecordProperty("small_kilobytes", std::to_string(small_peak));
  RecordProperty("large_kilobytes", std::to_string(large_peak));
  RecordProperty("again_kilobytes", std::to_string(again_peak));
  int pages = 0;
  for (const auto& request : server_.pages.upserts.requests) pages += request.pages_size();
  EXPECT_EQ(pages, 50'001) << "the second time nothing is new";
  // The difference allows for a message of a megabyte in flight, gRPC's copies of it, and pages of
  // the state.
  EXPECT_LT(large_peak - small_peak, 32 << 10);
  EXPECT_LT(again_peak - small_peak, 16 << 10);
}

// Tests the whole path, with a real server.
TEST(SitemapServerTest, PagesOfAnIndexAreKnownAndSignalled) {
  const TempDir dir;
  RealServer server(dir / "data");
  SmallSite site;
  const std::string a = site.url() + "/a";
  site.Put("/robots.txt", "Sitemap: " + site.url() + "/index.xml");
  site.Put("/index.xml", "<sitemapindex><sitemap><loc>" + site.url() +
                             "/map.xml.gz</loc></sitemap></sitemapindex>");
  site.Put("/map.xml.gz", Gzip("<urlset>" + Entry(a, "2024-05-17") + "</urlset>"));
  const std::vector<std::string> poll = {"sitemap", "--state", dir / "state", site.url()};
  EXPECT_EQ(server.Run(poll).code, kAccepted);
  EXPECT_EQ(server.RunJson({"get", a})["page"]["url"], a);
  site.Put("/map.xml.gz", Gzip("<urlset>" + Entry(a, "2024-05-18") + "</urlset>"));
  EXPECT_EQ(server.Run(poll).code, kAccepted);
  const json page = server.RunJson({"get", a})["page"];
  ASSERT_EQ(page["pending_signals"].size(), 1U) << page;
  EXPECT_EQ(page["pending_signals"][0]["source"], "sitemap");
}

}  // namespace
}  // namespace freshet::cli

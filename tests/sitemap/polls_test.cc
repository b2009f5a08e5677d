#include "tools/sitemap/polls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>

#include "tests/sitemap/poller_fixture.h"

namespace freshet::sitemap {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Accepts everything, or fails if `gone`. Thread-compatible.
class Taker : public Sender {
 public:
  bool SendPage(uint64_t, const FeedEntry& entry) override {
    urls.push_back(entry.url);
    return true;
  }
  bool SendSignal(uint64_t, const FeedEntry&, Instant) override { return true; }
  [[nodiscard]] absl::StatusOr<Receipt> Settle() override {
    if (settle) settle();
    if (gone) return absl::UnavailableError("gone");
    return Receipt();
  }
  std::vector<std::string> urls;
  std::atomic<bool> gone = false;
  std::function<void()> settle;
};

bool WaitFor(Duration time, int descriptor) {
  pollfd event{descriptor, POLLIN, 0};
  poll(&event, 1, static_cast<int>(std::clamp<int64_t>(time.micros() / 1000, 0, 60'000)));
  return false;
}

class PollsTest : public testing::Test {
 protected:
  PollsTest() : state_(*PollState::Open(dir_ / "state", "")) {
    options_.poller.fetch.user_agent = "freshet/test";
    one_.Put("/map", "<urlset><url><loc>/1</loc></url></urlset>");
    two_.Put("/map", "<urlset><url><loc>/2</loc></url></urlset>");
  }
  absl::Status Run(const std::vector<std::string>& arguments, const Waiting& wait = WaitFor) {
    return RunPolls(
        options_, arguments, 0, *state_,
        [this](uint64_t) { return std::make_unique<Forward>(taker_); },
        [this] { return now_.load(); },
        [this](const DocumentReport& report) {
          if (report.result == DocumentReport::Result::kRead) read_.push_back(report.document);
          if (on_report_) on_report_(report);
        },
        wait);
  }

  SmallSite one_;
  SmallSite two_{kPublic};
  const TempDir dir_;
  std::unique_ptr<PollState> state_;
  PollsOptions options_;
  Taker taker_;
  std::vector<std::string> read_;
  std::function<void(const DocumentReport&)> on_report_;
  std::atomic<Instant> now_ = Instant::FromUnixSeconds(1'718'000'000);
};

// The first site answers only after the second has been read. If sites were polled one by one, the
// test would wait for ever.
TEST_F(PollsTest, ASlowSiteKeepsNobodyWaiting) {
  std::promise<void> other;
  const auto other_read = other.get_future().share();
  one_.PutAnswer("/slow", [other_read](const auto&, auto& response) {
    other_read.wait();
    response.set_content("<urlset/>", "text/xml");
  });
  on_report_ = [&](const DocumentReport& report) {
    if (report.document == two_.url() + "/map") other.set_value();
  };
  ASSERT_TRUE(Run({one_.url() + "/slow", two_.url() + "/map"}).ok());
  EXPECT_THAT(read_, ElementsAre(two_.url() + "/map", one_.url() + "/slow"));
}

// The server takes a second for each piece of the first site's document. The second site answers
// once the first piece is sent.
TEST_F(PollsTest, ASiteThatAnnouncesMuchKeepsNobodyWaiting) {
  std::string map = "<urlset>";
  for (size_t i = 0; i < 20 * PieceSize::kLeast; ++i) {
    map += "<url><loc>/1/" + std::to_string(i) + "</loc></url>";
  }
  one_.Put("/map", map + "</urlset>");
  options_.poller.fetch.timeout = Duration::Seconds(600);  // a busy machine starts slowly
  std::promise<void> begun;
  two_.PutAnswer("/map", [&](const auto&, auto& response) {
    begun.get_future().wait();
    response.set_content("<urlset><url><loc>/2</loc></url></urlset>", "text/xml");
  });
  std::promise<void> other;
  on_report_ = [&](const DocumentReport& report) {
    if (report.document == two_.url() + "/map") other.set_value();
  };
  int pieces = 0;
  taker_.settle = [&, other_read = other.get_future().share()] {
    if (taker_.urls.back() == two_.url() + "/2") return;
    if (++pieces == 1) begun.set_value();
    now_ = now_.load() + Duration::Seconds(1);
    // During this site's turn, the other document cannot be read, so this wait times out.
    (void)other_read.wait_for(std::chrono::milliseconds(500));
  };
  ASSERT_TRUE(Run({one_.url() + "/map", two_.url() + "/map"}).ok());
  EXPECT_THAT(read_, ElementsAre(two_.url() + "/map", one_.url() + "/map"));
}

TEST_F(PollsTest, DocumentsOfOneSiteComeOneAfterTheOther) {
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  std::vector<std::string> arguments;
  for (int i = 0; i < 20; ++i) {
    const std::string path = "/" + std::to_string(i);
    one_.PutAnswer(path, [&](const auto&, auto& response) {
      most = std::max<int>(most, ++at_once);
      response.set_content("<urlset/>", "text/xml");
      --at_once;
    });
    arguments.push_back(one_.url() + path);
  }
  ASSERT_TRUE(Run(arguments).ok());
  EXPECT_EQ(most, 1);
  EXPECT_EQ(read_, arguments);
}

TEST_F(PollsTest, SoManySitesAreWaitedForAtOnce) {
  options_.at_once = 1;
  ASSERT_TRUE(Run({one_.url() + "/map", two_.url() + "/map"}).ok());
  EXPECT_THAT(read_, ElementsAre(one_.url() + "/map", two_.url() + "/map"));
  EXPECT_THAT(taker_.urls, ElementsAre(one_.url() + "/1", two_.url() + "/2"));
}

TEST_F(PollsTest, AnErrorOfTheServerEndsAll) {
  taker_.gone = true;
  EXPECT_TRUE(absl::IsUnavailable(Run({one_.url() + "/map", two_.url() + "/map"})));
}

TEST_F(PollsTest, WatchedSitesAreReadAsTheyAreDue) {
  options_.watch = true;
  options_.poller.only_due = true;
  taker_.gone = true;
  std::atomic<int> reads = 0;
  on_report_ = [&reads](const DocumentReport& report) {
    if (report.result == DocumentReport::Result::kRead) ++reads;
  };
  const absl::Status status =
      Run({one_.url() + "/map", two_.url() + "/map"}, [&](Duration time, int descriptor) {
        if (reads == 2) return true;
        if (time > Duration::Hours(2)) return WaitFor(time, descriptor);
        // One site has been polled and is due again.
        taker_.gone = false;
        now_ = now_.load() + time;
        return false;
      });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_THAT(taker_.urls, testing::IsSupersetOf({one_.url() + "/1", two_.url() + "/2"}));
}

// The clock is ten years ahead at the first poll, and is corrected while the poller waits.
TEST_F(PollsTest, AClockThatIsSetBackKeepsNobodyWaiting) {
  options_.watch = true;
  options_.poller.only_due = true;
  const Instant right = now_;
  now_ = right + Duration::Days(3650);
  std::atomic<int> polls = 0;
  on_report_ = [&polls](const DocumentReport& report) {
    if (report.result != DocumentReport::Result::kFailed) ++polls;
  };
  int waits = 0;
  const absl::Status status = Run({one_.url() + "/map"}, [&](Duration, int descriptor) {
    if (polls == 1) now_ = right;
    return polls == 2 || ++waits == 100 || WaitFor(Duration::Millis(100), descriptor);
  });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(polls, 2);
}

}  // namespace
}  // namespace freshet::sitemap

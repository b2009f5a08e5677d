#include "server/indexnow/key_book.h"

#include <malloc.h>

#include <atomic>
#include <string>
#include <thread>

#include "core/base/sanitized.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using Standing = KeyBook::Standing;

// A web host that has keys.
class KeyHost {
 public:
  KeyHost() {
    server_.Get("/good-key-1.txt", [this](const auto&, auto& answer) {
      ++asked;
      answer.set_content("good-key-1\r\n", "text/plain");
    });
    server_.Get("/wrong-key.txt",
                [](const auto&, auto& answer) { answer.set_content("another one", "text/plain"); });
    server_.Get("/moved-key.txt",
                [](const auto&, auto& answer) { answer.set_redirect("/good-key-1.txt"); });
    server_.Get("/broken-key.txt", [](const auto&, auto& answer) { answer.status = 500; });
    server_.Get("/large-key.txt", [](const auto&, auto& answer) {
      answer.set_content(std::string(1 << 20, ' ') + "large-key", "text/plain");
    });
    server_.Get("/slow-key.txt", [this](const auto&, auto& answer) {
      (void)Eventually([this] { return over.load(); }, Duration::Seconds(5));
      answer.set_content("slow-key", "text/plain");
    });
    // With this many threads, slow answers do not delay other answers.
    server_.new_task_queue = [] { return new httplib::ThreadPool(2 * limits::kKeyFetchThreads); };
    port = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // Waits until the server runs, because a server that does not run yet would miss the stop.
    WaitUntil([this] { return server_.is_running(); });
  }
  ~KeyHost() {
    over = true;
    server_.stop();
    thread_.join();
  }

  int port = 0;
  std::atomic<int> asked{0};
  std::atomic<bool> over{false};

 private:
  httplib::Server server_;
  std::thread thread_;
};

KeyFetch Fetch(const std::string& key, int port, Duration timeout = Duration::Seconds(10)) {
  const std::atomic<bool> cancelled{false};
  return FetchKey({.https = true, .host = "a.test", .path = "/" + key + ".txt"}, key, timeout, port,
                  cancelled);
}

TEST(KeyFetcher, TakesTheKeyAndNothingElse) {
  const KeyHost host;
  using Outcome = KeyFetch::Outcome;
  EXPECT_EQ(Fetch("good-key-1", host.port).outcome, Outcome::kGood);
  for (const char* bad : {"wrong-key", "moved-key", "large-key", "missing-key"}) {
    EXPECT_EQ(Fetch(bad, host.port).outcome, Outcome::kBad) << bad;
  }
  EXPECT_EQ(Fetch("broken-key", host.port).outcome, Outcome::kUnreachable);
  EXPECT_EQ(Fetch("moved-key", host.port).why,
            "the key file is somewhere else, and redirects are not followed");
}

TEST(KeyFetcher, EndsWhenItsTimeIsOver) {
  const KeyHost host;
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(Fetch("slow-key", host.port, Duration::Seconds(1)).outcome,
            KeyFetch::Outcome::kUnreachable);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
}

// The fetcher refuses local addresses in any spelling, and names that resolve to them.
TEST(KeyFetcher, IsNotSentToThisMachineOrItsNetwork) {
  const KeyHost host;
  const std::atomic<bool> cancelled{false};
  for (const char* name : {"localhost", "127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]"}) {
    const KeyFetch fetch = FetchKey({.https = false, .host = name, .path = "/good-key-1.txt"},
                                    "good-key-1", Duration::Seconds(5), 0, cancelled);
    EXPECT_EQ(fetch.outcome, KeyFetch::Outcome::kBad) << name << fetch.why;
  }
  EXPECT_EQ(host.asked, 0);
}

class KeyBookTest : public testing::Test {
 protected:
  KeyBookTest() {
    config_.enabled = true;
    config_.test_key_port = host_.port;
  }
  KeyBook::Answer Check(KeyBook& book, const std::string& key, const std::string& name = "a.test",
                        size_t bytes = 100, const std::string& sender = "somebody") {
    return book.Check({.https = true, .host = name, .path = "/" + key + ".txt"}, key, sender, bytes,
                      [this](bool good) { ++(good ? good_ : bad_); });
  }
  void WaitFor(const std::atomic<int>& count, int most) {
    (void)Eventually([&] { return count >= most; });
    EXPECT_EQ(count, most);
  }

  KeyHost host_;
  SystemClock clock_;
  IndexNowConfig config_;
  std::atomic<int> good_{0};
  std::atomic<int> bad_{0};
};

TEST_F(KeyBookTest, LooksOnceAndRemembers) {
  KeyBook book(config_, clock_);
  EXPECT_EQ(Check(book, "good-key-1").standing, Standing::kPending);
  WaitFor(good_, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Check(book, "good-key-1").standing, Standing::kGood);
  EXPECT_EQ(host_.asked, 1);
  EXPECT_EQ(Check(book, "wrong-key", "b.test").standing, Standing::kPending);
  WaitFor(bad_, 1);
  const KeyBook::Answer answer = Check(book, "wrong-key", "b.test");
  EXPECT_EQ(answer.standing, Standing::kBad);
  EXPECT_EQ(answer.why, "the key file holds another text");
  EXPECT_EQ(book.stats().good, 1U);
  EXPECT_EQ(book.stats().bad, 1U);
}

TEST_F(KeyBookTest, FloodsOfKeysAskHostsLittle) {
  KeyBook book(config_, clock_);
  int pending = 0;
  for (int i = 0; i < 100; ++i) {
    pending += Check(book, "no-such-key-" + std::to_string(i)).standing == Standing::kPending;
  }
  EXPECT_GE(pending, 1);
  EXPECT_LE(pending, 10);
}

// A client that invents keys for a host does not delay the check of the host's real key.
TEST_F(KeyBookTest, SendersTakeTurnsAtAHost) {
  KeyBook book(config_, clock_);
  for (int i = 0; i < 100; ++i) {
    (void)Check(book, "no-such-key-" + std::to_string(i), "a.test", 100, "evil");
  }
  EXPECT_EQ(Check(book, "good-key-1", "a.test", 100, "its own").standing, Standing::kPending);
  WaitFor(good_, 1);
  EXPECT_LE(bad_, 2);
}

// If frequent requests improved a sender's chance, many senders that ask all the time would get
// every place that becomes free.
TEST_F(KeyBookTest, WhoAsksMoreOftenAtACrowdedHostHasNoBetterChance) {
  KeyBook book(config_, clock_);
  for (size_t i = 0; i <= KeyBook::kMostOfHost; ++i) {
    (void)Check(book, "no-such-key-" + std::to_string(i), "a.test", 100, std::to_string(i));
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Check(book, "made-up", "a.test", 100, "evil").standing, Standing::kBusy);
  }
  (void)Eventually([this] { return bad_ >= 2; }, Duration::Seconds(10));
  EXPECT_EQ(Check(book, "made-up", "a.test", 100, "evil").standing, Standing::kBusy);
  EXPECT_EQ(Check(book, "good-key-1", "a.test", 100, "its own").standing, Standing::kPending);
}

TEST_F(KeyBookTest, SlowHostsOfOneSenderLeaveThreadsToOthers) {
  KeyBook book(config_, clock_);
  for (const char* host : {"a.test", "b.test", "c.test", "d.test", "e.test"}) {
    EXPECT_EQ(Check(book, "slow-key", host, 100, "evil").standing, Standing::kPending);
  }
  EXPECT_EQ(Check(book, "good-key-1", "f.test", 100, "its own").standing, Standing::kPending);
  EXPECT_TRUE(Eventually([this] { return good_ > 0; }));
  // The good key was fetched once, without waiting for all of the slow keys.
  EXPECT_EQ(host_.asked, 1);
}

TEST_F(KeyBookTest, SlowHostsOfManySendersLeaveThreadsToOthers) {
  KeyBook book(config_, clock_);
  constexpr int kHosts = limits::kKeyFetchesOfSender + 1;
  for (int i = 0; i < 12 * kHosts; ++i) {
    const std::string host = "host" + std::to_string(i) + ".test";
    const std::string sender = "evil" + std::to_string(i / kHosts);
    EXPECT_EQ(Check(book, "slow-key", host, 100, sender).standing, Standing::kPending);
  }
  EXPECT_EQ(Check(book, "good-key-1", "a.test", 100, "its own").standing, Standing::kPending);
  EXPECT_TRUE(Eventually([this] { return good_ > 0; }, Duration::Seconds(3)));
}

// The server checks one key of a host each second.
TEST_F(KeyBookTest, WhoComesAgainStandsBehindThoseThatWait) {
  KeyBook book(config_, clock_);
  for (const char* key : {"no-such-key-1", "no-such-key-2", "good-key-1"}) {
    EXPECT_EQ(Check(book, key, "a.test", 100, "its own").standing, Standing::kPending);
  }
  std::atomic<bool> over{false};
  std::thread evil([&] {
    for (int i = 0; !over; ++i) {
      std::atomic<bool> told{false};
      const std::string key = "made-up-" + std::to_string(i);
      (void)book.Check({.https = true, .host = "a.test", .path = "/" + key}, key, "evil", 1,
                       [&told](bool) { told = true; });
      (void)Eventually([&] { return told || over; }, Duration::Seconds(10));
    }
    book.Stop();
  });
  EXPECT_TRUE(Eventually([this] { return good_ > 0; }, Duration::Seconds(8)));
  over = true;
  evil.join();
}

TEST_F(KeyBookTest, ASenderHasAShareOfAllPlaces) {
  KeyBook book(config_, clock_);
  size_t pending = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string host = "host" + std::to_string(i) + ".test";
    pending += Check(book, "slow-key", host, 1, "evil").standing == Standing::kPending;
  }
  EXPECT_LE(pending, KeyBook::kMostOfSender + 2);
  EXPECT_EQ(Check(book, "slow-key", "other.test", 1, "another").standing, Standing::kPending);
}

// There is a place for a new sender, however many others use their whole share.
TEST_F(KeyBookTest, SomePlacesAreForNewSenders) {
  KeyBook book(config_, clock_);
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(i);
    (void)Check(book, "slow-key", "host" + number + ".test", 1, "evil" + std::to_string(i % 20));
  }
  EXPECT_EQ(Check(book, "slow-key", "other.test", 1, "another").standing, Standing::kPending);
}

TEST_F(KeyBookTest, WhatWaitsIsBounded) {
  KeyBook book(config_, clock_);
  size_t bytes = 0;
  for (int sender = 0; sender < 100; ++sender) {
    const std::string name = "sender" + std::to_string(sender);
    while (Check(book, "slow-key", "a.test", 1 << 16, name).standing == Standing::kPending) {
      bytes += 1 << 16;
      ASSERT_LE(bytes, limits::kMaxIndexNowPendingBytes);
    }
  }
  EXPECT_EQ(book.stats().pending_bytes, bytes);
  EXPECT_GT(bytes, limits::kMaxIndexNowPendingBytes / 2);
  // Stop() does not wait for the host.
  const auto begun = std::chrono::steady_clock::now();
  book.Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
  EXPECT_EQ(good_ + bad_, 0);
}

// Sends pings of every size for one key until the sender is refused.
TEST_F(KeyBookTest, ASenderHasAShareOfAllBytes) {
  KeyBook book(config_, clock_);
  for (const size_t bytes : {size_t{1} << 20, size_t{1} << 16, size_t{1} << 10, size_t{1}}) {
    while (Check(book, "slow-key", "a.test", bytes, "evil").standing == Standing::kPending) {
    }
  }
  EXPECT_EQ(Check(book, "good-key-1", "b.test", 1 << 20, "another").standing, Standing::kPending);
  WaitFor(good_, 1);
  const uint64_t left = book.stats().pending_bytes;
  EXPECT_LE(left, limits::kMaxIndexNowPendingBytes / 2) << "the other one's are free again";
}

TEST(ExpiringNames, ForgetInTime) {
  ExpiringNames names(16);
  const Instant start = Instant::FromUnixSeconds(1000);
  const auto put = [&](const std::string& name, const std::string& value, int64_t second) {
    names.Put(name, value, 1, start + Duration::Seconds(second), start);
  };
  for (int i = 0; i < 20; ++i) put(std::to_string(i), "v", i + 1);
  EXPECT_EQ(names.size(), 6U) << "three eighths";
  EXPECT_EQ(names.Find("13", start), nullptr);
  EXPECT_NE(names.Find("14", start), nullptr);
  EXPECT_EQ(names.Find("14", start + Duration::Seconds(15)), nullptr);
  for (int i = 0; i < 100; ++i) put("19", "w", 30);
  ASSERT_NE(names.Find("19", start), nullptr);
  EXPECT_EQ(*names.Find("19", start), "w");
  EXPECT_EQ(names.size(), 6U);
  names.Erase("19");
  EXPECT_EQ(names.Find("19", start), nullptr);
  // Expired names free their places.
  names.Put("new", "v", 3, start + Duration::Seconds(60), start + Duration::Seconds(19));
  EXPECT_EQ(names.size(), 1U);
}

// A client can run a host that has every key.
TEST(ExpiringNames, NamesOfOneClientPushOutNoOtherOnes) {
  ExpiringNames names(64);
  const auto put = [&](const std::string& name, uint64_t client) {
    names.Put(name, "", client, Instant::FromUnixSeconds(1000), Instant());
  };
  put("its own", 1);
  for (uint64_t client = 3; client < 13; client += 2) {
    for (int i = 0; i < 1000; ++i) put(std::to_string(client) + " " + std::to_string(i), client);
  }
  EXPECT_NE(names.Find("its own", Instant()), nullptr);
  EXPECT_NE(names.Find("3 999", Instant()), nullptr);
  EXPECT_NE(names.Find("11 999", Instant()), nullptr);
  // The bound applies to any number of clients.
  for (int i = 0; i < 1000; ++i) put("of " + std::to_string(i), 100 + i);
  EXPECT_LE(names.size(), 64U);
}

// Any client can name 65,536 missing files, each with a URL of 8 KiB. So the table must not store
// these names.
TEST(ExpiringNames, KeepNoNames) {
  if (kSanitized) GTEST_SKIP() << "sanitizers allocate themselves";
  constexpr size_t kMost = 1000;
  ExpiringNames names(kMost);
  const size_t before = mallinfo2().uordblks;
  const std::string url(8000, 'u');
  for (size_t i = 0; i < kMost; ++i) {
    names.Put(url + std::to_string(i), std::string(1000, 'w'), 2 * i + 1, Instant::Infinite(),
              Instant());
  }
  EXPECT_LT(mallinfo2().uordblks - before, kMost * 800);
  ASSERT_NE(names.Find(url + "999", Instant()), nullptr);
  EXPECT_EQ(names.Find(url + "999", Instant())->size(), ExpiringNames::kMostValueBytes);
  EXPECT_EQ(names.Find(url, Instant()), nullptr);
}

}  // namespace
}  // namespace freshet

// Tests how clients take turns at the threads that handle messages.
#include "server/api/message_turns.h"

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(MessageTurnsTest, AClientWaitsForOneMessageOfAnotherHoweverManyStreamsThatHas) {
  MessageTurns turns({.callers = 1, .helpers = false});
  std::vector<std::string> order;
  turns.Handle("greedy", 1, [&] {
    order.emplace_back("greedy 0");
    // All of these messages arrive while the first one is handled.
    for (int i = 1; i <= 3; ++i) {
      turns.Handle("greedy", 1000, [&order, i] { order.push_back(fmt::format("greedy {}", i)); });
    }
    turns.Handle("small", 10, [&order] { order.emplace_back("small"); });
    EXPECT_EQ(turns.waiting(), 4U);
  });
  EXPECT_THAT(order, testing::ElementsAre("greedy 0", "greedy 1", "small", "greedy 2", "greedy 3"));
  EXPECT_EQ(turns.waiting(), 0U);
}

TEST(MessageTurnsTest, AHelperHandlesWhatWaits) {
  std::promise<void> helped;
  {
    MessageTurns turns({.callers = 1, .helpers = true});
    turns.Handle("a", 1, [&] {
      turns.Handle("a", 1, [&] { helped.set_value(); });
      // A helper thread must handle the inner message, because this thread waits for it.
      helped.get_future().wait();
    });
    EXPECT_EQ(turns.waiting(), 0U);
  }
}

// Previously, messages of a thousand URLs kept all threads busy, so that results of workers were
// acknowledged seconds late.
TEST(MessageTurnsTest, ShortMessagesWaitForNoLargerOnes) {
  constexpr size_t kShort = MessageTurns::kShortBytes;
  std::promise<void> helper_busy;
  std::promise<void> handled;
  std::promise<void> over;
  const auto wait = [end = over.get_future().share()] { end.wait(); };
  {
    MessageTurns turns({.callers = 1, .helpers = true});
    turns.Handle("greedy", kShort + 1, [&] {
      turns.Handle("greedy", kShort + 1, [&] {
        helper_busy.set_value();
        wait();
      });
      helper_busy.get_future().wait();
      turns.Handle("greedy", kShort + 1, [] {});
      turns.Handle("small", kShort, [&] { handled.set_value(); });
      EXPECT_EQ(handled.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
      EXPECT_EQ(turns.waiting(), 1U) << "the larger one";
      over.set_value();
    });
  }
}

TEST(MessageTurnsTest, ShortMessagesOfManyStreamsDelayLargerOnesByOne) {
  MessageTurns turns({.callers = 1, .helpers = false});
  std::vector<std::string> order;
  turns.Handle("greedy", 1, [&] {
    for (int i = 1; i <= 3; ++i) {
      turns.Handle("greedy", 1, [&order, i] { order.push_back(fmt::format("short {}", i)); });
    }
    turns.Handle("small", 1, [&] { order.emplace_back("short of another"); });
    turns.Handle("small", MessageTurns::kShortBytes + 1, [&] { order.emplace_back("larger"); });
    turns.Handle("greedy", MessageTurns::kLongBytes, [&] { order.emplace_back("long"); });
  });
  EXPECT_THAT(order, testing::ElementsAre("long", "short 1", "larger", "short of another",
                                          "short 2", "short 3"));
}

TEST(MessageTurnsTest, SoManyAreHandledAtATime) {
  MessageTurns turns({.callers = 2, .helpers = false});
  bool within = false;
  turns.Handle("a", 1, [&] {
    turns.Handle("a", 1, [&] {
      within = true;
      turns.Handle("a", 1, [&] { within = false; });
      EXPECT_TRUE(within) << "a third one waits";
    });
    EXPECT_FALSE(within);
  });
}

// Previously, messages of 400 bytes that inflated to 16 MB kept both threads of a machine with two
// processors busy. A client with one message at a time got 3% of its rate.
TEST(MessageTurnsTest, LongMessagesLeaveAThread) {
  constexpr size_t kLong = MessageTurns::kLongBytes;
  MessageTurns turns({.callers = 2, .helpers = false});
  std::vector<std::string> order;
  turns.Handle("greedy", kLong, [&] {
    for (int i = 1; i <= 3; ++i) {
      turns.Handle("greedy", kLong, [&order, i] { order.push_back(fmt::format("long {}", i)); });
    }
    EXPECT_EQ(turns.waiting(), 3U);
    // This message is not long, so the other thread handles it at once, although long messages
    // wait.
    turns.Handle("small", kLong - 1, [&] {
      order.emplace_back("small 1");
      turns.Handle("small", 1, [&] { order.emplace_back("small 2"); });
      turns.Handle("small", 1, [&] { order.emplace_back("small 3"); });
    });
    EXPECT_THAT(order, testing::ElementsAre("small 1", "small 2", "small 3"));
    EXPECT_EQ(turns.waiting(), 3U);
  });
  EXPECT_THAT(order,
              testing::ElementsAre("small 1", "small 2", "small 3", "long 1", "long 2", "long 3"));
}

// On a single thread, long and short messages alternate.
TEST(MessageTurnsTest, LongAndShortMessagesAlternate) {
  constexpr size_t kLong = MessageTurns::kLongBytes;
  MessageTurns turns({.callers = 1, .helpers = false});
  std::vector<std::string> order;
  turns.Handle("first", 1, [&] {
    for (int i = 1; i <= 2; ++i) {
      turns.Handle("greedy", kLong, [&order, i] { order.push_back(fmt::format("long {}", i)); });
      turns.Handle("small", 1, [&order, i] { order.push_back(fmt::format("small {}", i)); });
    }
  });
  EXPECT_THAT(order, testing::ElementsAre("long 1", "small 1", "long 2", "small 2"));
}

}  // namespace
}  // namespace freshet

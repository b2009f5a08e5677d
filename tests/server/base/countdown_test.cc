#include "server/base/countdown.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Countdown, TellsTheLastAlone) {
  Countdown countdown(3);
  EXPECT_FALSE(countdown.Arrive());
  EXPECT_FALSE(countdown.Arrive());
  EXPECT_TRUE(countdown.Arrive());
}

// The writes are deliberately not atomic. If the last thread might not see them, the thread
// sanitizer reports it.
TEST(Countdown, TheLastSeesWhatTheOthersWrote) {
  constexpr size_t kThreads = 8;
  for (int round = 0; round < 100; ++round) {
    Countdown countdown(kThreads);
    std::vector<size_t> written(kThreads);
    std::atomic<int> told{0};
    std::atomic<size_t> sum{0};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        written[i] = i + 1;
        if (!countdown.Arrive()) return;
        ++told;
        for (const size_t value : written) sum += value;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(told, 1);
    EXPECT_EQ(sum, kThreads * (kThreads + 1) / 2);
  }
}

}  // namespace
}  // namespace freshet

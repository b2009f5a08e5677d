#include "server/engine/crawls.h"

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;

Status LimitPages(CrawlRecord* record) {
  record->max_pages = 5;
  return absl::OkStatus();
}

// A change is requested at the moment when another one ends.
TEST(Crawls, StoresEachChangeOnceWheneverItIsAskedFor) {
  std::deque<std::function<void()>> answers;
  std::vector<std::string> told;
  std::vector<std::string> done;
  const auto note = [&done](const Status& status, const CrawlRecord& record) {
    EXPECT_TRUE(status.ok()) << status;
    done.push_back(record.crawl_id);
  };
  Crawls crawls({}, 1);
  crawls.Start(
      [&](size_t, const Event& event, const std::function<void(Reply)>& answer) {
        told.push_back(std::get<SetCrawl>(event).terms.record.crawl_id);
        answers.push_back([answer] { answer({}); });
      },
      [&](const std::vector<ClassTerms>&) {
        if (told.size() == 1) crawls.Set("b", LimitPages, note);
      });
  crawls.Set("a", LimitPages, note);
  while (!answers.empty()) {
    const std::function<void()> answer = std::move(answers.front());
    answers.pop_front();
    answer();
  }
  EXPECT_THAT(told, ElementsAre("a", "b"));
  EXPECT_THAT(done, ElementsAre("a", "b"));
}

TEST(Crawls, TakesChangesOfManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kChanges = 500;
  std::atomic<int> done{0};
  Crawls crawls({}, 2);
  crawls.Start([](size_t, const Event&, const std::function<void(Reply)>& answer) { answer({}); },
               [](const std::vector<ClassTerms>&) { std::this_thread::yield(); });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kChanges; ++i) {
        crawls.Set("c", LimitPages, [&done](const Status&, const CrawlRecord&) { ++done; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kChanges);
}

}  // namespace
}  // namespace freshet

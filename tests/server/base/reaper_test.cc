#include "server/base/reaper.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

// Records the thread on which it is destroyed. The destructor waits for `may_go`.
struct Left {
  std::future<void> may_go;
  std::atomic<std::thread::id>* gone_on;
  ~Left() {
    // If Destroy() waited for this destructor, it would not return in time.
    (void)may_go.wait_for(std::chrono::seconds(10));
    *gone_on = std::this_thread::get_id();
  }
};

TEST(Reaper, DestroysOnAnotherThreadAndNobodyWaits) {
  std::promise<void> may_go;
  std::atomic<std::thread::id> gone_on{};
  Reaper reaper;
  // An initialiser list would keep a copy, which might be the last one and be destroyed on this
  // thread.
  std::vector<std::shared_ptr<void>> list;
  list.emplace_back(new Left{may_go.get_future(), &gone_on});
  reaper.Destroy(std::move(list));
  // Destroy() has returned although the destructor still waits.
  EXPECT_EQ(gone_on.load(), std::thread::id());
  may_go.set_value();
  reaper.Join();
  EXPECT_NE(gone_on.load(), std::thread::id());
  EXPECT_NE(gone_on.load(), std::this_thread::get_id());
}

TEST(Reaper, LeavesNothingWhenItGoes) {
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> left = kept;
  {
    Reaper reaper;
    reaper.Destroy({});
    reaper.Destroy({std::move(kept)});
    reaper.Destroy({std::make_shared<int>(2)});
  }
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace freshet

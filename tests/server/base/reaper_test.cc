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

// Says where it was destroyed, once it may be.
struct Left {
  std::future<void> may_go;
  std::atomic<std::thread::id>* gone_on;
  ~Left() {
    // A call that waits for this one would not return before.
    (void)may_go.wait_for(std::chrono::seconds(10));
    *gone_on = std::this_thread::get_id();
  }
};

TEST(Reaper, DestroysOnAnotherThreadAndNobodyWaits) {
  std::promise<void> may_go;
  std::atomic<std::thread::id> gone_on{};
  Reaper reaper;
  // Not as an initialiser list: its own copy might go last, and on this thread.
  std::vector<std::shared_ptr<void>> list;
  list.emplace_back(new Left{may_go.get_future(), &gone_on});
  reaper.Destroy(std::move(list));
  // Not before it may: the call has returned all the same.
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

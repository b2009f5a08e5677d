#include "server/indexnow/name_lookup.h"

#include <chrono>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A resolver that answers only when the test allows it. Thread-safe.
class SilentResolver {
 public:
  [[nodiscard]] Resolver resolver() const {
    return [state = state_](const std::string&) -> std::vector<std::string> {
      const MutexLock lock(state->mutex);
      while (!state->open) state->opened.Wait(state->mutex);
      return {"192.0.2.1"};
    };
  }
  void Open() {
    const MutexLock lock(state_->mutex);
    state_->open = true;
    state_->opened.NotifyAll();
  }
  ~SilentResolver() { Open(); }

 private:
  struct State {
    Mutex mutex;
    Condition opened;
    bool open FRESHET_GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

constexpr Duration kForever = Duration::Hours(1);

TEST(NameLookUp, FindsWhatTheResolverFinds) {
  const std::atomic<bool> cancelled{false};
  const Resolver two = [](const std::string& host) {
    return std::vector<std::string>{host, "192.0.2.2"};
  };
  EXPECT_THAT(LookUp("a.test", kForever, cancelled, two), ElementsAre("a.test", "192.0.2.2"));
  EXPECT_THAT(LookUp("127.0.0.1", kForever, cancelled), ElementsAre("127.0.0.1"));
}

// If a cancelled lookup waited for the resolver, stopping the server could take minutes.
TEST(NameLookUp, WaitsForNoResolverOnceItIsCancelled) {
  SilentResolver silent;
  std::atomic<bool> cancelled{false};
  std::vector<std::string> found = {"not yet"};
  std::thread waits([&] { found = LookUp("a.test", kForever, cancelled, silent.resolver()); });
  cancelled = true;
  waits.join();
  EXPECT_THAT(found, IsEmpty());
}

TEST(NameLookUp, WaitsForNoResolverForLongerThanWanted) {
  SilentResolver silent;
  const std::atomic<bool> cancelled{false};
  EXPECT_THAT(LookUp("a.test", Duration::Millis(1), cancelled, silent.resolver()), IsEmpty());
}

TEST(NameLookUp, ResolversThatNeverAnswerAreSoMany) {
  SilentResolver silent;
  const std::atomic<bool> cancelled{false};
  for (size_t i = 0; i < kMostLookUps + 10; ++i) {
    EXPECT_THAT(LookUp("a.test", Duration(), cancelled, silent.resolver()), IsEmpty());
  }
  const Resolver ready = [](const std::string&) { return std::vector<std::string>{"192.0.2.3"}; };
  EXPECT_THAT(LookUp("a.test", kForever, cancelled, ready), IsEmpty()) << "all are under way";
  silent.Open();
  std::vector<std::string> found;
  while (found.empty()) found = LookUp("a.test", kForever, cancelled, ready);
  EXPECT_THAT(found, ElementsAre("192.0.2.3"));
}

}  // namespace
}  // namespace freshet

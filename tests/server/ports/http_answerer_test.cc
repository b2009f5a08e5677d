#include "server/ports/http_answerer.h"

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using testing::ElementsAre;

HttpRequest By(const std::string& client) {
  HttpRequest request;
  request.client = client;
  return request;
}

// Records the clients whose requests were answered, in order.
class Answered {
 public:
  HttpRoute Route() {
    return {.path = "/console/api/session",
            .slow = true,
            .lane = HttpLane::kConsole,
            .answer = [this](const HttpRequest& request) {
              const MutexLock lock(mutex_);
              clients_.push_back(request.client);
              return TextResponse(200, "ok");
            }};
  }
  void Deliver() {
    const MutexLock lock(mutex_);
    ++delivered_;
    some_.NotifyAll();
  }
  std::vector<std::string> Await(size_t count) {
    const MutexLock lock(mutex_);
    while (delivered_ < count) some_.Wait(mutex_);
    return clients_;
  }

 private:
  Mutex mutex_;
  Condition some_;
  size_t delivered_ = 0;
  std::vector<std::string> clients_;
};

TEST(HttpAnswerer, KeepsPlacesAndTurnsForOtherClients) {
  Answered answered;
  const HttpRoute route = answered.Route();
  HttpAnswerer answerer(
      16, 100, 1, [&](const std::vector<uint64_t>&, const HttpResponse&) { answered.Deliver(); });
  const auto wanted = [](uint64_t) { return true; };
  int taken = 0;
  for (uint64_t i = 0; i < 20; ++i) taken += answerer.Ask(route, By("evil"), i, wanted) ? 1 : 0;
  EXPECT_EQ(taken, 6);
  EXPECT_TRUE(answerer.Ask(route, By("ops"), 20, wanted));
  EXPECT_EQ(answerer.waiting(), 7U);
  answerer.Start();
  EXPECT_THAT(answered.Await(7),
              ElementsAre("evil", "ops", "evil", "evil", "evil", "evil", "evil"));
  answerer.Stop();
}

// One client's slow call used to hold up the calls of all others.
TEST(HttpAnswerer, ASlowCallHoldsUpOnlyTheCallsOfItsClient) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  const HttpRoute slow = {.path = "/slow",
                          .slow = true,
                          .lane = HttpLane::kConsole,
                          .answer = [opened](const HttpRequest&) {
                            opened.wait();
                            return TextResponse(200, "ok");
                          }};
  Answered answered;
  const HttpRoute quick = answered.Route();
  HttpAnswerer answerer(16, 100, 2, [&](const std::vector<uint64_t>& tickets, const HttpResponse&) {
    if (tickets.front() > 3) answered.Deliver();
  });
  const auto wanted = [](uint64_t) { return true; };
  answerer.Start();
  for (uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(answerer.Ask(slow, By("evil"), i, wanted));
  EXPECT_TRUE(answerer.Ask(quick, By("evil"), 4, wanted));
  for (uint64_t i = 5; i < 8; ++i) EXPECT_TRUE(answerer.Ask(quick, By("ops"), i, wanted));
  EXPECT_THAT(answered.Await(3), ElementsAre("ops", "ops", "ops"));
  EXPECT_EQ(answerer.waiting(), 3U);
  gate.set_value();
  EXPECT_THAT(answered.Await(4), ElementsAre("ops", "ops", "ops", "evil"));
  EXPECT_EQ(answerer.waiting(), 0U);
  answerer.Stop();
}

}  // namespace
}  // namespace freshet

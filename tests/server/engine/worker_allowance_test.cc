#include "server/engine/worker_allowance.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr uint64_t kMost = 1000;
using Told = std::optional<uint64_t>;

// Sets aside and opens as many leases as there is room for, up to `wanted`; returns how many.
uint64_t Open(WorkerAllowances& allowances, const std::string& worker, uint64_t wanted) {
  uint64_t opened = 0;
  while (opened < wanted && allowances.Reserve(worker)) {
    (void)allowances.Apply(worker, {.opened = 1});
    allowances.Settle(worker);
    ++opened;
  }
  return opened;
}

TEST(WorkerAllowances, BoundWhatASilentWorkerHolds) {
  WorkerAllowances allowances(kMost, 10);
  EXPECT_EQ(Open(allowances, "silent", 5000), kMost);
  EXPECT_FALSE(allowances.HasRoom("silent"));
  EXPECT_TRUE(allowances.HasRoom("other"));
  EXPECT_EQ(allowances.reduced(), 0u);
}

TEST(WorkerAllowances, CountWhatIsSetAside) {
  WorkerAllowances allowances(2, 10);
  EXPECT_TRUE(allowances.Reserve("w"));
  EXPECT_TRUE(allowances.Reserve("w"));
  EXPECT_FALSE(allowances.Reserve("w"));
  allowances.Settle("w");  // did not come about
  EXPECT_TRUE(allowances.Reserve("w"));
}

// The allowance, not what is held: who holds little and loses one lease is not gone.
TEST(WorkerAllowances, AreHalvedByEachLeaseThatRunsOut) {
  WorkerAllowances allowances(kMost, 10);
  EXPECT_EQ(Open(allowances, "w", 4), 4u);
  EXPECT_EQ(allowances.Apply("w", {.ended = 1, .expired = 1}), Told(500));
  EXPECT_EQ(allowances.Apply("w", {.ended = 1, .expired = 1}), Told(250));
  EXPECT_EQ(allowances.Apply("w", {.ended = 2, .expired = 2}), Told(62));
  EXPECT_EQ(allowances.reduced(), 1u);
  EXPECT_EQ(Open(allowances, "w", 1000), 62u);
  EXPECT_EQ(allowances.Apply("w", {.ended = 60, .expired = 60}), Told(1));
  // Never to nothing: a worker that is back can show it.
  EXPECT_EQ(Open(allowances, "w", 10), 0u) << "it holds two";
  EXPECT_EQ(allowances.Apply("w", {.ended = 2, .expired = 2}), Told());
  EXPECT_EQ(Open(allowances, "w", 10), 1u);
}

TEST(WorkerAllowances, GrowWithResults) {
  WorkerAllowances allowances(64, 10);
  ASSERT_EQ(Open(allowances, "w", 6), 6u);
  ASSERT_EQ(allowances.Apply("w", {.ended = 6, .expired = 6}), Told(1));
  std::vector<uint64_t> told;
  for (int results = 0; allowances.reduced() > 0; ++results) {
    ASSERT_LT(results, 64);
    ASSERT_EQ(Open(allowances, "w", 1), 1u);
    const Told now = allowances.Apply("w", {.ended = 1, .answered = 1});
    if (now) told.push_back(*now);
  }
  EXPECT_EQ(told, (std::vector<uint64_t>{2, 4, 8, 16, 32, 64}));
  EXPECT_TRUE(allowances.whole(64));
  EXPECT_EQ(allowances.remembered(), 0u);
}

TEST(WorkerAllowances, OfAWorkerThatLosesOneNowAndThenStayLarge) {
  WorkerAllowances allowances(kMost, 10);
  ASSERT_EQ(Open(allowances, "w", 100), 100u);
  uint64_t held = 100;
  for (int i = 0; i < 100'000; ++i) {
    const uint32_t lost = i % 1000 == 999 ? 1 : 0;
    (void)allowances.Apply("w", {.ended = 1, .answered = 1 - lost, .expired = lost});
    held += Open(allowances, "w", 100 - (held - 1)) - 1;
    ASSERT_GE(held, 60u);
    ASSERT_LE(held, 100u);
  }
}

TEST(WorkerAllowances, OfLeasesFromBeforeTheStartAreHalvedToo) {
  WorkerAllowances allowances(kMost, 10);
  EXPECT_EQ(allowances.Apply("w", {.expired = 9}), Told(1));
  EXPECT_EQ(Open(allowances, "w", 10), 1u);
}

TEST(WorkerAllowances, RememberABoundedNumberOfNames) {
  WorkerAllowances allowances(kMost, 10);
  for (int i = 0; i < 1000; ++i) {
    (void)allowances.Apply("w" + std::to_string(i), {.expired = 1});
    EXPECT_LE(allowances.remembered(), 10u);
    EXPECT_LE(allowances.reduced(), 10u);
  }
  EXPECT_EQ(allowances.reduced(), 10u);
}

}  // namespace
}  // namespace freshet

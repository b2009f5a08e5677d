#include "server/engine/worker_allowance.h"

#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr uint64_t kMost = 1000;
constexpr const char* kHere = "network 192.0.2.1";
using Told = std::optional<uint64_t>;

AllowanceLimits Limits(uint64_t most, uint64_t newcomers = 1'000'000, size_t names = 10) {
  return {.most = most, .newcomers = newcomers, .proven_names = names, .newcomer_names = names};
}

WorkerKey Key(const std::string& worker, const std::string& client = kHere) {
  return {client, worker};
}

// Reserves and opens as many leases as the limits allow, up to `wanted`. Returns their number.
uint64_t Open(WorkerAllowances& allowances, const std::string& worker, uint64_t wanted,
              const std::string& client = kHere) {
  uint64_t opened = 0;
  const WorkerKey key = Key(worker, client);
  while (opened < wanted && !allowances.FullBy(key)) {
    allowances.Reserve(key);
    (void)allowances.Apply(key, {.opened = 1});
    allowances.Settle(key);
    ++opened;
  }
  return opened;
}

void Prove(WorkerAllowances& allowances, const std::string& worker) {
  (void)allowances.Apply(Key(worker), {.answered = 1});
}

TEST(WorkerAllowances, BoundWhatASilentWorkerHolds) {
  WorkerAllowances allowances(Limits(kMost));
  EXPECT_EQ(Open(allowances, "silent", 5000), kMost);
  const auto full = allowances.FullBy(Key("silent"));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->held, kMost);
  EXPECT_EQ(full->most, kMost);
  EXPECT_FALSE(full->newcomers);
  EXPECT_FALSE(allowances.FullBy(Key("other")));
  EXPECT_EQ(allowances.reduced(), 0u);
}

TEST(WorkerAllowances, CountWhatIsSetAside) {
  WorkerAllowances allowances(Limits(2));
  allowances.Reserve(Key("w"));
  EXPECT_FALSE(allowances.FullBy(Key("w")));
  allowances.Reserve(Key("w"));
  EXPECT_TRUE(allowances.FullBy(Key("w")));
  allowances.Settle(Key("w"));  // the reserved leases were not opened
  EXPECT_FALSE(allowances.FullBy(Key("w")));
}

// An expiry halves the allowance, not the leases that are held, because a worker that loses one of
// a few leases might still be there.
TEST(WorkerAllowances, AreHalvedByEachLeaseThatRunsOut) {
  WorkerAllowances allowances(Limits(kMost));
  EXPECT_EQ(Open(allowances, "w", 4), 4u);
  EXPECT_EQ(allowances.Apply(Key("w"), {.ended = 1, .expired = 1}), Told(500));
  EXPECT_EQ(allowances.Apply(Key("w"), {.ended = 1, .expired = 1}), Told(250));
  EXPECT_EQ(allowances.Apply(Key("w"), {.ended = 2, .expired = 2}), Told(62));
  EXPECT_EQ(allowances.reduced(), 1u);
  EXPECT_EQ(Open(allowances, "w", 1000), 62u);
  EXPECT_EQ(allowances.Apply(Key("w"), {.ended = 60, .expired = 60}), Told(1));
  // The allowance never falls to 0, so that a worker that returns can prove itself.
  EXPECT_EQ(Open(allowances, "w", 10), 0u) << "it holds two";
  EXPECT_EQ(allowances.Apply(Key("w"), {.ended = 2, .expired = 2}), Told());
  EXPECT_EQ(Open(allowances, "w", 10), 1u);
}

TEST(WorkerAllowances, GrowWithResults) {
  WorkerAllowances allowances(Limits(64));
  ASSERT_EQ(Open(allowances, "w", 6), 6u);
  ASSERT_EQ(allowances.Apply(Key("w"), {.ended = 6, .expired = 6}), Told(1));
  std::vector<uint64_t> told;
  for (int results = 0; allowances.reduced() > 0; ++results) {
    ASSERT_LT(results, 64);
    ASSERT_EQ(Open(allowances, "w", 1), 1u);
    const Told now = allowances.Apply(Key("w"), {.ended = 1, .answered = 1});
    if (now) told.push_back(*now);
  }
  EXPECT_EQ(told, (std::vector<uint64_t>{2, 4, 8, 16, 32, 64}));
  EXPECT_TRUE(allowances.whole(64));
  EXPECT_TRUE(allowances.proven(Key("w"))) << "that is remembered";
}

TEST(WorkerAllowances, OfAWorkerThatLosesOneNowAndThenStayLarge) {
  WorkerAllowances allowances(Limits(kMost));
  ASSERT_EQ(Open(allowances, "w", 100), 100u);
  uint64_t held = 100;
  for (int i = 0; i < 100'000; ++i) {
    const uint32_t lost = i % 1000 == 999 ? 1 : 0;
    (void)allowances.Apply(Key("w"), {.ended = 1, .answered = 1 - lost, .expired = lost});
    held += Open(allowances, "w", 100 - (held - 1)) - 1;
    ASSERT_GE(held, 60u);
    ASSERT_LE(held, 100u);
  }
}

// A client that uses the name of another client's worker does not reduce the allowance of that
// worker, and does not profit from its history.
TEST(WorkerAllowances, OfOneNameAreThoseOfEachClient) {
  WorkerAllowances allowances(Limits(kMost, 200));
  ASSERT_EQ(Open(allowances, "w1", 40, "identity good"), 40u);
  ASSERT_EQ(Open(allowances, "w1", 14, "identity evil"), 14u);
  (void)allowances.Apply(Key("w1", "identity good"), {.ended = 40, .answered = 40});
  (void)allowances.Apply(Key("w1", "identity evil"), {.ended = 14, .expired = 14});
  EXPECT_FALSE(allowances.FullBy(Key("w1", "identity good")));
  EXPECT_TRUE(allowances.proven(Key("w1", "identity good")));
  EXPECT_FALSE(allowances.proven(Key("w1", "identity evil")));
  EXPECT_EQ(Open(allowances, "w1", 5000, "identity evil"), 1u);
  EXPECT_EQ(Open(allowances, "w1", 5000, "identity good"), kMost);
}

// A history is kept, whatever number of names other clients use.
TEST(WorkerAllowances, OfOneClientAreNotForgottenForNamesOfAnother) {
  WorkerAllowances allowances(Limits(kMost, 100, 20));
  (void)allowances.Apply(Key("w1", "identity good"), {.answered = 1});
  (void)allowances.Apply(Key("w2", "identity good"), {.expired = 1});
  for (int i = 0; i < 1000; ++i) {
    const WorkerKey made_up = Key("w" + std::to_string(i), "identity evil");
    (void)allowances.Apply(made_up, {.expired = 1});
    (void)allowances.Apply(made_up, {.answered = 1});
    (void)allowances.Apply(Key("x" + std::to_string(i), "identity evil"), {.expired = 1});
  }
  EXPECT_TRUE(allowances.proven(Key("w1", "identity good")));
  EXPECT_EQ(Open(allowances, "w2", 5000, "identity good"), 38u);
  EXPECT_EQ(allowances.remembered(), 40u);
}

TEST(WorkerAllowances, RememberABoundedNumberOfNames) {
  WorkerAllowances allowances(Limits(kMost));
  for (int i = 0; i < 1000; ++i) {
    (void)allowances.Apply(Key("w" + std::to_string(i)), {.expired = 1});
    EXPECT_LE(allowances.remembered(), 10u);
    EXPECT_LE(allowances.reduced(), 10u);
  }
  EXPECT_EQ(allowances.reduced(), 10u);
}

// --- Newcomers

TEST(WorkerAllowances, NewNamesHoldOnlySoMuchTogether) {
  WorkerAllowances allowances(Limits(kMost, 100, 10'000));
  uint64_t held = 0;
  for (int i = 0; i < 5000; ++i) held += Open(allowances, "invented " + std::to_string(i), 1);
  EXPECT_EQ(held, 38u) << "a client leaves most for others";
  EXPECT_EQ(allowances.newcomer_leases(), 38u);
  const auto full = allowances.FullBy(Key("yet another"));
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->newcomers);
  EXPECT_EQ(full->held, 38u);
  EXPECT_EQ(full->most, 38u);
  // There is always room for clients at other addresses. Each of them gets a smaller part of the
  // rest.
  EXPECT_EQ(Open(allowances, "honest", 1000, "network 192.0.2.2"), 19u);
  EXPECT_EQ(Open(allowances, "third", 1000, "network 192.0.2.3"), 9u);
  // A lease frees its place, whether it was answered or expired.
  (void)allowances.Apply(Key("invented 0"), {.ended = 1, .expired = 1});
  (void)allowances.Apply(Key("invented 1"), {.ended = 1});
  EXPECT_EQ(allowances.newcomer_leases(), 64u);
  EXPECT_FALSE(allowances.FullBy(Key("fourth", "network 192.0.2.4")));
}

TEST(WorkerAllowances, OneResultProvesAName) {
  WorkerAllowances allowances(Limits(kMost, 100, 10'000));
  EXPECT_EQ(Open(allowances, "honest", 1000), 38u);
  EXPECT_FALSE(allowances.proven(Key("honest")));
  (void)allowances.Apply(Key("honest"), {.ended = 1, .answered = 1});
  EXPECT_TRUE(allowances.proven(Key("honest")));
  EXPECT_EQ(allowances.newcomer_leases(), 0u) << "what it holds is its own";
  EXPECT_EQ(Open(allowances, "honest", 5000), kMost - 37);
  EXPECT_EQ(Open(allowances, "invented", 1000), 38u);
  // A proven worker without leases is remembered, whatever others do.
  (void)allowances.Apply(Key("honest"), {.ended = 1000, .answered = 1000});
  for (int i = 0; i < 20'000; ++i) {
    (void)allowances.Apply(Key("invented " + std::to_string(i)), {.expired = 1});
  }
  EXPECT_TRUE(allowances.proven(Key("honest")));
  EXPECT_FALSE(allowances.FullBy(Key("honest")));
}

TEST(WorkerAllowances, ForgetProvenNamesWhenThereAreMore) {
  WorkerAllowances allowances(Limits(kMost, 100, 10));
  for (int i = 0; i < 1000; ++i) {
    Prove(allowances, "w" + std::to_string(i));
    EXPECT_LE(allowances.remembered(), 10u);
  }
  EXPECT_TRUE(allowances.proven(Key("w999")));
}

// A forgotten newcomer does not count any more. When its leases end, they do not count either.
TEST(WorkerAllowances, ForgetNewcomersThatHoldLeases) {
  WorkerAllowances allowances(Limits(kMost, 100, 10));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Open(allowances, "w" + std::to_string(i), 1), 1u);
  EXPECT_EQ(allowances.newcomer_leases(), 10u);
  for (int i = 0; i < 30; ++i) (void)allowances.Apply(Key("w" + std::to_string(i)), {.ended = 1});
  EXPECT_EQ(allowances.newcomer_leases(), 0u);
  EXPECT_EQ(allowances.remembered(), 0u);
}

}  // namespace
}  // namespace freshet

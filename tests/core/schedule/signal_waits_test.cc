#include "core/schedule/signal_waits.h"

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

TEST(SignalWaits, TheFirstSignalThatWaitsCounts) {
  SignalWaits waits;
  waits.Begin(PageId(1), 1, At(10));
  waits.Begin(PageId(1), 1, At(25));
  waits.Begin(PageId(2), 2, At(30));
  EXPECT_EQ(waits.waiting(), 2u);
  EXPECT_EQ(waits.Longest(At(50)), Duration::Seconds(40));
  waits.End(PageId(1), At(60), /*more=*/false);
  EXPECT_EQ(waits.waiting(), 1u);
  EXPECT_EQ(waits.counts().total(), 1u);
  EXPECT_DOUBLE_EQ(waits.counts().seconds, 50);
  EXPECT_EQ(waits.counts().ended[2], 1u) << "more than 10 s, at most 60 s";
  waits.Remove(PageId(2));
  EXPECT_EQ(waits.waiting(), 0u);
  EXPECT_EQ(waits.Longest(At(90)), Duration());
}

TEST(SignalWaits, AFetchBeforeTheSignalEndsNoWait) {
  SignalWaits waits;
  waits.Begin(PageId(1), 1, At(10));
  waits.End(PageId(1), At(5), /*more=*/true);
  EXPECT_EQ(waits.waiting(), 1u);
  EXPECT_EQ(waits.counts().total(), 0u);
  // The signal came while the page was leased, and the fetch was late enough to find its change.
  waits.End(PageId(1), At(5), /*more=*/false);
  EXPECT_EQ(waits.waiting(), 0u);
  EXPECT_DOUBLE_EQ(waits.counts().seconds, 0);
  EXPECT_EQ(waits.counts().ended[0], 1u);
}

TEST(SignalWaits, CrawlsWithoutASignalAreNone) {
  SignalWaits waits;
  waits.End(PageId(1), At(5), /*more=*/false);
  EXPECT_EQ(waits.counts().total(), 0u);
}

TEST(SignalWaits, ManyPagesAreCountedByASample) {
  constexpr uint32_t kPages = 200'000;
  Random random(7);
  SignalWaits waits;
  for (uint32_t i = 0; i < kPages; ++i) waits.Begin(PageId(i), random.Next(), At(0));
  EXPECT_NEAR(static_cast<double>(waits.waiting()), kPages, 0.04 * kPages);
  for (uint32_t i = 0; i < kPages; ++i) waits.End(PageId(i), At(i % 2 == 0 ? 30 : 3000), false);
  EXPECT_EQ(waits.waiting(), 0u);
  const WaitCounts& counts = waits.counts();
  EXPECT_NEAR(static_cast<double>(counts.total()), kPages, 0.04 * kPages);
  EXPECT_NEAR(static_cast<double>(counts.ended[2]), kPages / 2.0, 0.06 * kPages);
  EXPECT_NEAR(static_cast<double>(counts.ended[5]), kPages / 2.0, 0.06 * kPages);
}

// Hashing does not produce equal fingerprints like these, but a manipulated store can have them.
TEST(SignalWaits, PagesOfOneFingerprintStayBounded) {
  SignalWaits waits;
  for (uint32_t i = 0; i < 3 * SignalWaits::kMaxSample; ++i) waits.Begin(PageId(i), 5, At(0));
  EXPECT_LE(waits.waiting(), SignalWaits::kMaxSample * 4);
}

}  // namespace
}  // namespace freshet

#include "core/estimate/quarantine.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr uint8_t kSitemapSource = 3;
const std::string kHost = "a.test";

// Returns an interval with one signal that the model believes to be true with probability
// `precision`.
SignalledInterval SureOf(double precision, bool changed) {
  return {.signals = {{precision / (1 - precision), 1}}, .changed = changed};
}

// Observes the interval in a separate batch, and installs the batch.
QuarantineChange Observe(Quarantine& quarantine, const std::string& host, uint8_t source,
                         const SignalledInterval& interval, Instant now) {
  Quarantine::Staged staged;
  const QuarantineChange change = quarantine.Observe(host, source, interval, now, staged);
  quarantine.Install(std::move(staged));
  return change;
}

class QuarantineTest : public testing::Test {
 protected:
  // Makes a crawl after a signal that the model believes with probability `believed`, and that is
  // true with probability `truth`.
  QuarantineChange Crawl(double believed, double truth) {
    now_ = now_ + Duration::Hours(1);
    return Observe(quarantine_, kHost, kSitemapSource, SureOf(believed, random_.Uniform() < truth),
                   now_);
  }
  // Returns the number of crawls until `change` occurs; `max` = it does not occur.
  int CrawlsUntil(QuarantineChange change, double believed, double truth, int max) {
    for (int i = 1; i < max; ++i) {
      if (Crawl(believed, truth) == change) return i;
    }
    return max;
  }

  Quarantine quarantine_;
  Random random_{7};
  Instant now_ = Instant::FromUnixSeconds(1'700'000'000);
};

TEST_F(QuarantineTest, ASourceThatStartsToLieIsFoundWithinAFewDozenCrawls) {
  for (int i = 0; i < 500; ++i) ASSERT_EQ(Crawl(0.95, 0.95), QuarantineChange::kNone);
  EXPECT_TRUE(quarantine_.ShiftsOf(kHost, {}).empty());
  EXPECT_LT(CrawlsUntil(QuarantineChange::kBegun, 0.95, 0.15, 100), 36);
  EXPECT_EQ(quarantine_.quarantined(), 1u);
  const Quarantine::Shifts shifts = quarantine_.ShiftsOf(kHost, {});
  ASSERT_EQ(shifts.size(), 1u);
  EXPECT_EQ(shifts[0].source, kSitemapSource);
  EXPECT_LT(shifts[0].shift, -0.2);
  EXPECT_TRUE(quarantine_.ShiftsOf("b.test", {}).empty()) << "of one host alone";
  EXPECT_EQ(quarantine_.Find(kHost, kSitemapSource, {})->since, now_);
}

TEST_F(QuarantineTest, AnHonestSourceIsHardlyEverSuspected) {
  for (const double precision : {0.99, 0.9, 0.5, 0.1}) {
    int begun = 0;
    for (int i = 0; i < 50'000; ++i) {
      begun += Crawl(precision, precision) == QuarantineChange::kBegun ? 1 : 0;
    }
    EXPECT_LE(begun, 1) << precision;
  }
}

TEST_F(QuarantineTest, ASourceComesBackOnEvidence) {
  CrawlsUntil(QuarantineChange::kBegun, 0.95, 0.15, 100);
  for (int i = 0; i < 60; ++i) (void)Crawl(0.95, 0.15);
  ASSERT_EQ(quarantine_.quarantined(), 1u) << "as long as it lies";
  EXPECT_LT(CrawlsUntil(QuarantineChange::kEnded, 0.95, 0.95, 200), 120);
  EXPECT_TRUE(quarantine_.ShiftsOf(kHost, {}).empty());
}

TEST_F(QuarantineTest, AModelThatHasCaughtUpEndsIt) {
  CrawlsUntil(QuarantineChange::kBegun, 0.95, 0.15, 100);
  EXPECT_LT(CrawlsUntil(QuarantineChange::kEnded, 0.15, 0.15, 400), 200);
}

TEST_F(QuarantineTest, ChangesThatOthersExplainSpeakForNobody) {
  for (int i = 0; i < 200; ++i) {
    SignalledInterval interval = SureOf(0.9, true);
    interval.rest = 50;
    (void)Observe(quarantine_, kHost, kSitemapSource, interval, now_);
  }
  EXPECT_NEAR(quarantine_.Find(kHost, kSitemapSource, {})->shift, 0, 1e-6);
}

TEST_F(QuarantineTest, GoesOnAfterARestartAsBefore) {
  CrawlsUntil(QuarantineChange::kBegun, 0.95, 0.15, 100);
  (void)Observe(quarantine_, "b.test", 0, SureOf(0.4, true), now_);
  const std::string text = quarantine_.Serialise();
  Quarantine again;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    ASSERT_TRUE(Quarantine::IsLine(text.substr(begin, end - begin)));
    ASSERT_TRUE(again.AddLine(text.substr(begin, end - begin)).ok());
    begin = end + 1;
  }
  EXPECT_EQ(again.Serialise(), text);
  EXPECT_EQ(again.size(), 1u) << "the other is learned anew";
  EXPECT_EQ(again.quarantined(), 1u);
  EXPECT_EQ(Observe(again, kHost, kSitemapSource, SureOf(0.9, true), now_),
            Observe(quarantine_, kHost, kSitemapSource, SureOf(0.9, true), now_));
  EXPECT_EQ(again.Serialise(), quarantine_.Serialise());
  EXPECT_FALSE(again.AddLine(text.substr(0, text.find('\n'))).ok()) << "twice";
  for (const char* bad : {"#source ", "#source a\t1\t1", "#source a\t99\t1\t1\t1\t0\t1\t0\t5\t0",
                          "#source a\t1\t1\t1\t1\tnan\t1\t0\t5\t0", "a.test\t1"}) {
    EXPECT_FALSE(again.AddLine(bad).ok()) << bad;
  }
}

TEST_F(QuarantineTest, ForgetsTheOldestPastItsLimitAndThoseInQuarantineLast) {
  CrawlsUntil(QuarantineChange::kBegun, 0.95, 0.15, 100);
  for (size_t i = 0; i < limits::kMaxWatchedSources + 10; ++i) {
    now_ = now_ + Duration::Seconds(1);
    (void)Observe(quarantine_, "h" + std::to_string(i), 0, SureOf(0.9, true), now_);
    ASSERT_LE(quarantine_.size(), limits::kMaxWatchedSources);
  }
  EXPECT_EQ(quarantine_.quarantined(), 1u);
  EXPECT_EQ(quarantine_.Find("h0", 0, {}), nullptr);
  EXPECT_NE(quarantine_.Find("h" + std::to_string(limits::kMaxWatchedSources), 0, {}), nullptr);
}

// A batch sees the changes that it has staged. A dropped batch leaves no trace.
TEST_F(QuarantineTest, LeavesNoTraceOfWhatIsDropped) {
  for (int i = 0; i < 20; ++i) ASSERT_EQ(Crawl(0.95, 0.95), QuarantineChange::kNone);
  const SourceStanding before = *quarantine_.Find(kHost, kSitemapSource, {});
  Quarantine::Staged dropped;
  QuarantineChange change = QuarantineChange::kNone;
  for (int i = 0; i < 100 && change == QuarantineChange::kNone; ++i) {
    change = quarantine_.Observe(kHost, kSitemapSource, SureOf(0.95, false), now_, dropped);
  }
  EXPECT_EQ(change, QuarantineChange::kBegun);
  EXPECT_EQ(quarantine_.ShiftsOf(kHost, dropped).size(), 1u);
  EXPECT_TRUE(quarantine_.ShiftsOf(kHost, {}).empty());
  EXPECT_EQ(quarantine_.quarantined(), 0u);
  const SourceStanding after = *quarantine_.Find(kHost, kSitemapSource, {});
  EXPECT_EQ(after.suspicion, before.suspicion);
  EXPECT_EQ(after.signals, before.signals);
  EXPECT_EQ(after.shift, before.shift);
}

}  // namespace
}  // namespace freshet

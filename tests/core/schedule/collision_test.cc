// Tests that fingerprints only help to find pages. A shard in which nearly all pages share
// fingerprints behaves exactly like one without shared fingerprints, in one batch or in several.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/random.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_book.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr Duration kShortLease = Duration::Seconds(30);
constexpr int kFewHosts = 3;
constexpr int kColliding = 60;

ShardOptions WithBits(int bits) {
  ShardOptions options;
  options.error_backoff = Duration::Seconds(20);
  options.fingerprinter = Fingerprinter({}, bits);
  // Puts all hosts into one domain. Otherwise, forced pages of domains with the same number would
  // share turns, which is not tested here.
  options.domain_of = [](std::string_view) { return std::string_view("one"); };
  return options;
}

// A shard that keeps its pages in a map and makes the steps of a server. It reads all pages of a
// batch in the order of their numbers. So pages that it reads only because of a shared fingerprint
// change neither the order of pages nor the choice between equal pages. Owner thread only.
class OrderedShard {
 public:
  explicit OrderedShard(const ShardOptions& options) : state_(options) {}

  std::vector<Reply> Apply(const std::vector<Event>& events, Instant now) {
    std::vector<PageNumber> numbers;
    for (const Event& event : events) state_.Want(event, &numbers);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (const PageNumber number : numbers) txn_.Load(pages_.at(number));
    std::vector<Reply> replies;
    for (const Event& event : events) replies.push_back(state_.Step(event, now, txn_));
    const Changes changes = txn_.Finish(state_.learning().estimator());
    for (const PageWrite& write : changes.pages) pages_[write.record->number] = *write.record;
    for (const PageRecord* removed : changes.removed_pages) pages_.erase(removed->number);
    state_.Install(txn_);
    txn_.Reset();
    return replies;
  }
  std::optional<Assignment> Next(Instant at) {
    const std::optional<Pick> pick = state_.Take(at);
    if (!pick) return std::nullopt;
    LeasePage event;
    event.page = pick->page;
    event.worker = "w";
    event.at = at;
    event.lease = kShortLease;
    event.value = pick->value;
    Reply reply = Apply({event}, at).front();
    if (!reply.assignment) state_.PutBack(pick->page);
    return std::move(reply.assignment);
  }
  void RunTimers(Instant now) {
    std::vector<Event> due;
    state_.TakeDueTimers(now, 1024, &due);
    (void)Apply(due, now);
  }
  void RunEpoch(Instant now) {
    std::vector<Event> again;
    state_.learning().BeginEpoch(now);
    for (const auto& [number, stored] : pages_) {
      PageRecord page = stored;
      (void)state_.learning().CollectForEpoch(page, now);
      again.emplace_back(Reestimate{number});
    }
    state_.learning().EndCollecting();
    state_.learning().FinishEpoch(
        state_.learning().LearnEpoch(state_.learning().CollectedInEpoch(), false));
    (void)Apply(again, now);
  }
  [[nodiscard]] const PageRecord* Find(const PageKey& key) const {
    std::vector<PageNumber> candidates;
    state_.pages().FindNumbers(key, &candidates);
    for (const PageNumber number : candidates) {
      if (pages_.at(number).key == key) return &pages_.at(number);
    }
    return nullptr;
  }
  [[nodiscard]] const ShardState& state() const { return state_; }
  [[nodiscard]] const std::map<PageNumber, PageRecord>& pages() const { return pages_; }

 private:
  ShardState state_;
  Transaction txn_;
  std::map<PageNumber, PageRecord> pages_;
};

// Two shards that differ only in the width of their fingerprints. Owner thread only.
class Twins {
 public:
  explicit Twins(int bits) : wide_(WithBits(Fingerprinter::kBits)), narrow_(WithBits(bits)) {}

  void Apply(const std::vector<Event>& events, Instant now) {
    const std::vector<Reply> a = wide_.Apply(events, now);
    const std::vector<Reply> b = narrow_.Apply(events, now);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].disposition, b[i].disposition);
      ASSERT_EQ(a[i].status, b[i].status);
      ASSERT_EQ(a[i].outcome, b[i].outcome);
    }
  }
  std::optional<Assignment> Next(Instant now) {
    const auto a = wide_.Next(now);
    const auto b = narrow_.Next(now);
    EXPECT_EQ(a.has_value(), b.has_value());
    if (!a || !b) return std::nullopt;
    EXPECT_EQ(a->key, b->key);
    EXPECT_EQ(a->lease, b->lease);
    EXPECT_EQ(a->value, b->value);
    return a;
  }
  void Pass(Instant now) {
    wide_.RunTimers(now);
    narrow_.RunTimers(now);
  }
  void Learn(Instant now) {
    wide_.RunEpoch(now);
    narrow_.RunEpoch(now);
  }
  void Compare(Instant now) {
    ASSERT_EQ(wide_.pages().size(), narrow_.pages().size());
    for (const auto& [number, page] : wide_.pages()) {
      ASSERT_TRUE(narrow_.pages().contains(number));
      ASSERT_EQ(narrow_.pages().at(number), page);
      const PageRecord* found = narrow_.Find(page.key);
      ASSERT_NE(found, nullptr) << page.key.url;
      ASSERT_EQ(found->number, number);
    }
    const BelievedFreshness a = wide_.state().pages().Believed(now);
    const BelievedFreshness b = narrow_.state().pages().Believed(now);
    // The sums are added up in a different order.
    ASSERT_NEAR(a.importance, b.importance, 1e-9);
    ASSERT_NEAR(a.fresh_importance, b.fresh_importance, 1e-9);
    ASSERT_EQ(wide_.state().counters().pages, narrow_.state().counters().pages);
    ASSERT_EQ(wide_.state().counters().leases, narrow_.state().counters().leases);
  }
  [[nodiscard]] size_t pages() const { return wide_.pages().size(); }

 private:
  OrderedShard wide_;
  OrderedShard narrow_;
};

class Collisions : public testing::TestWithParam<int> {
 protected:
  PageKey AnyKey() {
    const uint64_t i = random_.Below(kColliding);
    return {random_.Below(4) == 0 ? "other" : "DEFAULT",
            "https://host" + std::to_string(i % kFewHosts) + ".test/" + std::to_string(i)};
  }
  static std::string HostOf(const PageKey& key) {
    return key.url.substr(8, key.url.find('/', 8) - 8);
  }
  Event AnyEvent(Instant now) {
    switch (random_.Below(10)) {
      case 0:
      case 1:
      case 2: {
        UpsertPage event{.key = AnyKey()};
        event.host = HostOf(event.key);
        event.importance = static_cast<double>(1 + random_.Below(5));
        return event;
      }
      case 3:
        return RemovePage{AnyKey()};
      case 4:
        return RecheckPage{AnyKey()};
      case 5:
      case 6:
        return SignalChange{.key = AnyKey(), .source = static_cast<uint8_t>(random_.Below(3))};
      case 7:
        if (!out_.empty() && random_.Below(3) == 0) return ReturnLease{AnyLease().lease};
        [[fallthrough]];
      default: {
        ReportCrawl report{.key = AnyKey(), .fetched = now};
        if (!out_.empty() && random_.Below(3) != 0) {
          const Assignment assignment = AnyLease();
          report.key = assignment.key;
          report.lease = assignment.lease;
        }
        constexpr CrawlOutcome kOutcomes[] = {CrawlOutcome::kChanged, CrawlOutcome::kUnchanged,
                                              CrawlOutcome::kError, CrawlOutcome::kGone};
        report.outcome = kOutcomes[random_.Below(4)];
        return report;
      }
    }
  }
  // Returns a random lease that was handed out. The lease can be open or ended.
  const Assignment& AnyLease() { return out_[random_.Below(out_.size())]; }

  Random random_{20'26};
  std::vector<Assignment> out_;
};

TEST_P(Collisions, EqualFingerprintsChangeNoAnswer) {
  Twins twins(GetParam());
  Instant now = kStart;
  for (int step = 0; step < 3000; ++step) {
    now = now + Duration::Millis(static_cast<int64_t>(1 + random_.Below(4000)));
    std::vector<Event> events;
    for (uint64_t i = random_.Below(6); i > 0; --i) events.push_back(AnyEvent(now));
    ASSERT_NO_FATAL_FAILURE(twins.Apply(events, now)) << step;
    if (const auto assignment = twins.Next(now)) {
      out_.push_back(*assignment);
      if (out_.size() > 20) out_.erase(out_.begin());
    }
    if (step % 7 == 0) twins.Pass(now);
    if (step % 500 == 499) twins.Learn(now);
    if (step % 20 == 0) {
      ASSERT_NO_FATAL_FAILURE(twins.Compare(now)) << step;
    }
  }
  EXPECT_GT(twins.pages(), 30u);
}

INSTANTIATE_TEST_SUITE_P(Bits, Collisions, testing::Values(0, 1, 3, 5));

// Regression: this pair made a store unusable. The test sends it in one batch, and in two.
TEST(Collision, TwoPagesOfOneFingerprintAreBothKept) {
  const std::vector<Event> both = {
      UpsertPage{.key = {"DEFAULT", "https://a.test/x"}, .host = "a.test"},
      UpsertPage{.key = {"DEFAULT", "https://a.test/y"}, .host = "a.test"}};
  OrderedShard together(WithBits(0));
  for (const Reply& reply : together.Apply(both, kStart)) {
    EXPECT_EQ(reply.disposition, Disposition::kCreated);
  }
  OrderedShard apart(WithBits(0));
  for (const Event& event : both) {
    EXPECT_EQ(apart.Apply({event}, kStart).front().disposition, Disposition::kCreated);
  }
  for (OrderedShard* shard : {&together, &apart}) {
    for (const std::string url : {"https://a.test/x", "https://a.test/y"}) {
      const PageRecord* page = shard->Find({"DEFAULT", url});
      ASSERT_NE(page, nullptr);
      EXPECT_EQ(page->key.url, url);
    }
    EXPECT_EQ(shard->Find({"DEFAULT", "https://a.test/z"}), nullptr);
    EXPECT_EQ(shard->Apply({both[0]}, kStart).front().disposition, Disposition::kApplied);
  }
}

}  // namespace
}  // namespace freshet

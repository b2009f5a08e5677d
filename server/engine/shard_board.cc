#include "server/engine/shard_board.h"

#include <algorithm>
#include <utility>

#include "core/estimate/host_trust.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_book.h"
#include "core/schedule/policy_switch.h"
#include "core/schedule/shard_state.h"
#include "server/engine/epochs.h"

namespace freshet {
namespace {

// The believed freshness is summed up at this interval. Because that takes a pass over all pages,
// the interval is at least kBelievedCostShare times as long as the pass.
constexpr Duration kBelievedInterval = Duration::Seconds(1);
constexpr int64_t kBelievedCostShare = 100;

}  // namespace

void ShardBoard::NoteCommit(Duration took, size_t events) {
  const MutexLock lock(mutex_);
  ++snapshot_.commits.count;
  snapshot_.commits.seconds.Add(took.seconds());
  snapshot_.commits.events.Add(static_cast<double>(events));
  snapshot_.last_commit = took;
}

void ShardBoard::NoteFailure(const Status& status) {
  const MutexLock lock(mutex_);
  snapshot_.failure = status;
}

void ShardBoard::Publish(ShardState& state, const EpochRunner& epochs) {
  const MutexLock lock(mutex_);
  snapshot_.counters = state.counters();
  snapshot_.price = state.pages().price();
  snapshot_.in_force = state.policies().in_force();
  snapshot_.last_epoch = epochs.last();
  snapshot_.epoch_running = epochs.running();
}

void ShardBoard::PublishBelieved(ShardState& state, Instant now, Clock& clock) {
  if (now < believed_due_) return;
  const Instant start = clock.Now();
  const BelievedFreshness believed = state.pages().Believed(now);
  const ShardFigures figures = state.Figures(now);
  std::vector<SourceTrust> trust = TrustIn(state.learning().estimator().sites());
  std::vector<CrawlStatus> crawls = state.crawls().WithTerms();
  believed_due_ = now + std::max(kBelievedInterval, (clock.Now() - start) * kBelievedCostShare);
  const MutexLock lock(mutex_);
  snapshot_.believed = believed;
  snapshot_.figures = figures;
  crawls_ = std::move(crawls);
  trust_ = std::move(trust);
}

ShardSnapshot ShardBoard::snapshot() const {
  const MutexLock lock(mutex_);
  return snapshot_;
}

std::vector<CrawlStatus> ShardBoard::crawls() const {
  const MutexLock lock(mutex_);
  return crawls_;
}

std::vector<SourceTrust> ShardBoard::trust() const {
  const MutexLock lock(mutex_);
  return trust_;
}

}  // namespace freshet

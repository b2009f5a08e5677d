#include "lab/demo/truth.h"

#include <algorithm>
#include <utility>

namespace freshet::demo {

Truth::Truth(const ReplayedHistory& replayed, const LastCrawls& last_crawls, int64_t start_micros,
             NowMicros now)
    : replayed_(&replayed), now_(std::move(now)), ledger_(replayed, last_crawls, start_micros) {}

std::optional<Fetched> Truth::Fetch(uint32_t page, std::optional<int64_t> last_crawl_micros) {
  const MutexLock lock(mutex_);
  const int64_t now = now_();
  if (now > replayed_->timeline().wall_end_micros()) return std::nullopt;
  ledger_.Fetch(page, now);
  const int64_t time = ledger_.now_micros();
  const bool changed =
      !last_crawl_micros || replayed_->ChangedWithin(page, *last_crawl_micros, time);
  fetched_at_.push_back(time);
  ++crawls_;
  if (changed) ++changed_;
  return Fetched{.time_micros = time, .changed = changed};
}

TruthSnapshot Truth::Look(std::vector<int64_t>* fetched_at) {
  const MutexLock lock(mutex_);
  *fetched_at = std::exchange(fetched_at_, {});
  ledger_.AdvanceTo(std::min(now_(), replayed_->timeline().wall_end_micros()));
  return {.time_micros = ledger_.now_micros(),
          .pages = ledger_.pages(),
          .crawls = crawls_,
          .changed = changed_,
          .current = ledger_.Current(),
          .sum = ledger_.sum()};
}

}  // namespace freshet::demo

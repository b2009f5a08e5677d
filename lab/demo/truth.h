// The history behind a lock. It tells what the fetch workers find, and the resulting freshness.
#ifndef FRESHET_LAB_DEMO_TRUTH_H_
#define FRESHET_LAB_DEMO_TRUTH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lab/demo/ledger.h"
#include "lab/demo/replayed_history.h"
#include "sync/mutex.h"

namespace freshet::demo {

// Wall time in Unix microseconds.
using NowMicros = std::function<int64_t()>;

// The result of one fetch. Value type, thread-compatible.
struct Fetched {
  int64_t time_micros = 0;
  bool changed = false;
  bool operator==(const Fetched&) const = default;
};

// The true state at one instant. Value type, thread-compatible.
struct TruthSnapshot {
  int64_t time_micros = 0;
  uint64_t pages = 0;
  uint64_t crawls = 0;
  uint64_t changed = 0;  // crawls that found a change
  Freshness current;
  FreshnessSum sum;
};

// Thread-safe.
class Truth {
 public:
  // Starts a Ledger with these arguments. The history outlives the truth.
  Truth(const ReplayedHistory& replayed, const LastCrawls& last_crawls, int64_t start_micros,
        NowMicros now);

  // Fetches a page now. The page is changed if its content changed after `last_crawl_micros`, or if
  // it was never crawled. Times never step back between fetches. nullopt = the history has ended.
  std::optional<Fetched> Fetch(uint32_t page, std::optional<int64_t> last_crawl_micros);

  // Returns the state now, or at the end of the history if that is earlier. Also returns the times
  // of fetches since the last call, in order.
  [[nodiscard]] TruthSnapshot Look(std::vector<int64_t>* fetched_at);

 private:
  const ReplayedHistory* replayed_;
  const NowMicros now_;
  Mutex mutex_;
  Ledger ledger_ FRESHET_GUARDED_BY(mutex_);
  std::vector<int64_t> fetched_at_ FRESHET_GUARDED_BY(mutex_);  // since the last call of Look
  uint64_t crawls_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t changed_ FRESHET_GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_TRUTH_H_

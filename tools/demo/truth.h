// What the fetch workers find, and how fresh that keeps the pages: the history behind a lock.
#ifndef FRESHET_TOOLS_DEMO_TRUTH_H_
#define FRESHET_TOOLS_DEMO_TRUTH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sync/mutex.h"
#include "tools/demo/ledger.h"
#include "tools/demo/replayed_history.h"

namespace freshet::demo {

// Wall time in Unix microseconds.
using NowMicros = std::function<int64_t()>;

// What one fetch finds. Value type, thread-compatible.
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
  // As a Ledger of these. The history outlives the truth.
  Truth(const ReplayedHistory& replayed, const LastCrawls& last_crawls, int64_t start_micros,
        NowMicros now);

  // Fetches a page now. It is changed if its content changed after `last_crawl_micros`, or if it
  // was never crawled. Times never step back from fetch to fetch. Nothing once the history is over.
  std::optional<Fetched> Fetch(uint32_t page, std::optional<int64_t> last_crawl_micros);

  // The state as of now, or as of the end of the history if that is over, and when the pages were
  // fetched since the look before, in order.
  [[nodiscard]] TruthSnapshot Look(std::vector<int64_t>* fetched_at);

 private:
  const ReplayedHistory* replayed_;
  const NowMicros now_;
  Mutex mutex_;
  Ledger ledger_ FRESHET_GUARDED_BY(mutex_);
  std::vector<int64_t> fetched_at_ FRESHET_GUARDED_BY(mutex_);  // since the last look
  uint64_t crawls_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t changed_ FRESHET_GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_TRUTH_H_

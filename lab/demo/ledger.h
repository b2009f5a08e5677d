// Computes true freshness from the history and the times of fetches.
#ifndef FRESHET_LAB_DEMO_LEDGER_H_
#define FRESHET_LAB_DEMO_LEDGER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/demo/replayed_history.h"

namespace freshet::demo {

// Wall time of the last crawl of each page of a ReplayedHistory; nullopt = never crawled.
using LastCrawls = std::vector<std::optional<int64_t>>;

// The share of the existing pages that are fresh, 0 to 1; 1 without pages. Value type,
// thread-compatible.
struct Freshness {
  double weighted = 1;  // by importance
  double plain = 1;     // all pages weigh the same
};

// Freshness summed over time. The difference of two sums gives the mean freshness between them.
// Value type, thread-compatible.
struct FreshnessSum {
  double weighted_micros = 0;
  double plain_micros = 0;
  int64_t micros = 0;

  FreshnessSum operator-(const FreshnessSum& earlier) const;
  // Returns the mean over the time; 1 if the time is zero.
  [[nodiscard]] Freshness Mean() const;
};

// Tracks which pages are fresh. A page is fresh from a crawl until its next content change; before
// its first crawl it is not fresh. Time only moves forward: an earlier time than before counts as
// the latest time so far. Thread-compatible.
class Ledger {
 public:
  // The ledger begins at `start_micros` with the pages that exist then and the given last crawls
  // (one entry for each page of the history). The history outlives the ledger.
  Ledger(const ReplayedHistory& replayed, LastCrawls last_crawls, int64_t start_micros);

  // Applies births and changes up to that time, inclusive.
  void AdvanceTo(int64_t now_micros);

  // Records a crawl of the page, which makes it fresh.
  void Fetch(uint32_t page, int64_t now_micros);

  // Returns the freshness at the time up to which the ledger has advanced.
  [[nodiscard]] Freshness Current() const;
  [[nodiscard]] const FreshnessSum& sum() const { return sum_; }
  [[nodiscard]] int64_t now_micros() const { return now_; }
  [[nodiscard]] uint64_t pages() const { return pages_; }
  // Returns the last crawls of all pages, for another ledger that starts now.
  [[nodiscard]] const LastCrawls& last_crawls() const { return last_crawls_; }

 private:
  void Integrate(int64_t until_micros);
  void Add(uint32_t page, bool fresh);
  void SetFresh(uint32_t page, bool fresh);

  const ReplayedHistory* replayed_;
  LastCrawls last_crawls_;
  std::vector<bool> exists_;
  std::vector<bool> fresh_;
  size_t next_event_ = 0;  // index into the events of the history
  int64_t now_;
  uint64_t pages_ = 0;
  uint64_t fresh_pages_ = 0;
  double importance_ = 0;
  double fresh_importance_ = 0;
  FreshnessSum sum_;
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_LEDGER_H_

// True freshness, kept from the history and from what was fetched when.
#ifndef FRESHET_TOOLS_DEMO_LEDGER_H_
#define FRESHET_TOOLS_DEMO_LEDGER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/demo/replayed_history.h"

namespace freshet::demo {

// Wall time of the last crawl of each page of a ReplayedHistory; nothing: never crawled.
using LastCrawls = std::vector<std::optional<int64_t>>;

// Share of the existing pages that are fresh, 0 to 1; 1 when there is none. Value type,
// thread-compatible.
struct Freshness {
  double weighted = 1;  // by importance
  double plain = 1;     // every page alike
};

// The same, summed over time, so that differences of two give the mean over the time between them.
// Value type, thread-compatible.
struct FreshnessSum {
  double weighted_micros = 0;
  double plain_micros = 0;
  int64_t micros = 0;

  FreshnessSum operator-(const FreshnessSum& earlier) const;
  // Mean over the time; 1 where there is no time.
  [[nodiscard]] Freshness Mean() const;
};

// A page is fresh from a crawl until its next content change; one that was never crawled is not
// fresh. Time only goes forward: earlier times count as the latest seen. Thread-compatible.
class Ledger {
 public:
  // The state at `start_micros`: pages born by then exist, last crawled as given (one entry for
  // each page of the history). The history outlives the ledger.
  Ledger(const ReplayedHistory& replayed, LastCrawls last_crawls, int64_t start_micros);

  // Lets births and changes happen up to that time, inclusive.
  void AdvanceTo(int64_t now_micros);

  // A crawl of the page, which makes it fresh from then on.
  void Fetch(uint32_t page, int64_t now_micros);

  // As of the time advanced to.
  [[nodiscard]] Freshness Current() const;
  [[nodiscard]] const FreshnessSum& sum() const { return sum_; }
  [[nodiscard]] int64_t now_micros() const { return now_; }
  [[nodiscard]] uint64_t pages() const { return pages_; }
  // State of every page of the history, for another ledger that starts now.
  [[nodiscard]] const LastCrawls& last_crawls() const { return last_crawls_; }

 private:
  void Integrate(int64_t until_micros);
  void Add(uint32_t page, bool fresh);
  void SetFresh(uint32_t page, bool fresh);

  const ReplayedHistory* replayed_;
  LastCrawls last_crawls_;
  std::vector<bool> exists_;
  std::vector<bool> fresh_;
  size_t next_event_ = 0;  // of the history
  int64_t now_;
  uint64_t pages_ = 0;
  uint64_t fresh_pages_ = 0;
  double importance_ = 0;
  double fresh_importance_ = 0;
  FreshnessSum sum_;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_LEDGER_H_

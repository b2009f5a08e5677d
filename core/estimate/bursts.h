// Learns what single bursts of signals are worth. Pages that one poll names together mostly share
// one cause: a release that changed them all, or a new footer that changed none. So the odds that a
// signal stands for a change are those of its page and class times a factor e^b of its burst. Every
// crawl of a page of the burst tells something about all the others that wait:
//
//   b = argmax  sum over crawled pages [t_i ln p_i(b) + (1 - t_i) ln(1 - p_i(b))] - b^2/(2 s^2),
//   logit p_i(b) = logit p_i + b,
//
// t_i the probability that the signal stood for a change, s = kBurstDeviation: a logistic
// regression with a random intercept for each burst (Gelman and Hill 2006, chapter 14), solved with
// the mean of p_i over the crawled pages in place of each. docs/experiments.md measures the gain.
#ifndef FRESHET_CORE_ESTIMATE_BURSTS_H_
#define FRESHET_CORE_ESTIMATE_BURSTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/page_number.h"

namespace freshet {

// Standard deviation of b over bursts.
inline constexpr double kBurstDeviation = 2.5;

// The latest bursts, and the pages that wait in each. Numbers of bursts are durable
// (PageState::bursts). The shift of a burst is durable in its waiting pages, so that a start
// continues from there. A page is in a burst once, however often its poll names it. Bounded:
// limits::kMaxBursts bursts with limits::kMaxBurstPages pages in all; past that the oldest are
// forgotten. A page whose burst was forgotten, or is too large to list it, keeps its weight.
//
// Owner thread only.
class Bursts {
 private:
  // The odds of the signals of a burst, and the crawls behind them.
  struct Odds {
    double start = 0;      // the shift when the process started
    double crawled = 0;    // number of pages
    double precision = 0;  // sum of the precisions of these pages
    double truth = 0;      // sum of their truths
    double shift = 0;      // b
    double weighed = 0;    // b when its pages were weighed last
    bool queued = false;   // whether it is in reweighed_
  };
  struct Age {
    uint32_t number;
    uint64_t poll;  // 0 = from before the start
  };

 public:
  // The bursts as a batch of signals and crawls leaves them. Install takes the batch over; a
  // dropped batch leaves no trace.
  class Staged {
    friend class Bursts;
    absl::flat_hash_map<uint32_t, Odds> odds_;  // bursts that start or change
    absl::flat_hash_map<uint64_t, uint32_t> by_poll_;
    std::vector<Age> started_;
    std::vector<std::pair<uint32_t, PageNumber>> joined_;
    std::vector<uint32_t> reweighed_;
    uint32_t last_ = 0;  // 0 = none has started
  };

  // Adds a page of the poll `poll` (> 0) to the burst of the poll, which starts now unless known.
  // Returns the number of the burst, > 0.
  uint32_t Join(uint64_t poll, PageNumber page, Staged& staged) const;
  // Adds, at start-up, a stored page that waits in `burst`, with the last known `shift` of the
  // burst; the last call for a burst counts. No-op for burst 0.
  void Restore(uint32_t burst, double shift, PageNumber page);

  // The shift b, as the batch so far leaves it. Precondition: Knows(burst, staged).
  [[nodiscard]] double Shift(uint32_t burst, const Staged& staged) const {
    return Find(burst, staged)->shift;
  }
  [[nodiscard]] bool Knows(uint32_t burst, const Staged& staged) const {
    return Find(burst, staged) != nullptr;
  }

  // Records the crawl of a page of the burst. Its signal stood for a change with the probability
  // `precision` before the crawl, without the burst's shift, and `truth` after it; both in [0, 1].
  // No-op for an unknown burst.
  void Observe(uint32_t burst, double precision, double truth, Staged& staged) const;
  void Install(const Staged& staged);

  // Appends to `pages` at most `max` pages of bursts whose shift has moved notably since their
  // pages were last weighed, by number within a burst. Such a page may have been crawled or deleted
  // since it joined.
  void TakeReweighed(size_t max, std::vector<PageNumber>* pages);
  [[nodiscard]] bool has_reweighed() const { return !reweighed_.empty(); }

  [[nodiscard]] size_t pages() const { return pages_; }

 private:
  struct Burst {
    Odds odds;
    absl::btree_set<PageNumber> pages;
  };

  // nullptr = not known.
  [[nodiscard]] const Odds* Find(uint32_t burst, const Staged& staged) const;
  // Adds a page. No-op for a page that the burst has, and for a full burst.
  void AddPage(Burst& burst, PageNumber page);
  // Forgets the oldest bursts until the limits hold.
  void Shrink();

  absl::flat_hash_map<uint32_t, Burst> bursts_;
  absl::flat_hash_map<uint64_t, uint32_t> by_poll_;
  std::deque<Age> ages_;  // oldest first
  // Bursts to weigh again, and the last page handed out of the first of them; 0 = none yet.
  std::deque<uint32_t> reweighed_;
  PageNumber done_;
  size_t pages_ = 0;
  uint32_t last_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_BURSTS_H_

// Learns what single bursts of signals are worth. Pages that one poll names together usually share
// one cause: a release that changed them all, or a new footer, which is no change of content. The
// odds that a signal stands for a change are therefore those of its page and class, times a factor
// e^b that all signals of a burst share. Every crawl of a page in the burst is evidence about all
// other waiting pages of the burst:
//
//   b = argmax  sum over crawled pages [t_i ln p_i(b) + (1 - t_i) ln(1 - p_i(b))] - b^2/(2 s^2),
//   logit p_i(b) = logit p_i + b,
//
// where t_i is the probability that the signal stood for a change, and s = kBurstDeviation. This is
// a logistic regression with a random intercept for each burst (Gelman and Hill 2006, chapter 14).
// The equation is solved with the mean of p_i over the crawled pages in place of each p_i.
// docs/experiments.md measures the gain.
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

// The latest bursts, and the pages that wait in each. The numbers of bursts are durable
// (PageState::bursts). The shift of a burst is durable in its waiting pages, and learning continues
// from there after a restart. A burst lists each page once, however often its poll names the page.
// Bounded: at most limits::kMaxBursts bursts with limits::kMaxBurstPages pages in total; beyond
// that, the oldest bursts are forgotten. If a page's burst was forgotten, or is too large to list
// the page, the weight of the page's signals stays as it is.
//
// Owner thread only.
class Bursts {
 private:
  // The shift of a burst's odds, and sums over the crawls that determine it.
  struct Odds {
    double start = 0;      // the shift when the process started
    double crawled = 0;    // number of crawled pages
    double precision = 0;  // sum over these pages of `precision` (see Observe)
    double truth = 0;      // sum over these pages of `truth` (see Observe)
    double shift = 0;      // b
    double weighed = 0;    // b when the burst's pages were last re-estimated
    bool queued = false;   // the burst is in reweighed_
  };
  struct Age {
    uint32_t number;
    uint64_t poll;  // 0 = the burst began before the process started
  };

 public:
  // The bursts after a batch of signals and crawls. Install makes the batch current. A dropped
  // batch leaves no trace.
  class Staged {
    friend class Bursts;
    absl::flat_hash_map<uint32_t, Odds> odds_;  // bursts that start or change
    absl::flat_hash_map<uint64_t, uint32_t> by_poll_;
    std::vector<Age> started_;
    std::vector<std::pair<uint32_t, PageNumber>> joined_;
    std::vector<uint32_t> reweighed_;
    uint32_t last_ = 0;  // 0 = no burst has started
  };

  // Adds a page to the burst of the poll `poll` (> 0). A new poll starts a new burst. Returns the
  // number of the burst, > 0.
  uint32_t Join(uint64_t poll, PageNumber page, Staged& staged) const;
  // Adds, at start-up, a stored page that waits in `burst`. `shift` is the last known shift of the
  // burst; if several calls name a burst, the shift of the last call counts. No-op for burst 0.
  void Restore(uint32_t burst, double shift, PageNumber page);

  // The shift b after the batch so far. Precondition: Knows(burst, staged).
  [[nodiscard]] double Shift(uint32_t burst, const Staged& staged) const {
    return Find(burst, staged)->shift;
  }
  [[nodiscard]] bool Knows(uint32_t burst, const Staged& staged) const {
    return Find(burst, staged) != nullptr;
  }

  // Records the crawl of a page of the burst. `precision` is the probability before the crawl that
  // the page's signal stood for a change, without the burst's shift. `truth` is this probability
  // after the crawl. Both are in [0, 1]. No-op for an unknown burst.
  void Observe(uint32_t burst, double precision, double truth, Staged& staged) const;
  void Install(const Staged& staged);

  // Appends at most `max` pages whose burst has shifted notably since its pages were last
  // re-estimated. The pages of a burst come in ascending order of their numbers. Some of them might
  // have been crawled or deleted since they joined.
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
  // Adds a page. No-op if the burst has the page already, or is full.
  void AddPage(Burst& burst, PageNumber page);
  // Forgets the oldest bursts until the limits hold.
  void Shrink();

  absl::flat_hash_map<uint32_t, Burst> bursts_;
  absl::flat_hash_map<uint64_t, uint32_t> by_poll_;
  std::deque<Age> ages_;  // oldest first
  // `reweighed_`: bursts whose pages must be re-estimated. `done_`: the last page of the first of
  // these bursts that TakeReweighed has returned; 0 = none yet.
  std::deque<uint32_t> reweighed_;
  PageNumber done_;
  size_t pages_ = 0;
  uint32_t last_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_BURSTS_H_

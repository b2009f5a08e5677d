// What single bursts of signals have proved worth. Pages that one poll names together mostly share
// one cause: a release that changed them all, or a new footer that changed none. So the precision
// of a burst is its own, spread around that of its class like a beta distribution, and every crawl
// of one of its pages tells something of all the others that wait:
//
//   p = (t + n0 p_class)/(n + n0),   kappa = -ln(1 - p),
//
// n pages of the burst crawled, t of them changed because of it, n0 = kBurstConcentration: the
// posterior mean of a beta-binomial (Skellam 1948; empirical Bayes for it: Griffin and Krutchkoff
// 1971). docs/experiments.md says what this buys, and that n0 hardly matters.
#ifndef FRESHET_CORE_ESTIMATE_BURSTS_H_
#define FRESHET_CORE_ESTIMATE_BURSTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/model/page.h"

namespace freshet {

// Prior weight of the class, in crawls.
inline constexpr double kBurstConcentration = 2;

// The bursts of late, and the pages that wait in each. Numbers are durable (PageState::bursts);
// what the crawls of a burst have proved is durable as the weight that its waiting pages carry, so
// that a start goes on from there. Bounded: limits::kMaxBursts bursts with limits::kMaxBurstPages
// pages in all; past that the oldest are forgotten, whose pages keep the weight they have.
//
// Owner thread only.
class Bursts {
 public:
  // A page of the poll `poll` (> 0) joins its burst, which starts now with the precision
  // `class_precision`, in (0, 1), unless it is known. Returns the number of the burst, > 0.
  uint32_t Join(uint64_t poll, double class_precision, PageNumber page);
  // At start-up: a stored page that waits in `burst`, whose signal weighs `weight` so far. No-op
  // for burst 0.
  void Restore(uint32_t burst, double weight, PageNumber page);

  // kappa of a signal of that burst. Precondition: Knows(burst).
  [[nodiscard]] double Weight(uint32_t burst) const;
  [[nodiscard]] bool Knows(uint32_t burst) const { return bursts_.contains(burst); }

  // A page of the burst was crawled: `truth`, in [0, 1], is the probability that the burst's signal
  // stood for a change. No-op for a burst that is not known.
  void Observe(uint32_t burst, double truth);

  // Moves at most `max` pages to `pages` whose burst has become worth notably more or less than
  // when its pages were weighed last. They may have been crawled, or have gone, since they joined.
  void TakeReweighed(size_t max, std::vector<PageNumber>* pages);
  [[nodiscard]] bool has_reweighed() const { return !reweighed_.empty(); }

  [[nodiscard]] size_t pages() const { return pages_; }

 private:
  struct Burst {
    double prior = 0;     // precision of the class when it began
    double crawled = 0;   // n
    double truth = 0;     // t
    double weighed = 0;   // kappa when its pages were weighed last
    bool queued = false;  // in reweighed_
    std::vector<PageNumber> pages;
  };

  Burst& Start(uint32_t number, double precision);
  void AddPage(Burst& burst, PageNumber page);
  // Forgets the oldest until the limits hold.
  void Shrink();

  absl::flat_hash_map<uint32_t, Burst> bursts_;
  absl::flat_hash_map<uint64_t, uint32_t> by_poll_;
  struct Age {
    uint32_t number;
    uint64_t poll;  // zero: from before the start
  };
  std::deque<Age> ages_;  // oldest first
  // Bursts to weigh anew, and how many pages of the first are done.
  std::deque<uint32_t> reweighed_;
  size_t done_ = 0;
  size_t pages_ = 0;
  uint32_t last_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_BURSTS_H_

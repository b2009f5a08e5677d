// The order of crawls among pages that are all worth a crawl.
//
// The value V of a crawl decides which pages get one: at the price lambda those with V >= lambda.
// If several pages are worth more at once, as after a burst of signals, all are crawled before
// long, and waiting costs not V but, per unit of time,
//
//   L = mu (1 - e^-s) - g(lambda),   g(lambda) = mu (1 - e^-s*),   V(s*) = lambda:
//
// the loss of the page while it is stale, less its cost at that price in any case: g is the average
// cost of the page under the threshold policy that is optimal at lambda, which is indifferent to a
// delay exactly at its threshold. V and L agree on which pages are worth a crawl. Beyond, V prefers
// pages that change rarely, because their next crawl is far, although each waiting page needs one
// now. Where crawls are plenty and lambda is small, L is the c-mu rule of queues (Cox and Smith,
// "Queues", 1961). docs/experiments.md measures the gain.
//
// A page of V > lambda is filed at the value lambda + L/(Delta + h) instead, h some multiple of the
// usual change rate: in the order of L, and measured as V is where Delta is above h. Pages at or
// below the price keep V, which follows the price by itself.
#ifndef FRESHET_CORE_SCHEDULE_URGENCY_H_
#define FRESHET_CORE_SCHEDULE_URGENCY_H_

#include "core/index/index_entry.h"

namespace freshet {

// Follows the price of a shard by its picks. Several shards learn the same except for chance,
// because they pick at one price. Nothing is stored: a start begins again with the first pick.
//
// Owner thread only, but several threads may call Share while nobody writes.
class Urgency {
 public:
  // Records a pick by worth at this value, finite and >= 0.
  void Picked(double value, double change_rate);

  // The factor on the importance of the entry in the index, in (0, 1]; 1 before the first pick and
  // for pages worth at most the price. Up to half a microsecond.
  [[nodiscard]] double Share(const IndexEntry& entry) const;

  // lambda: about a low quantile of the values of the last picks, which bursts do not raise.
  [[nodiscard]] double price() const { return price_; }

 private:
  double price_ = 0;        // 0 = no pick yet
  double change_rate_ = 0;  // recent mean, per second
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_URGENCY_H_

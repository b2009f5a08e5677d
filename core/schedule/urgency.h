// In which order pages are crawled that are all worth a crawl.
//
// The value V of a crawl decides which pages get one: at the price lambda those of V >= lambda.
// Where several are worth more than that at once, after a burst of signals say, all are crawled
// before long, and what waiting costs is not V but, per unit of time,
//
//   L = mu (1 - e^-s) - g(lambda),   g(lambda) = mu (1 - e^-s*),   V(s*) = lambda:
//
// what the page loses while it is stale, less what it costs anyway at that price: g is the average
// cost of the page under the threshold policy that is optimal at lambda, which is indifferent to a
// delay exactly at its threshold. V and L agree on what is worth a crawl. Beyond, V prefers pages
// that change rarely, as their next crawl is far, although each of those that wait needs one now; L
// is, where crawls are plenty and lambda is small, the c-mu rule of queues (Cox and Smith,
// "Queues", 1961). docs/experiments.md says what it buys.
//
// A page of V > lambda is filed at the value lambda + L/(Delta + h) instead, h some multiple of the
// usual change rate: in the order of L, and measured as V is where Delta is above h. What is filed
// at or below the price keeps V, which follows the price by itself.
#ifndef FRESHET_CORE_SCHEDULE_URGENCY_H_
#define FRESHET_CORE_SCHEDULE_URGENCY_H_

#include "core/index/index_entry.h"

namespace freshet {

// Follows the price of a shard by its picks. What several shards learn differs by chance only, as
// they pick at one price. Nothing is stored: a start begins anew with the first pick.
//
// Owner thread only; Share may be called by several threads while nobody writes.
class Urgency {
 public:
  // A page was picked at that value, finite and >= 0, for what it is worth.
  void Picked(double value, double change_rate);

  // What the importance of the entry is multiplied with for the index, in (0, 1]; 1 before the
  // first pick and for what is worth the price at most. Up to half a microsecond.
  [[nodiscard]] double Share(const IndexEntry& entry) const;

  // lambda: about a low quantile of the values of the last picks, so that bursts do not raise it.
  [[nodiscard]] double price() const { return price_; }

 private:
  double price_ = 0;        // 0: no pick yet
  double change_rate_ = 0;  // mean of late, per second
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_URGENCY_H_

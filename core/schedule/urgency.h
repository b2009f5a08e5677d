// Orders crawls among pages that are all worth a crawl.
//
// The value V of a crawl decides which pages are crawled: at the price lambda, all with V >=
// lambda. If several pages are above the price at the same time, as after a burst of signals, all
// of them will be crawled soon, and what matters is the cost of waiting. This cost is not V. Per
// unit of time it is
//
//   L = mu (1 - e^-s) - g(lambda),   g(lambda) = mu (1 - e^-s*),   V(s*) = lambda:
//
// L is the loss of the page while it is stale, less the loss that it has at this price in any case.
// The latter, g, is the average loss of the page under the threshold policy that is optimal at
// lambda. For a page exactly at its threshold, a delay costs this policy nothing.
//
// V and L agree on which pages are worth a crawl. Above the price, V prefers pages that change
// rarely, because their next crawl is far away, although each waiting page needs just one crawl
// now. If crawls are plentiful and lambda is small, L is the c-mu rule of queues (Cox and Smith,
// "Queues", 1961). docs/experiments.md measures the gain.
//
// So a page with V > lambda is filed at the value lambda + L/(Delta + h) instead. Here h is a
// multiple of the usual change rate. These values are in the order of L, and on the scale of V if
// Delta is above h. Pages at or below the price keep V.
#ifndef FRESHET_CORE_SCHEDULE_URGENCY_H_
#define FRESHET_CORE_SCHEDULE_URGENCY_H_

#include "core/index/index_entry.h"

namespace freshet {

// Tracks the price of a shard by its picks. Several shards learn the same price apart from random
// differences, because they pick at one price. Nothing is stored: after a start, the price is
// learned again from the first pick on.
//
// Owner thread only, but several threads can call Share while no thread writes.
class Urgency {
 public:
  // Records a pick by worth. Precondition: value and change rate are finite, and value >= 0.
  void Picked(double value, double change_rate);

  // The factor on the importance of the entry in the index, in (0, 1]; 1 before the first pick, and
  // for pages whose value is at most the price. Takes up to half a microsecond.
  [[nodiscard]] double Share(const IndexEntry& entry) const;

  // lambda: a low quantile of the values of recent picks, approximately. Bursts do not raise it.
  [[nodiscard]] double price() const { return price_; }

 private:
  double price_ = 0;        // 0 = no pick yet
  double change_rate_ = 0;  // recent mean, per second
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_URGENCY_H_

// Sums over the pages of one or several shards in an epoch. The model of all hosts is learned from
// them.
//
// A store has one model of all hosts, for any number of shards. Each shard collects its own pages,
// and all shards learn from the sum over all shards. The sums are kept by slot, and all sums of a
// slot are in one shard. Floating-point numbers are therefore added in the same order for every
// number of shards, and the model is identical to the last bit.
//
// The stores of a fleet also share one model. Each learns from its own sums and the totals of the
// other stores, added in the order of their divisions.
#ifndef FRESHET_CORE_ESTIMATE_EPOCH_SUMS_H_
#define FRESHET_CORE_ESTIMATE_EPOCH_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/base/limits.h"
#include "core/base/units.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/rate_samples.h"
#include "core/estimate/site.h"
#include "core/estimate/site_learner.h"

namespace freshet {

// The totals over all pages of one store, for other divisions. Bounded: at most
// limits::kMaxPriorSamples samples, and sums of kSourceClasses classes.
// Value type, thread-compatible.
struct EpochTotals {
  SiteLearner learner{0};  // without samples
  SiteCounts counts;
  RateSamples samples{limits::kMaxPriorSamples};

  void Add(const EpochTotals& other);
};

// By division.
using DivisionTotals = std::map<uint32_t, EpochTotals>;

// Bounded: sums of at most limits::kSlots slots and limits::kMaxPriorSamples samples, some
// megabytes. Value type, thread-compatible.
class EpochSums {
 public:
  EpochSums() : samples_(limits::kMaxPriorSamples) {}

  // Adds the sums of a host, or of pages whose hosts have no model. Precondition: within a slot,
  // the order of calls does not depend on the number of shards.
  void AddHost(Slot slot, const SiteLearner& host, const SiteCounts& counts);
  // Adds the sums of another shard. Precondition: no slot is in both.
  void Add(const EpochSums& other);

  // From now on, Fit includes the totals of other divisions. `own` is the division of this store.
  void SetOthers(uint32_t own, DivisionTotals others);

  // The totals of this store, without other divisions.
  [[nodiscard]] EpochTotals Totals() const;
  [[nodiscard]] SiteModel Fit() const;

 private:
  struct OfSlot {
    SiteLearner learner{0};  // without samples
    SiteCounts counts;
  };
  std::map<Slot, OfSlot> slots_;
  RateSamples samples_;
  uint32_t own_ = 0;
  DivisionTotals others_;  // without `own_`
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_EPOCH_SUMS_H_

// What the pages of one shard, or of several, showed in an epoch: what the model of all hosts is
// learned from.
//
// A store has one model of all hosts, however many shards it is divided into: each of them collects
// its own pages, and all learn from the sums of all. The sums are kept by slot, and those of a slot
// are of one shard always, so that floating-point numbers are added up in the same order for every
// number of shards and the model is the same to the last bit.
//
// The stores of a fleet have one model likewise: each learns from its own sums and the totals of
// the others, added up in the order of their divisions.
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

// What all pages of one store showed, for those of other divisions. Value type, thread-compatible.
// Bounded: limits::kMaxPriorSamples samples, the sums of kSourceClasses.
struct EpochTotals {
  SiteLearner learner{0};  // without samples
  SiteCounts counts;
  RateSamples samples{limits::kMaxPriorSamples};

  void Add(const EpochTotals& other);
};

// By division.
using DivisionTotals = std::map<uint32_t, EpochTotals>;

// Value type, thread-compatible. Bounded: limits::kSlots sums and limits::kMaxPriorSamples samples,
// some megabytes at most.
class EpochSums {
 public:
  EpochSums() : samples_(limits::kMaxPriorSamples) {}

  // Adds a host, or pages that are learned of together; those of one slot in an order that does not
  // depend on the number of shards.
  void AddHost(Slot slot, const SiteLearner& host, const SiteCounts& counts);
  // Adds those of another shard. Precondition: no slot is in both.
  void Add(const EpochSums& other);

  // Has Fit count in what the stores of other divisions showed; this one's is that of `own`.
  void SetOthers(uint32_t own, DivisionTotals others);

  // Without those of others.
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

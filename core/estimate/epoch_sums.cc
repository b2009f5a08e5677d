#include "core/estimate/epoch_sums.h"

#include <utility>

#include "core/base/check.h"

namespace freshet {

void EpochTotals::Add(const EpochTotals& other) {
  learner.AddSums(other.learner);
  counts.Add(other.counts);
  samples.Add(other.samples);
}

void EpochSums::AddHost(Slot slot, const SiteLearner& host, const SiteCounts& counts) {
  OfSlot& sums = slots_[slot];
  sums.learner.AddHost(host);
  sums.counts.Add(counts);
  samples_.Add(host.samples());
}

void EpochSums::Add(const EpochSums& other) {
  for (const auto& [slot, sums] : other.slots_) {
    const bool is_new = slots_.emplace(slot, sums).second;
    CHECK(is_new, "slot {} is of two shards", slot.value());
  }
  samples_.Add(other.samples_);
}

void EpochSums::SetOthers(uint32_t own, DivisionTotals others) {
  CHECK(!others.contains(own), "division {} is this one", own);
  own_ = own;
  others_ = std::move(others);
}

EpochTotals EpochSums::Totals() const {
  EpochTotals totals;
  for (const auto& [slot, sums] : slots_) {
    totals.learner.AddSums(sums.learner);
    totals.counts.Add(sums.counts);
  }
  totals.samples = samples_;
  return totals;
}

SiteModel EpochSums::Fit() const {
  EpochTotals all;
  const auto next = others_.upper_bound(own_);
  for (auto its = others_.begin(); its != next; ++its) all.Add(its->second);
  all.Add(Totals());
  for (auto its = next; its != others_.end(); ++its) all.Add(its->second);
  return all.learner.FitAll(all.samples.Values(), all.counts.ages.Fit(AgeCurve()),
                            all.counts.lives.FitAll());
}

}  // namespace freshet

#include "core/estimate/epoch_sums.h"

#include "core/base/check.h"

namespace freshet {

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

SiteModel EpochSums::Fit() const {
  SiteLearner all(0);
  SiteCounts counts;
  for (const auto& [slot, sums] : slots_) {
    all.AddSums(sums.learner);
    counts.Add(sums.counts);
  }
  return all.FitAll(samples_.Values(), counts.ages.Fit(AgeCurve()), counts.lives.FitAll());
}

}  // namespace freshet

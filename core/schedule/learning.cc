#include "core/schedule/learning.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/estimate/lessons.h"
#include "core/estimate/page_estimate.h"
#include "core/model/epoch.h"
#include "core/model/page.h"
#include "core/schedule/page_waits.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_options.h"

namespace freshet {

Learning::Learning(const ShardOptions& options)
    : options_(options), estimator_(options.estimator) {}

Status Learning::LoadEpoch(const EpochRecord& epoch) {
  if (!epoch.site_model.empty()) RETURN_IF_ERROR(estimator_.RestoreModel(epoch.site_model));
  epoch_ = epoch.number;
  models_bytes_ = estimator_.sites().Bytes();
  return absl::OkStatus();
}

void Learning::RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page) {
  for (const BurstSignal& signal : bursts) {
    estimator_.bursts().Restore(signal.burst, signal.shift, page);
  }
}

// --- Epochs

bool Learning::CollectForEpoch(PageRecord& page, Instant now) {
  const std::optional<PageEstimate> estimate = estimator_.CollectAndEstimate(page, now);
  return estimate && TakeNewRates(*estimate, now, page);
}

EpochSums Learning::CollectedInEpoch() const { return estimator_.sites().Sums(); }

LearnedSites Learning::LearnEpoch(const EpochSums& all, const std::atomic<bool>& stop) const {
  return estimator_.Learn(all, stop);
}

EpochRecord Learning::RecordOf(const LearnedSites& learned, Instant now) const {
  return {
      .shard = options_.shard, .number = epoch_ + 1, .finished = now, .site_model = learned.text};
}

void Learning::FinishEpoch(LearnedSites learned) {
  estimator_.FinishEpoch(std::move(learned));
  models_bytes_ = estimator_.sites().Bytes();
  ++epochs_;
  ++epoch_;
}

bool Learning::TakeNewRates(PageRecord& page, Instant now) const {
  estimator_.aging().Advance(page.state, now);
  return TakeNewRates(estimator_.Estimate(page, now), now, page);
}

// Estimated rates are only accurate within tens of percent. Most epochs change them by far less,
// which would not justify writing every page.
bool Learning::TakeNewRates(const PageEstimate& estimate, Instant now, PageRecord& page) const {
  constexpr double kNotable = 0.01;
  const auto near = [](double a, double b) {
    return a == b || std::abs(a - b) <= kNotable * std::max(std::abs(a), std::abs(b));
  };
  DCHECK(estimate.staleness >= 0);
  PageState& state = page.state;
  const PageRates& is = estimate.rates;
  const PageRates& was = state.rates;
  const bool look = state.gone && state.times_gone == 0;
  if (!look && is.site == was.site && is.age_bin == was.age_bin &&
      near(is.change_rate, was.change_rate) && near(is.unsignalled_rate, was.unsignalled_rate) &&
      near(is.signal_rate, was.signal_rate) && near(is.signal_weight, was.signal_weight) &&
      near(is.staleness_rate, was.staleness_rate) && near(estimate.staleness, state.staleness)) {
    return false;
  }
  state.rates = estimate.rates;
  state.staleness = estimate.staleness;
  PlanLookForGone(now, page, options_, state);
  return true;
}

// --- Lessons of batches

void Learning::Install(Lessons&& lessons) { estimator_.Install(std::move(lessons)); }

void Learning::CountIn(ShardCounters* counters) const {
  counters->epochs = epochs_;
  counters->quarantined_sources = estimator_.quarantine().quarantined();
  counters->quarantines = estimator_.quarantine().begun();
  counters->site_models = estimator_.sites().size();
  counters->site_model_bytes = models_bytes_;
}

}  // namespace freshet

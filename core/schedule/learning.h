// Everything that a shard has learned about its pages and sources, and the epochs
// (core/estimate/estimator.h) in which it learns.
#ifndef FRESHET_CORE_SCHEDULE_LEARNING_H_
#define FRESHET_CORE_SCHEDULE_LEARNING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/estimator.h"

namespace freshet {

struct BurstSignal;
struct EpochRecord;
struct ShardCounters;
struct ShardOptions;

// Owner thread only, except where a comment says otherwise.
class Learning {
 public:
  // The options must outlive this object.
  explicit Learning(const ShardOptions& options);

  [[nodiscard]] const Estimator& estimator() const { return estimator_; }

  // --- Start-up
  [[nodiscard]] Status LoadEpoch(const EpochRecord& epoch);
  // Restores the bursts of a stored page. Call it for every page.
  void RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page);

  // --- Epochs
  void BeginEpoch(Instant now) { estimator_.BeginEpoch(now); }
  // Adds `page`, as stored, to the epoch's data, and does what TakeNewRates does, with the model of
  // the last epoch. Returns true if the page must be written.
  [[nodiscard]] bool CollectForEpoch(PageRecord& page, Instant now);
  // Call it when all pages are collected.
  void EndCollecting() { estimator_.EndCollecting(); }
  // CollectedInEpoch and LearnEpoch take a long time, so they may run on another thread between
  // EndCollecting and FinishEpoch. Meanwhile the owner may call all functions except those for
  // epochs.
  //
  // Returns the collected sums, for LearnEpoch of this shard and of the others.
  [[nodiscard]] EpochSums CollectedInEpoch() const;
  // Learns from the sums of all shards, including this one. Stops early once `stop` is set; the
  // result is then useless.
  [[nodiscard]] LearnedSites LearnEpoch(const EpochSums& all, const std::atomic<bool>& stop) const;
  // The record of the epoch for the store. Call it before FinishEpoch, on the thread of
  // CollectedInEpoch and LearnEpoch.
  [[nodiscard]] EpochRecord RecordOf(const LearnedSites& learned, Instant now) const;
  // Makes the learned models current. Afterwards the owner writes the pages that TakeNewRates
  // changes, but only in the slots whose models have moved. In other slots, rates change so little
  // that the next epoch can apply the changes.
  void FinishEpoch(LearnedSites learned);
  // The number of the last epoch that learned, counted over all runs; 0 = none.
  [[nodiscard]] uint64_t epoch() const { return epoch_; }

  // If the rates of the current model differ notably from those of `page`, as stored, sets them in
  // `page`. Always carries the page to `now`. Returns true if the rates changed.
  [[nodiscard]] bool TakeNewRates(PageRecord& page, Instant now) const;
  // Like TakeNewRates above, for a page that is already carried to `now` and estimated.
  [[nodiscard]] bool TakeNewRates(const PageEstimate& estimate, Instant now,
                                  PageRecord& page) const;

  // --- Lessons of batches
  // Applies the lessons of a batch once it is committed: see Estimator::Install.
  void Install(Lessons&& lessons);
  // Hands out pages whose signals were reweighed because of other crawls: see
  // Bursts::TakeReweighed.
  void TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
    estimator_.bursts().TakeReweighed(max, pages);
  }
  // See Quarantine::TakeNews.
  [[nodiscard]] std::vector<QuarantineNews> TakeQuarantineNews() {
    return estimator_.quarantine().TakeNews();
  }
  // Sets the counters that this class maintains.
  void CountIn(ShardCounters* counters) const;

 private:
  const ShardOptions& options_;
  Estimator estimator_;
  size_t models_bytes_ = 0;  // size of the site models, as of the last epoch or start
  uint64_t epoch_ = 0;
  uint64_t epochs_ = 0;  // number of epochs since the start
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LEARNING_H_

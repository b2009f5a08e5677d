// The knowledge of a shard about its pages and sources, and the epochs in which it learns more.
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
  // The options outlive this object.
  explicit Learning(const ShardOptions& options);

  [[nodiscard]] const Estimator& estimator() const { return estimator_; }

  // --- Start-up
  [[nodiscard]] Status LoadEpoch(const EpochRecord& epoch);
  // Restores the bursts of a stored page: call it for every page.
  void RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page);

  // --- Epochs
  void BeginEpoch(Instant now) { estimator_.BeginEpoch(now); }
  // Collects `page`, as stored, and does what TakeNewRates does, by the model of the last epoch;
  // true = write the page.
  [[nodiscard]] bool CollectForEpoch(PageRecord& page, Instant now);
  // Call this when all pages are collected.
  void EndCollecting() { estimator_.EndCollecting(); }
  // These two take long. Between EndCollecting and FinishEpoch they may run on another thread while
  // the owner may call all but epochs.
  //
  // The collected sums, for LearnEpoch of this shard and of the others.
  [[nodiscard]] EpochSums CollectedInEpoch() const;
  // Learns from the sums of all shards, this one included. Breaks off once `stop` is set; the
  // result is then useless.
  [[nodiscard]] LearnedSites LearnEpoch(const EpochSums& all, const std::atomic<bool>& stop) const;
  // The record of the epoch for the store, before FinishEpoch; from the same thread as those two.
  [[nodiscard]] EpochRecord RecordOf(const LearnedSites& learned, Instant now) const;
  // Makes the learned models current. Afterwards the owner writes the pages that TakeNewRates
  // changes, in the slots whose models have moved: pages of other slots change too little. The next
  // epoch takes up these small changes.
  void FinishEpoch(LearnedSites learned);
  // Number of the last epoch that learned, over all starts; 0 = none.
  [[nodiscard]] uint64_t epoch() const { return epoch_; }

  // Gives `page`, as stored, the rates of the current model, if they notably differ from its own;
  // else only carries it to `now`. Returns whether the rates changed.
  [[nodiscard]] bool TakeNewRates(PageRecord& page, Instant now) const;
  // TakeNewRates for a page that is carried to `now` and estimated already.
  [[nodiscard]] bool TakeNewRates(const PageEstimate& estimate, Instant now,
                                  PageRecord& page) const;

  // --- What batches teach
  // Takes over the lessons of a batch, once it is committed: see Estimator::Install.
  void Install(Lessons&& lessons);
  // Hands out pages whose signals other crawls have reweighed: see Bursts::TakeReweighed.
  void TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
    estimator_.bursts().TakeReweighed(max, pages);
  }
  // See Quarantine::TakeNews.
  [[nodiscard]] std::vector<QuarantineNews> TakeQuarantineNews() {
    return estimator_.quarantine().TakeNews();
  }
  // Sets the counters that this class knows.
  void CountIn(ShardCounters* counters) const;

 private:
  const ShardOptions& options_;
  Estimator estimator_;
  size_t models_bytes_ = 0;  // of the models of sites, as of the last epoch or start
  uint64_t epoch_ = 0;
  uint64_t epochs_ = 0;  // since the start
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_LEARNING_H_

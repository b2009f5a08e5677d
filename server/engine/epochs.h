// Epochs of a shard. First an epoch visits every page. If the site models of the previous epoch
// change a page's rates notably, the page takes the new rates. Then the shard learns new models
// together with the other shards. Finally the epoch makes a second pass over the pages of hosts
// whose models have changed, and gives these pages new rates. Pages are visited in slices between
// the turns of a shard, so that requests wait for one slice at most. Learning runs on a separate
// thread.
#ifndef FRESHET_SERVER_ENGINE_EPOCHS_H_
#define FRESHET_SERVER_ENGINE_EPOCHS_H_

#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/learned_sites.h"
#include "core/model/page_number.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/event.h"
#include "server/engine/epoch_result.h"

namespace freshet {

class EpochExchange;
struct PageRecord;
class ShardState;
class Store;
class Transaction;

struct EpochOptions {
  Slot first_slot;  // the shard owns this slot and every `stride`-th one after it
  uint16_t stride = 1;
  Duration interval;  // from the end of an epoch to the start of the next; 0 = only on request
  // The target duration of a slice. It is short, because a pick may wait for a slice.
  Duration slice = Duration::Micros(400);
  size_t slice_pages = 64;  // pages and slots of the first slice
  // The exchange between all shards of the store. The shard's index in it is the number of its
  // first slot. nullptr = this is the only shard.
  std::shared_ptr<EpochExchange> exchange;
  // The longest wait for a shard that does not publish, for example because its store hangs or it
  // has far more pages.
  Duration patience = Duration::Seconds(300);
};

// Runs the epochs of one shard. Owner thread only: the shard's thread.
class EpochRunner {
 public:
  using Done = std::function<void(const StatusOr<EpochResult>&)>;

  EpochRunner(const EpochOptions& options, Store& store, Instant now);
  ~EpochRunner();
  EpochRunner(const EpochRunner&) = delete;
  EpochRunner& operator=(const EpochRunner&) = delete;

  // Continues the numbers of epochs from before a restart.
  void Resume(uint64_t number) { last_.number = number; }
  // Requests an epoch that starts after this call; `done` is called when it has ended.
  void Request(Done done);
  // Requests that every page be filed again (put at its right place in the index), with its record
  // unchanged. Used after a change of policy and for a plan. `done` is called when all pages have
  // been filed.
  void RequestFiling(Done done);

  // Returns true if a slice is due at `now`.
  [[nodiscard]] bool Due(Instant now) const;
  [[nodiscard]] bool running() const { return phase_ != Phase::kIdle; }
  // The time at which Due becomes true if nothing is requested before.
  [[nodiscard]] Instant next_start() const;

  // Does one slice: visits some pages, and loads into `txn` those that the caller must commit and
  // install. In an epoch these are the pages whose rates have changed notably. After a change of
  // policy they are all pages, and unchanged ones need no write. An error of the store ends the
  // epoch. `state` must be the same object in all calls, and must outlive the runner.
  void Slice(ShardState& state, Instant now, Transaction& txn);
  // Reports the time that the last slice took, including the commit and installation of its pages.
  // The length of the next slice depends on it.
  void Took(Duration took);
  // The event that repeats the slice's work on a page. Used if the slice's commit fails.
  [[nodiscard]] Event Again(PageNumber page) const;
  // Ends the run under way unfinished, and prevents all later runs. The next Notify answers all
  // waiting callers with `reason`; each later request gets the same answer.
  void Cancel(Instant now, const Status& reason);
  // Announces an epoch of all shards: other shards then wait for the sums of this one. Any thread.
  void Expect();
  // Answers requests whose run has ended. Call it after the commit of the last slice.
  void Notify();

  [[nodiscard]] const EpochResult& last() const { return last_; }

 private:
  enum class Phase { kIdle, kCollect, kShare, kLearn, kFile };

  void Begin(ShardState& state, Instant now);
  // Reads the next pages of the shard. The result can be empty, because slots can be empty. Counts
  // the pages and slots of the slice in read_.
  [[nodiscard]] StatusOr<std::vector<PageRecord>> NextPages();
  // Returns true if the pages of the slot must be read.
  [[nodiscard]] bool Reads(uint32_t slot) const { return file_all_ || moved_[slot]; }
  // Estimates the pages, and loads those into `txn` that must be filed again.
  void LookAt(ShardState& state, Instant now, std::vector<PageRecord> pages, Transaction& txn);
  void Rewind();
  void NextSlot();
  // Starts publishing the collected sums to the other shards, on another thread.
  void Share(ShardState& state, Instant now);
  // Once all shards have published, starts learning and storing the result, on another thread.
  void Learn(ShardState& state, Instant now);
  void TakeLearned(ShardState& state, Instant now);
  // Returns true if the other thread is not done yet, and then sets the time of the next check.
  [[nodiscard]] bool WaitsFor(const std::atomic<bool>& done, Instant now);
  // Makes the other thread stop its work, and waits for that.
  void Break();
  [[nodiscard]] size_t index() const { return options_.first_slot.value(); }
  void End(Instant now, const Status& status);

  const EpochOptions options_;
  Store& store_;
  Phase phase_ = Phase::kIdle;
  Status cancelled_;       // the reason for Cancel; OK = not cancelled
  bool learning_ = false;  // the run is a whole epoch, not only filing
  CrawlPolicy filed_by_;   // the policy set when the run began
  // True if every page must be filed, not only pages with changed rates: filing was requested, or
  // an earlier run that should have filed every page has failed.
  bool file_all_ = false;
  Instant started_;
  Instant next_start_;
  size_t slice_pages_;
  size_t read_ = 0;                    // pages and slots in the last slice
  std::bitset<limits::kSlots> moved_;  // slots that the epoch under way must read
  // Shared with the other thread, which publishes the shard's sums, or learns and commits.
  std::atomic<bool> break_ = false;
  std::atomic<bool> shared_ = false;
  std::atomic<bool> learned_ = false;
  std::future<void> sharing_;
  std::future<StatusOr<LearnedSites>> learning_from_;
  Instant next_look_;    // when to check whether publishing or learning is done
  Instant share_end_;    // end of the wait for other shards
  uint64_t number_ = 0;  // number of the present epoch; set once it has learned
  uint64_t pages_ = 0;
  uint64_t again_ = 0;
  uint64_t changed_ = 0;
  uint32_t slot_ = 0;  // slot being read; >= kSlots = all are read
  PageNumber cursor_;
  EpochResult last_;
  std::vector<Done> epoch_waiters_;   // callers that wait for an epoch that has not begun
  std::vector<Done> filing_waiters_;  // callers that wait for filing that has not begun
  std::vector<Done> running_waiters_;
  std::vector<std::function<void()>> notices_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCHS_H_
